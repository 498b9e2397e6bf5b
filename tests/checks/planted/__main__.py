"""The planted errors, and whether the CPU device's dynamic checks find them.

    python -m tests.checks.planted [PATTERN …]        all pairs, or those whose program/kernel matches: `lanes/*`
    python -m tests.checks.planted samples FOLDER     a checkout of NVIDIA/compute-sanitizer-samples
    python -m tests.checks.planted programs FOLDER    each twin as a program with a main(), for compute-sanitizer

Exit code 1 if an error is missed or a clean twin is reported. `-v` before the patterns prints every finding.
"""

from __future__ import annotations

import fnmatch
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from gpuregress.execution.device_registry import open_device
from gpuregress.foundation.records import CHECKS, Instruments
from gpuregress.toolchain import programs
from tests.checks.planted import detection, host_programs, pairs, samples, verdicts
from tests.checks.planted.detection import Said
from tests.checks.planted.pairs import Pair
from tests.checks.planted.verdicts import Judged

PATIENCE_S = 60
"""Time for one twin of a program; then the kernel at which it stands is said to hang."""

ROOT = Path(__file__).parents[3]


def main(arguments: list[str]) -> int:
    """The command line; see the module's docstring."""
    if arguments[:1] == ["twin"]:
        _print_twin(arguments[1], arguments[2] == "planted", tuple(arguments[3:]))
        return 0
    if arguments[:1] == ["samples"]:
        return run_samples(Path(arguments[1]))
    if arguments[:1] == ["programs"]:
        return host_programs.write(Path(arguments[1]))
    is_verbose = arguments[:1] == ["-v"]
    return run_all(tuple(arguments[is_verbose:]), is_verbose=is_verbose)


def run_all(patterns: tuple[str, ...], *, is_verbose: bool) -> int:
    """Run both twins of all pairs; print what is wrong, and the totals."""
    judged = []
    for program in pairs.programs():
        chosen = tuple(pair for pair in pairs.pairs(program) if _matches(pair, patterns))
        for planted in (True, False):
            for pair, said in _twins(chosen, planted=planted):
                result = verdicts.judge(pair, said, planted=planted)
                judged.append(result)
                if is_verbose or result.verdict not in ("found", "clean"):
                    _say(_described(result))
    if not any(item.kind in ("race", "uninitialized", "leak") for result in judged for item in result.said):
        _say("no detector: no check of this device has found anything")
    for line in verdicts.totals(judged):
        _say(line)
    return int(any(result.verdict not in ("found", "clean") for result in judged))


def run_samples(folder: Path) -> int:
    """Run the samples of compute-sanitizer from a checkout of theirs."""
    judged = []
    for sample in samples.SAMPLES:
        pair = samples.as_pair(sample, folder)
        built = programs.compile(samples.source(sample, folder))
        mangled = built.entries[sample.kernel].mangled
        with open_device("cpu") as device:
            device.instrument(Instruments(tuple(CHECKS)))
            said = detection.launch(device, device.load(built, 1, [mangled]), mangled, pair)
        result = verdicts.judge(pair, said, planted=True)
        judged.append(result)
        _say(f"{sample.file} {_described(result)}\n    documented: {sample.tool}: {sample.documented}")
    return int(any(result.verdict != "found" for result in judged))


def _twins(chosen: tuple[Pair, ...], *, planted: bool) -> Iterator[tuple[Pair, tuple[Said, ...]]]:
    """Run pairs of one program in a process of their own; a kernel that hangs does not hold back those after it."""
    left = list(chosen)
    while left:
        found, error = _run_process(left, planted=planted)
        for pair in list(left):
            if pair.name not in found:
                break
            left.remove(pair)
            yield pair, found[pair.name]
        if left:
            yield left.pop(0), (error,)


def _run_process(chosen: list[Pair], *, planted: bool) -> tuple[dict[str, tuple[Said, ...]], Said]:
    """Kernel → what was said, and what came of the one after them."""
    names = [pair.name for pair in chosen]
    twin = "planted" if planted else "clean"
    command = [sys.executable, "-m", "tests.checks.planted", "twin", chosen[0].program, twin, *names]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=PATIENCE_S, check=False)
        output, error = done.stdout, Said("error", done.stderr.decode()[-500:])
    except subprocess.TimeoutExpired as expired:
        output, error = expired.stdout or b"", Said("hung", f"no end within {PATIENCE_S} s")
    found = {}
    for line in output.decode().splitlines():
        name, said = json.loads(line)
        found[name] = tuple(Said(*item) for item in said)
    return found, error


def _print_twin(program: str, planted: bool, names: tuple[str, ...]) -> None:  # noqa: FBT001 - from the command line
    for pair, said in detection.run(program, planted=planted, names=names):
        _say(json.dumps([pair.name, [[item.kind, item.text] for item in said]]))


def _matches(pair: Pair, patterns: tuple[str, ...]) -> bool:
    name = f"{pair.program}/{pair.name}"
    return not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _described(result: Judged) -> str:
    twin = "planted" if result.planted else "clean"
    pair = result.pair
    variant = f" ({pair.variant})" if pair.variant else ""
    lacks = f": lacks {result.lacks}" if result.lacks else ""
    found = "".join(f"\n    {item.kind}: " + item.text.replace("\n", "\n      ") for item in result.said[:3])
    expected = f"expects {' or '.join(pair.kinds)} of {pair.variable or 'no variable'}" if result.planted else ""
    return f"{result.verdict:7}{pair.program}/{pair.name} {twin}{variant}{lacks} {expected}".rstrip() + found


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

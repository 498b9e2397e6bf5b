"""Whole kernels on two devices, and whether the bytes they write are the same.

    python -m tests.conformance.kernels build                      on a host with the compiler: all into the cache
    python -m tests.conformance.kernels record cuda:0              on the GPU whose bits are the truth
    python -m tests.conformance.kernels compare cpu FILE           names the kernels that are off
    python -m tests.conformance.kernels words cuda:0 FOLDER NAME   what NAME (warps/shuffles/sm_90/fast) wrote, as .npy

`build`, `record` and `compare` take glob patterns of programs: `'math_*'`, `'jobs/reduce*'`. `record` writes into the
suite's own digests, or into the file behind `--out`; what the patterns leave out stays. A kernel that does not compile,
or fails, is named and never recorded, and the exit code is 1. `GPUREGRESS_CACHE` names the cache, so that a host with a
GPU and no compiler finds what `build` made.
"""

from __future__ import annotations

import fnmatch
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gpuregress.execution.device_registry import open_device
from gpuregress.foundation.errors import INFEASIBLE, GpuregressError
from gpuregress.foundation.storage import write_atomic
from gpuregress.toolchain import programs as toolchain
from tests.conformance.kernels import programs
from tests.conformance.kernels.execute import DIGESTS, Finding, assembled, compiled, everything, launch, sources
from tests.conformance.kernels.programs import Variant


def main(arguments: list[str]) -> int:
    """The command line; see the module's docstring."""
    command, *rest = arguments or ["help"]
    commands: dict[str, Callable[..., int]] = {"build": build, "record": record, "compare": compare, "words": words}
    if command not in commands:
        sys.stderr.write(__doc__ or "")
        return 2
    return commands[command](*rest)


def build(*patterns: str) -> int:
    """Compiles and assembles everything into the cache."""
    failed = done = infeasible = 0
    for source, name in sources():
        if not _matches(name.rpartition("/")[0].rpartition("/")[0], patterns):
            continue
        try:
            assembled(toolchain.compile(source))
            done += 1
        except GpuregressError as error:
            is_infeasible = type(error).__name__ in INFEASIBLE
            infeasible += is_infeasible
            failed += not is_infeasible
            sys.stdout.write(f"{name}: {f'infeasible: {_first_line(error)}' if is_infeasible else error}\n")
    sys.stdout.write(f"{done} built, {infeasible} infeasible, {failed} failed\n")
    return int(bool(failed))


def record(device: str, *arguments: str) -> int:
    """Writes name → digest; what the file has of other programs stays. What gives no digest is named."""
    words = list(arguments)
    path = Path(words.pop(words.index("--out") + 1)) if "--out" in words else DIGESTS
    patterns = tuple(word for word in words if word != "--out")
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() and patterns else {}
    found = _found(device, patterns)
    digests = {item.name: item.digest for item in found if item.digest}
    new, changed = (
        digests.keys() - known.keys(),
        [name for name in digests if known.get(name, digests[name]) != digests[name]],
    )
    write_atomic(path, (json.dumps(known | digests, indent=0, sort_keys=True) + "\n").encode())
    infeasible, failed = _without_digest(found)
    lines = [f"{name}: was {known[name]}, is {digests[name]}" for name in changed]
    lines += [f"{item.name}: infeasible: {_first_line(item.problem)}" for item in infeasible]
    lines += [f"{item.name}: not recorded: {item.problem}" for item in failed]
    same = len(digests) - len(new) - len(changed)
    lines.append(
        f"{len(digests)} recorded into {path}: {len(new)} new, {len(changed)} changed, {same} as before; "
        f"{len(infeasible)} infeasible, {len(failed)} not recorded"
    )
    sys.stdout.write("\n".join(lines) + "\n")
    return int(bool(failed))


def compare(device: str, target: str, *patterns: str) -> int:
    """Names what differs from the file."""
    known = json.loads(Path(target).read_text(encoding="utf-8"))
    found = _found(device, patterns)
    infeasible, failed = _without_digest(found)
    actual = {item.name: item.digest or item.problem for item in found if item not in infeasible}
    unasked = [name for name in actual if name not in known]
    off = [name for name, value in actual.items() if known.get(name, value) != value]
    left_open = [name for name in off if any(fnmatch.fnmatchcase(name, pattern) for pattern in programs.OPEN)]
    wrong = [name for name in off if name not in left_open]
    lines = [f"{name}: {actual[name]}, recorded {known[name]}" for name in wrong]
    lines += [f"{name}: differs, and may: hardware leaves it open" for name in left_open]
    lines += [f"{name}: the card was not asked" for name in unasked]
    lines += [f"{item.name}: {item.problem}" for item in failed if item.name in unasked]
    equal = len(actual) - len(off) - len(unasked)
    lines.append(
        f"{equal} of {len(actual)} equal, {len(left_open)} left open, {len(unasked)} not asked, {len(wrong)} wrong"
    )
    sys.stdout.write("\n".join(lines) + "\n")
    return int(bool(wrong or failed))


def words(device: str, folder: str, name: str) -> int:
    """Saves what one kernel wrote."""
    program, kernel, arch, flags = name.split("/")
    built = compiled(programs.source(program, Variant(arch, flags)), device)
    with open_device(device) as opened:
        shape = programs.kernels(program)[kernel]
        written, printed = launch(opened, opened.load(built), built.entries[kernel].mangled, shape)
    Path(folder).mkdir(parents=True, exist_ok=True)
    np.save(Path(folder) / f"{name.replace('/', '-')}.npy", np.frombuffer(written, np.uint32))
    sys.stdout.write(printed)
    return 0


def _found(device: str, patterns: tuple[str, ...]) -> list[Finding]:
    with open_device(device) as opened:
        return list(everything(opened, device.partition(":")[0], lambda name: _matches(name, patterns)))


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _without_digest(found: list[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Those that the jobs themselves exclude, and those that failed."""
    missing = [item for item in found if not item.digest]
    return [item for item in missing if item.is_infeasible], [item for item in missing if not item.is_infeasible]


def _first_line(problem: object) -> str:
    return str(problem).partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

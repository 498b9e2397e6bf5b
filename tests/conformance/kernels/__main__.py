"""Whole kernels on two devices, and whether the bytes they write are the same.

    python -m tests.conformance.kernels build                      on a host with the compiler: all into the cache
    python -m tests.conformance.kernels record cuda:0 FILE         on the GPU whose bits are the truth
    python -m tests.conformance.kernels compare cpu FILE           names the kernels that are off
    python -m tests.conformance.kernels words cuda:0 FOLDER NAME   what NAME (warps/shuffles/sm_90/fast) wrote, as .npy

`record` and `compare` take glob patterns of programs behind FILE: `'math_*'`, `'jobs/reduce*'`. `GPUREGRESS_CACHE`
names the cache, so that a host with a GPU and no compiler finds what `build` made.
"""

from __future__ import annotations

import fnmatch
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gpuregress.devices.registry import open_device
from gpuregress.errors import GpuregressError
from tests.conformance.kernels import programs
from tests.conformance.kernels.execute import compiled, everything, launch, sources
from tests.conformance.kernels.programs import Variant


def main(arguments: list[str]) -> int:
    """The command line; see the module's docstring."""
    command, *rest = arguments or ["help"]
    commands: dict[str, Callable[..., int]] = {"build": build, "record": record, "compare": compare, "words": words}
    if command not in commands:
        sys.stderr.write(__doc__ or "")
        return 2
    return commands[command](*rest)


def build() -> int:
    """Compiles and assembles everything into the cache."""
    failed = done = 0
    for source, name in sources():
        try:
            compiled(source, "cuda:0")
            done += 1
        except GpuregressError as error:
            failed += 1
            sys.stdout.write(f"{name}: {error}\n")
    sys.stdout.write(f"{done} built, {failed} failed\n")
    return int(bool(failed))


def record(device: str, target: str, *patterns: str) -> int:
    """Writes name → digest; what is there of other programs stays."""
    path = Path(target)
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() and patterns else {}
    known |= _found(device, patterns)
    path.write_text(json.dumps(known, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(known)} recorded\n")
    return 0


def compare(device: str, target: str, *patterns: str) -> int:
    """Names what differs from the file."""
    known = json.loads(Path(target).read_text(encoding="utf-8"))
    actual = _found(device, patterns)
    unasked = [name for name in actual if name not in known]
    off = [name for name, value in actual.items() if known.get(name, value) != value]
    left_open = [name for name in off if any(fnmatch.fnmatchcase(name, pattern) for pattern in programs.OPEN)]
    wrong = [name for name in off if name not in left_open]
    lines = [f"{name}: {actual[name]}, recorded {known[name]}" for name in wrong]
    lines += [f"{name}: differs, and may: hardware leaves it open" for name in left_open]
    lines += [f"{name}: the card was not asked" for name in unasked]
    equal = len(actual) - len(off) - len(unasked)
    lines.append(
        f"{equal} of {len(actual)} equal, {len(left_open)} left open, {len(unasked)} not asked, {len(wrong)} wrong"
    )
    sys.stdout.write("\n".join(lines) + "\n")
    return int(bool(wrong))


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


def _found(device: str, patterns: tuple[str, ...]) -> dict[str, str]:
    def wanted(name: str) -> bool:
        return not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    with open_device(device) as opened:
        return {finding.name: finding.digest for finding in everything(opened, device.partition(":")[0], wanted)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

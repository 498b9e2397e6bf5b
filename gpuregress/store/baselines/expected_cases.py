"""Manifest of the cases that a nightly run expects, `cases.yaml` beside the baselines.

    version: 1
    cases:
      "reduce/n=1000,tile=128": any
      "scale/n=100": [cpu, cuda]
    # end

It is committed with the baselines. Each case has a line of its own and the lines are sorted, so that changes of two
branches merge; therefore it has no digest. The devices are those that the job names, `any` where it names none. The
last line shows that nothing was cut off.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import BaselineError, StorageError

FILE = "cases.yaml"

Expected = Mapping[str, tuple[str, ...]]
"""Case → the devices that its job names; none: whichever there is."""

_HEADER = (
    "# The cases that `gpuregress nightly` expects: `accept` adds them, `accept --prune` removes those that are gone."
)
_VERSION = "version: 1"
_CASES = "cases:"
_END = "# end"
_LINE = re.compile(r'  ("(?:[^"\\]|\\.)*"): (any|\[(?:cpu|cuda)(?:, (?:cpu|cuda))*\])')
_ADVICE = "take it from git again, resolve the conflict, or remove it and accept a run of all cases"


def read(baselines: Path) -> dict[str, tuple[str, ...]] | None:
    """Read the manifest; None where there is none.

    Raises:
        BaselineError: a line of it is no entry, as after a merge with a conflict, or its end is missing.
        StorageError: it cannot be read.
    """
    path = baselines / FILE
    if not path.exists() and not path.is_symlink():
        return None
    lines = storage.read_bytes(path).decode("utf-8", "replace").replace("\r\n", "\n").rstrip("\n").split("\n")
    told = [(number, line) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    if [line for _, line in told[:2]] != [_VERSION, _CASES] or lines[-1] != _END:
        raise BaselineError(
            f"{path}: edited or cut short: it must begin with `{_VERSION}`, end with `{_END}`; {_ADVICE}"
        )
    cases: dict[str, tuple[str, ...]] = {}
    for number, line in told[2:]:
        name, devices = _entry(line)
        if name is None:
            raise BaselineError(f'{path}:{number}: not an entry such as `"scale/n=100": any`; {_ADVICE}')
        cases[name] = devices
    return cases


def _entry(line: str) -> tuple[str | None, tuple[str, ...]]:
    match = _LINE.fullmatch(line)
    if match is None:
        return None, ()
    try:
        name = json.loads(match[1])
    except ValueError:
        return None, ()
    devices = () if match[2] == "any" else tuple(match[2].strip("[]").split(", "))
    return str(name), devices


def text(cases: Expected) -> str:
    """Return the manifest of some cases."""
    devices = {name: f"[{', '.join(cases[name])}]" if cases[name] else "any" for name in sorted(cases)}
    entries = [f"  {json.dumps(name, ensure_ascii=False)}: {of}" for name, of in devices.items()]
    return "\n".join((_HEADER, _VERSION, _CASES, *entries, _END, ""))


def write(baselines: Path, cases: Expected) -> bool:
    """Write the manifest, unless it is as it should be; one without cases is removed.

    Returns:
        Whether it was changed.

    Raises:
        StorageError: no space, no permission, a symbolic link in its place.
    """
    path, data = baselines / FILE, text(cases).encode()
    storage.refuse_links(baselines, path)
    if not cases:
        with storage.disk_errors(path, "remove"):
            is_there = path.exists()
            path.unlink(missing_ok=True)
        return is_there
    try:
        if storage.read_bytes(path) == data:
            return False
    except StorageError:
        pass
    with storage.disk_errors(baselines):
        baselines.mkdir(parents=True, exist_ok=True)
    storage.write_atomic(path, data)
    return True

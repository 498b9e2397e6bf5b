"""Names of a project's runs, and their folders."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from gpuregress.foundation import clock, storage
from gpuregress.foundation.errors import NothingToDo, UsageError

LATEST = "latest"
_NAME = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{4}")


def find(runs: Path, name: str | None = None) -> Path:
    """Find the folder of a run.

    Args:
        runs: the project's `runs`.
        name: a run's name or its beginning or end, `latest`, or None for the last one.

    Raises:
        NothingToDo: there is no run yet.
        UsageError: no run, or more than one, has that name.
    """
    if name in (None, LATEST):
        last = latest(runs) or next(reversed(every(runs)), None)
        if last is None:
            raise NothingToDo(f"there is no run in {runs} yet; `gpuregress run` makes one")
        return last
    candidates = [
        folder for folder in every(runs) if name and (folder.name.startswith(name) or folder.name.endswith(name))
    ]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise UsageError(f"{len(candidates)} runs are called {name!r}: {', '.join(f.name for f in candidates[-5:])}")
    newest = ", ".join(folder.name for folder in every(runs)[-5:]) or "none yet"
    raise UsageError(f"there is no run {name!r} in {runs}; the last ones are: {newest}")


def latest(runs: Path) -> Path | None:
    """The run that `runs/latest` names; None where it names none."""
    with contextlib.suppress(OSError):
        target = runs / (runs / LATEST).readlink().name
        return target if target.is_dir() else None
    return None


def every(runs: Path) -> tuple[Path, ...]:
    """All runs, finished or not, oldest first.

    A run whose name is later than the present was made while the clock was wrong. It is older than the others, unless
    `latest` names it.
    """
    if not runs.is_dir():
        return ()
    with storage.disk_errors(runs, "read"):
        found = sorted(entry for entry in runs.iterdir() if _NAME.fullmatch(entry.name) and entry.is_dir())
    now = f"{clock.now():%Y%m%dT%H%M%SZ}-ffff"
    if found and found[-1].name > now:
        last = latest(runs)
        found.sort(key=lambda entry: (entry == last, entry.name <= now, entry.name))
    return tuple(found)

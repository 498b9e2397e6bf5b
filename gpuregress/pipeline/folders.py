"""The folders of runs: their names, `latest`, which one a user means, and which are old enough to go."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from gpuregress import storage
from gpuregress.errors import NothingToDo, StorageError, UsageError

RESULTS = "results.json"
LAUNCH_LOG = "launch.log"
LATEST = "latest"
ACCEPTING = ".accept.lock"
"""Held in the folder of runs while baselines are written: there it is never committed."""
_NAME = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{4}")
_ABANDONED_S = 24 * 3600.0


def create(runs: Path, now: datetime) -> Path:
    """Makes a run's folder, `20261120T020000Z-3f2a`, with the folder for its dumps.

    Args:
        runs: the project's `runs`.
        now: UTC.

    Raises:
        StorageError: it cannot be made.
    """
    while True:
        folder = runs / f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
        with storage.disk_errors(runs):
            runs.mkdir(parents=True, exist_ok=True)
            if not (runs / ".gitignore").exists():  # runs are no part of what a project commits
                (runs / ".gitignore").write_text("*\n")
            try:
                folder.mkdir()
                (folder / "dumps").mkdir()
            except FileExistsError:
                continue
        return folder


def finished(runs: Path) -> tuple[Path, ...]:
    """The runs that have results, oldest first."""
    return tuple(folder for folder in every(runs) if (folder / RESULTS).is_file())


def point_latest(runs: Path, folder: Path) -> None:
    """Makes `runs/latest` name this run, in one step.

    Raises:
        StorageError: the link cannot be made, or something else has its name.
    """
    latest = runs / LATEST
    if latest.exists() and not latest.is_symlink():
        raise StorageError(
            f"{latest} should be a link to the last run, but is a file or folder of its own; move it away"
        )
    temporary = runs / f"{storage.TEMPORARY_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
    with storage.disk_errors(latest):
        temporary.symlink_to(folder.name)
        temporary.replace(latest)


def find(runs: Path, name: str | None = None) -> Path:
    """The folder of a run.

    Args:
        runs: the project's `runs`.
        name: a run's name or its beginning or end, `latest`, or None for the last one.

    Raises:
        NothingToDo: there is no run yet.
        UsageError: no run, or more than one, has that name.
    """
    if name in (None, LATEST):
        return _latest(runs)
    candidates = [
        folder for folder in every(runs) if name and (folder.name.startswith(name) or folder.name.endswith(name))
    ]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise UsageError(f"{len(candidates)} runs are called {name!r}: {', '.join(f.name for f in candidates[-5:])}")
    there = ", ".join(folder.name for folder in every(runs)[-5:]) or "none yet"
    raise UsageError(f"there is no run {name!r} in {runs}; the last ones are: {there}")


def results(folder: Path) -> dict[str, Any]:
    """A run's results.json.

    Raises:
        StorageError: it is not there, cut short, or of another version.
    """
    path = folder / RESULTS
    if not path.is_file():
        raise StorageError(
            f"{folder} has no {RESULTS}: that run did not end; `gpuregress log {folder.name}` tells more"
        )
    try:
        document = json.loads(storage.read_bytes(path))
    except ValueError:
        raise StorageError(f"{path} is no whole JSON; it was cut short or edited") from None
    if not isinstance(document, dict) or document.get("version") != 1:
        raise StorageError(f"{path} is of a version that this gpuregress does not read")
    return document


def retire(runs: Path, keep: int) -> tuple[str, ...]:
    """Removes the oldest finished runs, and abandoned ones, so that `keep` stay; never what `latest` names.

    Args:
        runs: the project's `runs`.
        keep: how many stay; 0 keeps all.

    Returns:
        The names of those removed.
    """
    if keep <= 0:
        return ()
    folders = list(every(runs))
    with contextlib.suppress(OSError):
        latest = (runs / LATEST).resolve()
        folders.sort(key=lambda folder: folder.resolve() == latest)  # runs of one second have names in any order
    spared = {runs / LATEST, *folders[-keep:]}
    removed = []
    for folder in folders:
        if folder in spared or not ((folder / RESULTS).is_file() or _is_abandoned(folder)):
            continue
        try:
            storage.remove_tree(folder)
        except StorageError:
            if folder.exists():  # else another run's tidying was faster
                raise
        removed.append(folder.name)
    return tuple(removed)


def _latest(runs: Path) -> Path:
    with contextlib.suppress(OSError):
        target = (runs / LATEST).resolve(strict=True)
        if target.is_dir():
            return target
    there = every(runs)
    if not there:
        raise NothingToDo(f"there is no run in {runs} yet; `gpuregress run` makes one")
    return there[-1]


def every(runs: Path) -> tuple[Path, ...]:
    """All runs, finished or not, oldest first."""
    if not runs.is_dir():
        return ()
    with storage.disk_errors(runs, "read"):
        return tuple(sorted(entry for entry in runs.iterdir() if _NAME.fullmatch(entry.name) and entry.is_dir()))


def _is_abandoned(folder: Path) -> bool:
    """Whether a run without results has been silent for so long that nobody works in it."""
    with contextlib.suppress(OSError):
        log = folder / LAUNCH_LOG
        touched = (log if log.exists() else folder).stat().st_mtime
        return time.time() - touched > _ABANDONED_S
    return False

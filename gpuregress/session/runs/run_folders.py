"""Folders of runs: what is in them, how one is made, and the link `latest`."""

from __future__ import annotations

import contextlib
import secrets
import time
from datetime import datetime, timedelta
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import StorageError
from gpuregress.gpu.records import replace
from gpuregress.session.runs import journal
from gpuregress.store.dumps.run_names import LATEST, every, latest

RESULTS = journal.RESULTS
LAUNCH_LOG = "launch.log"
SHARED = ".shared"
"""In the folder of a run that goes on: what its workers share."""
CONTENTS = ".contents"
"""In the folder of runs: the contents of their dumps, so that equal dumps of all runs are one file."""
ACCEPTING = ".accept.lock"
"""Held in the folder of runs while baselines are written: there it is never committed."""
_IGNORE = ".gitignore"
_IGNORE_ALL = "*\n"
_ABANDONED_S = 24 * 3600.0


def create(runs: Path, start: journal.JournalStart, now: datetime) -> tuple[Path, journal.JournalWriter]:
    """Make a run's folder, `20261120T020000Z-3f2a`, with its journal and the folder for its dumps, in one step.

    Its name comes after those of all runs of the same second, so that the order of names is that of the runs.

    Args:
        runs: the project's `runs`.
        start: the journal's first line, without the run's name.
        now: UTC.

    Raises:
        StorageError: it cannot be made.
    """
    with storage.disk_errors(runs):
        runs.mkdir(parents=True, exist_ok=True)
        ignore = runs / _IGNORE
        if not ignore.exists():  # runs are no part of what a project commits
            ignore.write_text(_IGNORE_ALL)
    while True:
        second = f"{now:%Y%m%dT%H%M%SZ}-"
        last = max((int(path.name[-4:], 16) for path in every(runs) if path.name.startswith(second)), default=-1)
        # Random, since two hosts that share the folder and begin at once should not choose the same name.
        number = last + 1 + secrets.randbelow(0x8000 if last < 0 else 0x100)
        if number > 0xFFFF:
            now += timedelta(seconds=1)
            continue
        folder = runs / f"{second}{number:04x}"
        with storage.scratch(runs) as unnamed, storage.disk_errors(folder):
            (unnamed / "dumps").mkdir()
            writer = journal.JournalWriter(unnamed, replace(start, run=folder.name))
            writer.move(folder)
        return folder, writer


def point_latest(runs: Path, folder: Path) -> None:
    """Make `runs/latest` name this run, in one step.

    Raises:
        StorageError: the link cannot be made, or something else has its name.
    """
    latest = runs / LATEST
    if latest.exists() and not latest.is_symlink():
        raise StorageError(
            f"{latest} should be a link to the last run, but is a file or folder of its own; move it away"
        )
    temporary = runs / f"{storage.TEMPORARY_PREFIX}{secrets.token_hex(6)}"
    with storage.disk_errors(latest):
        temporary.symlink_to(folder.name)
        temporary.replace(latest)


def point_latest_if_over(runs: Path, folder: Path) -> None:
    """Make `runs/latest` name a run that just ended, unless a newer one goes on or was cut short.

    Raises:
        StorageError: as for `point_latest`.
    """
    now = latest(runs)
    end = journal.end_of(now) if now is not None else None
    if now != folder and (now is None or (end is not None and end.state != "cut short")):
        point_latest(runs, folder)


def discard(runs: Path, folder: Path, previous: Path | None) -> None:
    """Remove a run in which nothing was run; where `runs/latest` names it, it names the previous one again."""
    with contextlib.suppress(StorageError, OSError):
        if latest(runs) == folder:
            if previous is not None:
                point_latest(runs, previous)
            else:
                (runs / LATEST).unlink()
        storage.remove_tree(folder)
        if [path.name for path in runs.iterdir()] == [_IGNORE] and (runs / _IGNORE).read_text() == _IGNORE_ALL:
            (runs / _IGNORE).unlink()
            runs.rmdir()


def is_abandoned(folder: Path) -> bool:
    """Whether a run without results has been silent for a day, and no process holds its journal."""
    if journal.is_running(folder):
        return False
    with contextlib.suppress(OSError):
        log = folder / LAUNCH_LOG
        touched = (log if log.exists() else folder).stat().st_mtime
        return time.time() - touched > _ABANDONED_S
    return False

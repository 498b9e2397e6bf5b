"""Retention of runs: which ones are kept, and which are removed.

The newest few are kept, as far as their age and their size allow. The newest one, the last finished night and the last
run in which each case passed are kept in any case, and so is a run that goes on. Where the disk is short, the newest
few are fewer.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import StorageError
from gpuregress.session import missing_cases
from gpuregress.session.runs import history_entry, journal, run_folders
from gpuregress.store import history
from gpuregress.store.baselines import BaselineStore
from gpuregress.store.dumps import run_names
from gpuregress.store.project import Project

_ROOM = 64 << 20
"""Bytes that should be free before a run, where the disk is large enough to say so."""
_SHARE = 20
_PLENTY = 64 << 30
_RECENT = 3


def retire(project: Project) -> tuple[str, ...]:
    """Remove the runs that need not be kept.

    Args:
        project: whose; its settings have the number of runs that are kept in any case.

    Returns:
        The names of those removed.

    Raises:
        StorageError: one cannot be removed.
    """
    runs, kept = _oldest_first(project.runs), project.settings.retention
    is_bounded = kept.age is not None or kept.size is not None
    if len(runs) <= (1 if is_bounded else kept.runs):
        return ()
    candidates = removable(project)
    doomed = set(runs[: -kept.runs]).intersection(candidates)
    if kept.age is not None:
        doomed.update(folder for folder in candidates if _age_s(folder) > kept.age)
    if kept.size is not None:
        left = [folder for folder in runs if folder not in doomed]
        doomed |= _over_size(left, [folder for folder in left if folder in candidates], kept.size)
    removed = tuple(_removed(folder for folder in runs if folder in doomed))
    if removed:
        storage.prune_store(project.runs / run_folders.CONTENTS)
    return removed


def _age_s(folder: Path) -> float:
    """Seconds since a run's start, which its name tells."""
    started = datetime.strptime(folder.name[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return time.time() - started.timestamp()


def _over_size(runs: Sequence[Path], candidates: Sequence[Path], most: int) -> set[Path]:
    """The oldest candidates whose removal brings all runs down to `most` bytes; a shared file counts once."""
    sizes: dict[tuple[int, int], int] = {}
    total = 0
    first = [folder for folder in runs if folder not in candidates]
    # Those that stay in any case count first, then the newest ones.
    for folder in (*first, *reversed(candidates)):
        for file, size in _files(folder).items():
            if file not in sizes:
                sizes[file] = size
                total += size
        if total > most and folder in candidates:
            return set(candidates[: candidates.index(folder) + 1])
    return set()


def make_room(project: Project, needed: int | None = None) -> tuple[str, ...]:
    """Remove old runs while the disk is short of space.

    Args:
        needed: bytes that must be free; None: enough for a run like the last one.

    Returns:
        A line for the user, if any was removed.

    Raises:
        StorageError: one cannot be removed.
    """
    runs = _oldest_first(project.runs)
    if not runs or (needed is None and _free(project.runs) >= _PLENTY):
        return ()
    if needed is None:
        needed = _needed(runs)
    if _free(project.runs) >= needed:
        return ()
    count = 0
    for _ in _removed(removable(project)):
        count += 1
        storage.prune_store(project.runs / run_folders.CONTENTS)
        if _free(project.runs) >= needed:
            break
    if not count:
        return ()
    removed = "1 old run was" if count == 1 else f"{count} old runs were"
    return (f"the disk is short of space: {removed} removed",)


def removable(project: Project) -> tuple[Path, ...]:
    """List the runs that may be removed where the disk is short, oldest first."""
    runs = _oldest_first(project.runs)
    kept = _kept_in_any_case(project, runs) if runs else set()
    return tuple(folder for folder in runs[:-1] if folder not in kept and _is_over(folder))


def size_of(folders: Iterable[Path]) -> int:
    """Count the bytes that the removal of runs would free: those of files without another name elsewhere."""
    sizes: dict[tuple[int, int], list[int]] = {}
    for folder in folders:
        for status in _statuses(folder):
            entry = sizes.setdefault((status.st_dev, status.st_ino), [status.st_size, status.st_nlink - 1])
            # The name in the store of contents may be left.
            entry[1] -= 1
    return sum(size for size, left in sizes.values() if left <= 0)


def is_full(runs: Path) -> bool:
    """Whether the disk has almost no space left; False where the folder is gone."""
    try:
        disk = os.statvfs(runs)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < min(_ROOM, disk.f_blocks * disk.f_frsize // _SHARE)


def _free(runs: Path) -> int:
    disk = os.statvfs(runs)
    return disk.f_bavail * disk.f_frsize


def _needed(runs: Sequence[Path]) -> int:
    """Twice the size of the largest of the last few runs; at least a twentieth of the disk, or 64 MiB."""
    disk = os.statvfs(runs[-1].parent)
    largest = max(sum(_files(folder).values()) for folder in runs[-_RECENT:])
    return max(2 * largest, min(_ROOM, disk.f_blocks * disk.f_frsize // _SHARE))


def _files(folder: Path) -> dict[tuple[int, int], int]:
    """The files of a run and their sizes; a file of several names counts once."""
    return {(status.st_dev, status.st_ino): status.st_size for status in _statuses(folder)}


def _statuses(folder: Path) -> Iterator[os.stat_result]:
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # a run that goes on moves its files
                yield os.lstat(Path(parent, name))


def _oldest_first(runs: Path) -> list[Path]:
    """All runs; runs of one second have names in any order, so the one that `latest` names comes last."""
    newest = run_names.latest(runs)
    return sorted(run_names.every(runs), key=lambda folder: folder == newest)


def _kept_in_any_case(project: Project, runs: Sequence[Path]) -> set[Path]:
    """The last finished night, and the last run in which each case passed that is not gone.

    Those of the newest runs, of the last night and with a baseline are there: a run of a few cases says nothing of
    the others.
    """
    verdicts = _verdicts(project, runs)
    night = missing_cases.last_night(project)
    wanted = {*night.cases, *missing_cases.expected(project).accepted, *BaselineStore.of(project).case_names()}
    for folder in runs[-project.settings.retention.runs :]:
        wanted.update(verdicts[folder.name])
    kept = {project.runs / run for run in (night.run, *night.others)}
    for folder in reversed(runs):
        for case, status in verdicts[folder.name].items():
            if status == "pass" and case in wanted:
                kept.add(folder)
                wanted.remove(case)
    return kept


def _verdicts(project: Project, runs: Sequence[Path]) -> Mapping[str, Mapping[str, str]]:
    """Run → case → its verdict: from the history, and from the results of the runs that it lacks."""
    verdicts = dict(history.verdicts(project.runs / history_entry.FILE, [folder.name for folder in runs]))
    for folder in runs:
        if folder.name not in verdicts:
            verdicts[folder.name] = _stored_verdicts(folder)
    return verdicts


def _stored_verdicts(folder: Path) -> dict[str, str]:
    path = folder / run_folders.RESULTS
    if not path.is_file():
        return {}
    try:
        return {str(entry["case"]): str(entry["verdict"]) for entry in storage.read_json(path, "")["cases"]}
    except (StorageError, KeyError, TypeError):
        # Nothing of a damaged run can be accepted or reported.
        return {}


def _is_over(folder: Path) -> bool:
    return (
        journal.end_of(folder) is not None
        or (folder / run_folders.RESULTS).is_file()
        or run_folders.is_abandoned(folder)
    )


def _removed(runs: Iterable[Path]) -> Iterator[str]:
    """Remove the runs that are over, one by one, and yield their names."""
    for folder in runs:
        if not _is_over(folder):
            continue
        try:
            storage.remove_tree(folder)
        except StorageError:
            if folder.exists():  # else another run's tidying was faster
                raise
        yield folder.name

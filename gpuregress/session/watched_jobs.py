"""Jobs whose files are watched: which are touched when something in their folders was saved.

What was saved follows from the files' stamps and not from the events: an editor may write a file in place, or write
another one and rename it, several times in a row.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from msgspec import field

from gpuregress.gpu.records import Record
from gpuregress.jobs import plan
from gpuregress.jobs.plan import Plan
from gpuregress.jobs.plan.case_files import CaseFiles
from gpuregress.store.project import Project

Stamp = tuple[int, int, int] | None
"""Time of change, size and number of a file; None where it is not there."""
_BEING_SAVED: Stamp = (-1, -1, -1)
"""No file has it: which content was read is not known."""
_CLOCK_NS = 10_000_000
"""By so much the clock of file systems, which ticks, is late."""


class WatchedJobs(Record):
    """Jobs, and the files that they are made of as they were when they were planned.

    Attributes:
        project: of the jobs.
        plan: of the jobs, also of the wrong ones.
        files: job → its files.
        open: jobs of which not all files are known: whatever is saved touches them.
        stamps: file → its stamp.
    """

    project: Project
    plan: Plan = field(default_factory=lambda: Plan(()))
    files: dict[str, frozenset[Path]] = field(default_factory=dict)
    open: frozenset[str] = frozenset()
    stamps: dict[Path, Stamp] = field(default_factory=dict)

    @property
    def folders(self) -> frozenset[Path]:
        """The folders that hold these files, as far as they are there, and those in which jobs may appear."""
        folders = {path.parent for path in self.stamps} | {self.project.root}
        for parent, inner, _ in os.walk(self.project.configs):
            inner[:] = [name for name in inner if not name.startswith((".", "__pycache__"))]
            folders.add(Path(parent))
        return frozenset(folder for folder in folders if folder.is_dir())

    def saved(self, now: Mapping[Path, Stamp]) -> frozenset[Path]:
        """The files that were saved, removed or put back until these stamps were taken."""
        return frozenset(path for path, stamp in self.stamps.items() if now[path] != stamp)

    def stamps_now(self) -> dict[Path, Stamp]:
        """Take the stamps of the files as they are now."""
        return {path: _stamp(path) for path in self.stamps}

    def touched(self, saved: AbstractSet[Path], later: WatchedJobs) -> tuple[str, ...]:
        """Return the jobs that must run again, in the order of the later plan.

        Args:
            saved: the files.
            later: the jobs as they are now.
        """
        settings = saved & set(self.project.settings_files)
        jobs = []
        for job, files in later.files.items():
            before = self.files.get(job)
            is_open = job in later.open or job in self.open
            if settings or before is None or is_open or saved & before or saved & files:
                jobs.append(job)
        return tuple(jobs)

    def part(self, jobs: Collection[str]) -> Plan:
        """The plan of some of the jobs."""
        cases = tuple(case for case in self.plan.cases if case.job in jobs)
        return Plan(cases, self.plan.notes, tuple(wrong for wrong in self.plan.broken if wrong.name in jobs))


def watched(
    project: Project, selectors: Sequence[str], case_filter: plan.CaseFilter, known: Mapping[Path, Stamp] | None = None
) -> WatchedJobs:
    """Plan jobs, and note the files that they are made of.

    A file that is saved while they are planned has no stamp here, so that the next look takes it for saved.

    Args:
        project: of the jobs.
        selectors: of the jobs or cases.
        case_filter: of the cases.
        known: file → the stamp by which the caller has judged whether it was saved.

    Raises:
        NothingToDo: no case is selected.
        UsageError: a selector means nothing, as after its file was removed.
    """
    known = known or {}
    began_ns = time.time_ns() - _CLOCK_NS
    planned = plan.make(project, selectors, case_filter, plan.CaseOverrides(), keep_going=True)
    collector = CaseFiles()
    files: dict[str, set[Path]] = {}
    open_jobs = set()
    for wrong in planned.broken:
        files[wrong.name] = {Path(error.path) for error in wrong.errors}
    for case in planned.cases:
        deciding = collector.of(case)
        files.setdefault(case.job, set()).update(deciding.files)
        if deciding.unknown:
            open_jobs.add(case.job)
    present = {*project.settings_files, *(path for of_job in files.values() for path in of_job)}
    stamps = {path: known[path] if path in known else _stamp_before(path, began_ns) for path in present}
    frozen = {job: frozenset(paths) for job, paths in files.items()}
    return WatchedJobs(project=project, plan=planned, files=frozen, open=frozenset(open_jobs), stamps=stamps)


def _stamp_before(path: Path, time_ns: int) -> Stamp:
    """The stamp of a file that was saved before a time; `_BEING_SAVED` where it was saved later."""
    stamp = _stamp(path)
    return _BEING_SAVED if stamp is not None and stamp[0] >= time_ns else stamp


def _stamp(path: Path) -> Stamp:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino

"""Jobs whose files are watched: which are touched when something in their folders was saved.

What was saved is told by the files' stamps and not by the events: an editor may write a file in place, or write another
one and rename it, several times in a row.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
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

    def saved(self) -> frozenset[Path]:
        """The files that were saved, removed or put back since."""
        return frozenset(path for path, stamp in self.stamps.items() if _stamp(path) != stamp)

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
    project: Project, selectors: Sequence[str], case_filter: plan.CaseFilter, known: Iterable[Path] = ()
) -> WatchedJobs:
    """Plan jobs, and note the files that they are made of.

    Args:
        project: of the jobs.
        selectors: of the jobs or cases.
        case_filter: of the cases.
        known: files that an earlier plan had; a save of one of them while this one is made is seen.

    Raises:
        NothingToDo: no case is selected.
        UsageError: a selector means nothing, as after its file was removed.
    """
    stamps: dict[Path, Stamp] = {path: _stamp(path) for path in known}
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
    stamps = {path: stamps[path] if path in stamps else _stamp(path) for path in present}
    frozen = {job: frozenset(paths) for job, paths in files.items()}
    return WatchedJobs(project=project, plan=planned, files=frozen, open=frozenset(open_jobs), stamps=stamps)


def _stamp(path: Path) -> Stamp:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino

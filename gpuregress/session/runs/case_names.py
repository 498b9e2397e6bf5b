"""Names of jobs and cases for the completion of a shell, from a list that is kept beside the runs.

The list has the cases of each job file with the file's time and size; a job whose file changed is planned again. A job
that is wrong has its own name and no cases. Nothing here raises: a completion that fails completes nothing.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.json_form import to_json
from gpuregress.gpu.records import Record
from gpuregress.jobs.spec.job_files import job_files
from gpuregress.store.project import Project

FILE = ".case_names.json"
"""In the folder of runs."""
SECONDS = 2.0
"""For planning the jobs that changed; the others are completed by the next attempt."""
_VERSION = 2


class JobNames(Record):
    """The names that a job file gives.

    Attributes:
        job: the job's name.
        cases: of its cases.
        tags: of the job.
    """

    job: str
    cases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


class _NameList(Record):
    """The list; `files`: job file → its stamp and names."""

    version: int
    files: Mapping[str, tuple[str, JobNames]]


Planner = Callable[[Project, Path], JobNames]


def names(project: Project, planner: Planner | None = None, seconds: float = SECONDS) -> tuple[JobNames, ...]:
    """The names of all jobs of a project.

    Args:
        planner: for tests.
        seconds: after which no further job is planned.
    """
    path = project.runs / FILE
    known, until = _read(path), time.monotonic() + seconds
    found: dict[str, tuple[str, JobNames]] = {}
    is_new = False
    jobs: list[JobNames] = []
    for file in job_files(project.configs):
        stamp, key = _stamp(file), str(file)
        entry = known.get(key)
        if entry is not None and entry[0] == stamp:
            found[key] = entry
        elif time.monotonic() < until:
            found[key] = (stamp, (planner or _planned)(project, file))
            is_new = True
        jobs.append(found[key][1] if key in found else JobNames(file.stem))
    if (is_new or len(found) < len(known)) and project.runs.is_dir():
        _write(path, found)
    return tuple(jobs)


def _planned(project: Project, file: Path) -> JobNames:
    """Plan a job; one that is wrong has no cases."""
    from gpuregress.jobs import plan  # noqa: PLC0415 - 0.3 s, which a list that is up to date does without

    try:
        cases = plan.make(project, (str(file),)).cases
    except (GpuregressError, OSError, ValueError, RecursionError):
        return JobNames(file.stem)
    if not cases:
        return JobNames(file.stem)
    return JobNames(cases[0].job, tuple(case.name for case in cases), tuple(cases[0].tags))


def _stamp(file: Path) -> str:
    try:
        facts = file.stat()
    except OSError:
        return ""
    return f"{facts.st_mtime_ns} {facts.st_size}"


def _read(path: Path) -> Mapping[str, tuple[str, JobNames]]:
    """The list; a damaged one counts as none."""
    with contextlib.suppress(GpuregressError):
        known = storage.read_record(path, _NameList, "", is_sealed=False)
        if known.version == _VERSION:
            return known.files
    return {}


def _write(path: Path, found: Mapping[str, tuple[str, JobNames]]) -> None:
    with contextlib.suppress(GpuregressError, OSError):
        storage.write_atomic(path, json.dumps(to_json(_NameList(_VERSION, found))).encode(), durable=False)

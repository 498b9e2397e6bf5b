"""Nightly run: one at a time; a case that vanished or became infeasible since is a failure."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass

from gpuregress import storage
from gpuregress.document import units
from gpuregress.errors import NothingToDo, StorageError
from gpuregress.operations import night_watch
from gpuregress.project import Project
from gpuregress.records import RunSummary
from gpuregress.session import missing_cases, session
from gpuregress.session.missing_cases import LastNight
from gpuregress.session.run_request import NOTHING_EXPECTED, ExpectedCases, Machinery, RunRequest
from gpuregress.session.runs import journal, run_folders

LOCK = ".nightly.lock"


@dataclass(frozen=True, slots=True)
class NightTerms:
    """What is asked of a night beside its cases.

    Attributes:
        deadline_s: seconds after which it stops; None: when all is done.
        resume: continue the last night, which was cut short.
    """

    deadline_s: float | None = None
    resume: bool = False


ANY_TERMS = NightTerms()


def run(
    project: Project, request: RunRequest, machinery: Machinery | None = None, terms: NightTerms = ANY_TERMS
) -> RunSummary:
    """Run under the project's lock, and compare the cases with those that are expected.

    A job that is wrong is an `error`, and the others run.

    Args:
        project: whose.
        request: what to run.
        machinery: for tests.
        terms: what is asked beside that.

    Raises:
        RunLocked: another nightly run holds the lock.
        NothingToDo: no night was cut short, and one should be continued.
        GpuregressError: the errors of `session.run`, except JobErrors.
    """
    until = None if terms.deadline_s is None else time.monotonic() + terms.deadline_s
    deadline = "" if terms.deadline_s is None else units.seconds_text(terms.deadline_s)
    with storage.lock(project.runs / LOCK), night_watch.watched(until, deadline):
        expected = missing_cases.expected(project) if request.takes_all else NOTHING_EXPECTED
        request = dataclasses.replace(request, kind="nightly", expected=expected, until=until, deadline=deadline)
        if terms.resume:
            request = _continued(project, request)
        summary = session.run(project, request, machinery=machinery)
        if summary.interrupted or not request.takes_all:
            return summary
        return _recorded(project, summary, expected)


def _continued(project: Project, request: RunRequest) -> RunRequest:
    """The request that continues the last night, with the cases that it had planned.

    Raises:
        NothingToDo: it has finished, or there is none.
        StorageError: its journal was edited or cut short.
    """
    for folder in reversed(run_folders.every(project.runs)):
        if not (folder / journal.FILE).is_file():
            continue
        read = journal.read(folder)
        if read.start.kind != "nightly":
            continue
        if read.state == "finished":
            raise NothingToDo(f"the last night, run {folder.name}, has finished: there is nothing to continue")
        device = read.start.device.partition(":")[0]
        return dataclasses.replace(request, resumes=folder, only=frozenset(read.start.cases), device=device)
    raise NothingToDo(f"there is no night in {project.runs} to continue")


def _recorded(project: Project, summary: RunSummary, expected: ExpectedCases) -> RunSummary:
    """Record the cases that the next night expects beside the accepted ones, and those that are infeasible now."""
    infeasible = {verdict.case for verdict in summary.verdicts if verdict.infeasible}
    names = {verdict.case for verdict in summary.verdicts if verdict.revision}  # a broken job has none
    known = {*(names - infeasible), *expected.cases}
    night = LastNight(summary.run, tuple(known - expected.accepted), infeasible=tuple(known & infeasible))
    try:
        missing_cases.record_night(project, night)
    except StorageError as error:
        return dataclasses.replace(summary, notes=(*summary.notes, str(error)), exit_code=StorageError.exit_code)
    return summary

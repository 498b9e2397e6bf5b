"""Nightly run: one at a time; a case that vanished or became infeasible since is a failure."""

from __future__ import annotations

import dataclasses

from gpuregress import storage
from gpuregress.errors import StorageError
from gpuregress.project import Project
from gpuregress.records import RunSummary
from gpuregress.session import missing_cases, session
from gpuregress.session.missing_cases import LastNight
from gpuregress.session.run_request import NOTHING_EXPECTED, ExpectedCases, Machinery, RunRequest

LOCK = ".nightly.lock"


def run(project: Project, request: RunRequest, machinery: Machinery | None = None) -> RunSummary:
    """Run under the project's lock, and compare the cases with those that are expected.

    A job that is wrong is an `error`, and the others run.

    Args:
        project: whose.
        request: what to run.
        machinery: for tests.

    Raises:
        RunLocked: another nightly run holds the lock.
        GpuregressError: the errors of `session.run`, except JobErrors.
    """
    with storage.lock(project.runs / LOCK):
        expected = missing_cases.expected(project) if request.takes_all else NOTHING_EXPECTED
        request = dataclasses.replace(request, kind="nightly", expected=expected)
        summary = session.run(project, request, machinery=machinery)
        if summary.interrupted or not request.takes_all:
            return summary
        return _recorded(project, summary, expected)


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

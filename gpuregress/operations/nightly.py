"""Nightly run: one at a time; a case that vanished or became infeasible since is a failure."""

from __future__ import annotations

import dataclasses

from gpuregress import storage
from gpuregress.errors import StorageError
from gpuregress.project import Project
from gpuregress.records import RunSummary
from gpuregress.session import missing_cases, session
from gpuregress.session.missing_cases import LastNight
from gpuregress.session.run_request import Machinery, RunRequest

LOCK = ".nightly.lock"


def run(project: Project, request: RunRequest, machinery: Machinery | None = None) -> RunSummary:
    """Run under the project's lock, and compare the cases with those of the last nightly run.

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
        before = missing_cases.last_night(project) if request.takes_all else LastNight()
        request = dataclasses.replace(request, kind="nightly", expected=before.cases, problem=before.problem)
        summary = session.run(project, request, machinery=machinery)
        if summary.interrupted or not request.takes_all:
            return summary
        return _recorded(project, summary, before)


def _recorded(project: Project, summary: RunSummary, before: LastNight) -> RunSummary:
    """Record the expected cases for the next night: those that ran, are missing, or belong to a broken job."""
    infeasible = {verdict.case for verdict in summary.verdicts if verdict.infeasible}
    names = {verdict.case for verdict in summary.verdicts if verdict.revision}  # a broken job has none
    expected = {*(names - infeasible), *before.cases}
    night = LastNight(summary.run, tuple(expected), infeasible=tuple(expected & infeasible))
    try:
        missing_cases.record_night(project, night)
    except StorageError as error:
        return dataclasses.replace(summary, notes=(*summary.notes, str(error)), exit_code=StorageError.exit_code)
    return summary

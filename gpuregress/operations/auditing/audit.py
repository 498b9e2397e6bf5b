"""Audit of jobs within a time budget, with its parts in turn and the grades."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gpuregress import plan
from gpuregress.errors import GpuregressError, Interrupted
from gpuregress.frozen import dataclass
from gpuregress.interrupts import StopSignal
from gpuregress.operations.auditing import cases, checks, coverage, examination, grades, mutants, schedules
from gpuregress.operations.auditing.examination import NO_TIME, AuditedJob, AuditPart, Budget, Examined
from gpuregress.project import Project
from gpuregress.records.instrumentation.audits import AuditReport, JobGrade, PartResult
from gpuregress.session.events import Listener, ignore
from gpuregress.session.run_request import Machinery

PARTS: tuple[AuditPart, ...] = (cases.PART, checks.PART, schedules.PART, coverage.PART, mutants.PART)
"""The parts, in the order in which they run; each takes its share of the time that is left."""
VERSION = 1


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """A request for an audit.

    Attributes:
        selectors: jobs; none: all of the project.
        budget_s: the time that it may take; what has begun may end later.
    """

    selectors: tuple[str, ...] = ()
    budget_s: float = 600.0


def audit(
    project: Project,
    request: AuditRequest,
    *,
    listen: Listener = ignore,
    machinery: Machinery | None = None,
    parts: Sequence[AuditPart] = PARTS,
) -> AuditReport:
    """Audit jobs on the CPU device. Nothing is left in the project's folders.

    Args:
        project: whose.
        request: which jobs, how much time.
        listen: receives the events.
        machinery: for tests.
        parts: of the audit.

    Returns:
        What was examined; after ^C, the parts until then.

    Raises:
        UsageError: a selector names nothing.
        NothingToDo: there is no job.
        JobErrors: every job is wrong.
    """
    start = time.monotonic()
    end = start + request.budget_s
    planned = plan.make(project, request.selectors, keep_going=True)
    jobs = tuple(AuditedJob(*one) for one in dict.fromkeys((case.job, case.path) for case in planned.cases))
    done: list[PartResult] = []
    with StopSignal() as stop:
        for part in parts:
            begun = time.monotonic()
            budget = Budget(begun + part.time_share * max(0.0, end - begun), listen, machinery)
            is_stopped = stop.is_set or any(one.interrupted for one in done)
            one = _examined(part, project, jobs, budget, is_stopped=is_stopped)
            done.append(_result(part, one, time.monotonic() - begun))
        interrupted = stop.is_set or any(one.interrupted for one in done)
    wrong = [JobGrade(one.name, "F", 0.0, 0.0, 0, f"the job is wrong: {one.errors[0]}") for one in planned.broken]
    graded = (*wrong, *(grades.of_job(job.name, done) for job in jobs))
    seconds = time.monotonic() - start
    return AuditReport(
        VERSION, grades.lowest(graded), graded, tuple(done), request.budget_s, seconds, interrupted, planned.notes
    )


def _result(part: AuditPart, one: Examined, seconds: float) -> PartResult:
    return PartResult(part.name, part.points, part.proves, one.jobs, seconds, one.interrupted)


def _examined(
    part: AuditPart, project: Project, jobs: Sequence[AuditedJob], budget: Budget, *, is_stopped: bool
) -> Examined:
    """Examine, unless there is no time or no job; a part that cannot run is not examined, and says why."""
    if is_stopped:
        return examination.not_examined(jobs, "interrupted", interrupted=True)
    if not jobs or not budget.left_s:
        return examination.not_examined(jobs, NO_TIME)
    try:
        return part.examine(project, jobs, budget)
    except Interrupted:
        return examination.not_examined(jobs, "interrupted", interrupted=True)
    except GpuregressError as error:
        return examination.not_examined(jobs, str(error))

"""Audit of jobs within a time budget: its parts in turn, the grades, and earlier audits."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import GpuregressError, Interrupted, JobErrors
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records.audits import AuditEvidence, AuditReport, JobExamination, PartResult
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import plan
from gpuregress.lab import experiment
from gpuregress.lab.auditing import case_parts, examination, search_parts
from gpuregress.lab.auditing.examination import NO_TIME, AuditContext, AuditedJob, AuditPart, Examined, JobVerdicts
from gpuregress.lab.mutating import results
from gpuregress.lab.mutating import subject as subjects
from gpuregress.lab.mutating.subject import Subject
from gpuregress.session import device_slots
from gpuregress.session.events import Listener, ignore
from gpuregress.session.planning import error_lines
from gpuregress.store.project import Project
from gpuregress.toolchain import cache

FORMAT = 1
"""Counts up whenever the meaning of a part changes; old results are then never found again."""


def find_kept(part: AuditPart, context: AuditContext, jobs: Sequence[AuditedJob]) -> Mapping[str, JobExamination]:
    """Job → its complete examination by a part in an earlier audit, where nothing has changed since."""
    examinations: dict[str, JobExamination] = {}
    if context.fresh:
        return examinations
    for job in jobs:
        known = experiment.recalled(JobExamination, _key(part, context, job.name))
        if known is not None:
            examinations[job.name] = known
    return examinations


def keep_examinations(part: AuditPart, context: AuditContext, examined: Iterable[JobExamination]) -> None:
    """Keep the complete examinations."""
    for result in examined:
        if result.share is not None and result.examined == 1.0 and not result.why:
            experiment.remember(_key(part, context, result.job), result)


def _key(part: AuditPart, context: AuditContext, job: str) -> str:
    """The key of an examination; "" where not all that decides it can be known, as of cases without a turn."""
    subject = context.subjects.get(job)
    if not isinstance(subject, Subject) or context.clean.get(job, JobVerdicts()).left:
        return ""
    digest = results.subject_digest(subject)
    if not digest:
        return ""
    try:
        text = Path(subject.cases[0].path).read_bytes()  # also what no case has: `where`, `fuzz`
    except OSError:
        return ""
    root = str(context.project.root)
    return cache.digest(("audit", str(FORMAT), cache.code_digest(), part.name, job, root, digest, text))


PARTS: tuple[AuditPart, ...] = (
    case_parts.CASES,
    case_parts.CHECKS,
    case_parts.SCHEDULES,
    case_parts.COVERAGE,
    search_parts.MUTANTS,
    search_parts.FUZZ,
    search_parts.ACCURACY,
)
"""The parts, in the order in which they run; each takes its share of the time that is left."""
VERSION = 1


class AuditRequest(Record):
    """A request for an audit.

    Attributes:
        selectors: jobs; none: all of the project.
        budget_s: the time that it may take; what has begun may end later.
        sample: the most mutants of a job; None: as many as the time allows.
        seed: of the sample.
        fresh: whether results of earlier audits are left alone.
    """

    selectors: tuple[str, ...] = ()
    budget_s: float = 600.0
    sample: int | None = None
    seed: int = 0
    fresh: bool = False


def audit(
    project: Project,
    request: AuditRequest,
    *,
    listen: Listener = ignore,
    parts: Sequence[AuditPart] = PARTS,
) -> AuditReport:
    """Audit jobs on the CPU device. Nothing is left in the project's folders.

    Args:
        project: whose.
        request: which jobs, how much time.
        listen: receives the events.
        parts: of the audit.

    Returns:
        What was examined; after ^C, the parts until then.

    Raises:
        UsageError: a selector names nothing.
        NothingToDo: there is no job.
        JobErrors: every job is wrong.
        DeviceError: the CPU device is not installed.
    """
    start = time.monotonic()
    device_slots.select("cpu")
    planned = plan.make(project, request.selectors, keep_going=True)
    with_launches = [case for case in planned.cases if case.program is None]
    if not with_launches:
        experiment.require_launches(planned.cases, "audit")
    programs = dict.fromkeys(case.job for case in planned.cases if case.program is not None)
    jobs = tuple(AuditedJob(name, tuple(cases)) for name, cases in experiment.by_job(with_launches).items())
    with storage.scratch() as scratch, StopSignal() as stop:
        context = AuditContext(
            project=project,
            scratch=scratch,
            until=start + request.budget_s,
            seed=request.seed,
            sample=request.sample,
            fresh=request.fresh,
            listen=listen,
        )
        done = _with_wrong_jobs(project, planned.broken, _parts(context, jobs, parts, stop))
    graded = [replace(examination.grade_of(job.name, done), why="the job is wrong") for job in planned.broken]
    graded += [examination.grade_of(job.name, done) for job in jobs]
    return AuditReport(
        version=VERSION,
        grade=examination.lowest(graded),
        grades=tuple(graded),
        parts=tuple(done),
        budget_s=request.budget_s,
        seconds=time.monotonic() - start,
        interrupted=any(part_result.interrupted for part_result in done),
        notes=(*planned.notes, *(f"{job} is not examined: it runs a whole program" for job in programs)),
    )


def _with_wrong_jobs(
    project: Project, broken: Iterable[plan.BrokenJob], done: Sequence[PartResult]
) -> list[PartResult]:
    """Add the jobs that have no cases to the first part, with their errors."""
    if not done:
        return []
    wrong = []
    for job in broken:
        evidence = tuple(AuditEvidence("wrong", line) for line in error_lines(project, job.errors))
        wrong.append(JobExamination(job.name, 0.0, evidence=evidence))
    return [replace(done[0], jobs=(*done[0].jobs, *wrong)), *done[1:]]


def _parts(
    context: AuditContext, jobs: Sequence[AuditedJob], parts: Sequence[AuditPart], stop: StopSignal
) -> list[PartResult]:
    """Examine the jobs by each part in turn; ^C ends the one that it meets, and all after it."""
    done: list[PartResult] = []
    end = context.until
    is_stopped = False
    for part in parts:
        begun = time.monotonic()
        context = replace(context, until=begun + part.time_share * max(0.0, end - begun))
        examined = _examined(part, context, jobs, is_stopped=is_stopped)
        if examined.clean:
            subjects_of = _subjects(context.project, jobs, examined.clean, end)
            context = replace(context, clean=examined.clean, subjects=subjects_of)
        is_stopped = is_stopped or examined.interrupted or stop.is_set
        done.append(
            PartResult(
                name=part.name,
                points=part.points,
                proves=part.proves,
                jobs=examined.jobs,
                seconds=time.monotonic() - begun,
                interrupted=is_stopped,
            )
        )
    return done


def _subjects(
    project: Project, jobs: Sequence[AuditedJob], clean: Mapping[str, JobVerdicts], end: float
) -> dict[str, Subject | GpuregressError]:
    """Job → its cases with their programs, or why they cannot be examined further; none where the time is over."""
    of_jobs: dict[str, Subject | GpuregressError] = {}
    for job in jobs:
        of_job = clean[job.name]
        if time.monotonic() >= end or not of_job.examined:
            continue
        verdicts = {verdict.case: verdict for verdict in (*of_job.examined, *of_job.left)}
        ran = [case for case in job.cases if case.name in verdicts]
        try:
            of_jobs[job.name] = subjects.of_verdicts(project, job.name, ran, verdicts)
        except GpuregressError as error:
            of_jobs[job.name] = error
    return of_jobs


def _examined(part: AuditPart, context: AuditContext, jobs: Sequence[AuditedJob], *, is_stopped: bool) -> Examined:
    """Examine, unless there is no time or no job; a part that cannot run is not examined, and says why."""
    examinations: dict[str, JobExamination] = {}
    if part.is_kept:
        examinations |= find_kept(part, context, jobs)
    for job in jobs:
        if part.needs_results and job.expects_fault:
            examinations[job.name] = examination.does_not_apply(job.name, "it expects a fault")
    left = [job for job in jobs if job.name not in examinations]
    fresh = _examined_now(part, context, left, is_stopped=is_stopped)
    if part.is_kept:
        keep_examinations(part, context, fresh.jobs)
    for result in fresh.jobs:
        examinations[result.job] = result
    return replace(fresh, jobs=tuple(examinations[job.name] for job in jobs))


def _examined_now(part: AuditPart, context: AuditContext, jobs: Sequence[AuditedJob], *, is_stopped: bool) -> Examined:
    if not jobs:
        return Examined(())
    if is_stopped:
        return examination.not_examined(jobs, "interrupted", interrupted=True)
    if not context.left_s:
        return examination.not_examined(jobs, NO_TIME)
    try:
        return part.examine(context, jobs)
    except Interrupted:
        return examination.not_examined(jobs, "interrupted", interrupted=True)
    except GpuregressError as error:
        if isinstance(error, JobErrors) and not context.clean:
            raise  # before any case ran: every job is wrong
        return examination.not_examined(jobs, str(error))

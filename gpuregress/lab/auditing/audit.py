"""Audit of jobs within a time budget: its parts in turn, the grades, and earlier audits."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import GpuregressError, Interrupted, StorageError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import from_json, to_json
from gpuregress.foundation.records.audits import AuditEvidence, AuditReport, JobExamination, PartResult
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import plan
from gpuregress.lab import experiment
from gpuregress.lab.auditing import case_parts, examination, search_parts
from gpuregress.lab.auditing.examination import NO_TIME, AuditContext, AuditedJob, AuditPart, Examined, JobVerdicts
from gpuregress.lab.mutating import results
from gpuregress.lab.mutating import subject as subjects
from gpuregress.lab.mutating.subject import Subject
from gpuregress.session.events import Listener, ignore
from gpuregress.session.planning import error_lines
from gpuregress.store.project import Project
from gpuregress.toolchain import cache

FORMAT = 1
"""Counts up whenever the meaning of a part changes; old results are then never found again."""


def find_kept(part: AuditPart, context: AuditContext, jobs: Sequence[AuditedJob]) -> Mapping[str, JobExamination]:
    """Job → its complete examination by a part in an earlier audit, where nothing has changed since."""
    found: dict[str, JobExamination] = {}
    for job in () if context.fresh else jobs:
        key = _key(part, context, job.name)
        record = cache.load(key) if key else None
        if record is None:
            continue
        try:
            found[job.name] = from_json(JobExamination, record["examination"])
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
    return found


def keep_examinations(part: AuditPart, context: AuditContext, examined: Iterable[JobExamination]) -> None:
    """Keep the complete examinations; a cache that cannot be written costs the next audit time and nothing else."""
    for result in examined:
        is_complete = result.share is not None and result.examined == 1.0 and not result.why
        key = _key(part, context, result.job) if is_complete else ""
        if not key:
            continue
        try:
            cache.store(key, {"examination": to_json(result)}, {})
        except StorageError:
            return


def _key(part: AuditPart, context: AuditContext, job: str) -> str:
    """The key of an examination; "" where not all that decides it can be known, as of cases without a turn."""
    subject = context.subjects.get(job)
    left = context.clean.get(job, JobVerdicts()).left
    digest = results.subject_digest(subject) if isinstance(subject, Subject) and not left else ""
    if not isinstance(subject, Subject) or not digest:
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
    """
    start = time.monotonic()
    planned = plan.make(project, request.selectors, keep_going=True)
    jobs = tuple(AuditedJob(name, tuple(some)) for name, some in experiment.by_job(planned.cases).items())
    with storage.scratch() as scratch, StopSignal() as stop:
        end = start + request.budget_s
        context = AuditContext(project, scratch, end, listen=listen)
        context = replace(context, seed=request.seed, sample=request.sample, fresh=request.fresh)
        done = _with_wrong_jobs(project, planned.broken, _parts(context, jobs, parts, stop))
    graded = [replace(examination.grade_of(job.name, done), why="the job is wrong") for job in planned.broken]
    graded += [examination.grade_of(job.name, done) for job in jobs]
    seconds, is_cut = time.monotonic() - start, any(part_result.interrupted for part_result in done)
    return AuditReport(
        version=VERSION,
        grade=examination.lowest(graded),
        grades=tuple(graded),
        parts=tuple(done),
        budget_s=request.budget_s,
        seconds=seconds,
        interrupted=is_cut,
        notes=planned.notes,
    )


def _with_wrong_jobs(
    project: Project, broken: Iterable[plan.BrokenJob], done: Sequence[PartResult]
) -> list[PartResult]:
    """Add the jobs that have no cases to the first part, with their errors."""
    if not done:
        return []
    wrong = []
    for job in broken:
        evidence = (AuditEvidence("wrong", line) for line in error_lines(project, job.errors))
        wrong.append(JobExamination(job.name, 0.0, evidence=tuple(evidence)))
    first, *others = done
    return [replace(first, jobs=(*first.jobs, *wrong)), *others]


def _parts(
    context: AuditContext, jobs: Sequence[AuditedJob], parts: Sequence[AuditPart], stop: StopSignal
) -> list[PartResult]:
    """Examine the jobs by each part in turn; ^C ends the one that it meets, and all behind it."""
    done: list[PartResult] = []
    end, is_stopped = context.until, False
    for part in parts:
        begun = time.monotonic()
        context = replace(context, until=begun + part.time_share * max(0.0, end - begun))
        examined = _examined(part, context, jobs, is_stopped=is_stopped)
        if examined.clean:
            context = replace(
                context, clean=examined.clean, subjects=_subjects(context.project, jobs, examined.clean, end)
            )
        is_stopped = is_stopped or examined.interrupted or stop.is_set
        seconds = time.monotonic() - begun
        done.append(PartResult(part.name, part.points, part.proves, examined.jobs, seconds, is_stopped))
    return done


def _subjects(
    project: Project, jobs: Sequence[AuditedJob], clean: Mapping[str, JobVerdicts], end: float
) -> dict[str, Subject | GpuregressError]:
    """Job → its cases with their programs, or why they cannot be examined further; none where the time is over."""
    found: dict[str, Subject | GpuregressError] = {}
    for job in jobs:
        own = clean[job.name]
        verdicts = {verdict.case: verdict for verdict in (*own.examined, *own.left)}
        if time.monotonic() >= end or not own.examined:
            continue
        try:
            ran = [case for case in job.cases if case.name in verdicts]
            found[job.name] = subjects.of_verdicts(project, job.name, ran, verdicts)
        except GpuregressError as error:
            found[job.name] = error
    return found


def _examined(part: AuditPart, context: AuditContext, jobs: Sequence[AuditedJob], *, is_stopped: bool) -> Examined:
    """Examine, unless there is no time or no job; a part that cannot run is not examined, and says why."""
    known = find_kept(part, context, jobs) if part.is_kept else {}
    left = [job for job in jobs if job.name not in known]
    fresh = _examined_now(part, context, left, is_stopped=is_stopped)
    if part.is_kept:
        keep_examinations(part, context, fresh.jobs)
    of_job = {**known, **{result.job: result for result in fresh.jobs}}
    return replace(fresh, jobs=tuple(of_job[job.name] for job in jobs))


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
        return examination.not_examined(jobs, str(error))

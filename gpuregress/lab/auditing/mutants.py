"""Mutation testing in an audit: small mistakes that no case of a job notices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuregress.foundation import storage
from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.records.audits import AuditEvidence, JobExamination
from gpuregress.gpu.records import replace
from gpuregress.lab.auditing import grades
from gpuregress.lab.auditing.examination import NO_TIME, AuditContext, AuditedJob, AuditPart, Examined
from gpuregress.lab.mutating import turns
from gpuregress.lab.mutating.mutate import MutationReport, TriedMutant
from gpuregress.lab.mutating.states import EQUIVALENT
from gpuregress.lab.mutating.subject import NothingNoticed, Subject
from gpuregress.lab.mutating.turns import JobTurns


def examine(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Try mutants of all jobs in turns; the points are the mutation score."""
    done: dict[str, JobExamination] = {}
    tried: dict[str, JobTurns] = {}
    for job in jobs:
        try:
            tried[job.name] = turns.of_subject(_subject(context, job), context.seed, context.listen, context.sample)
        except GpuregressError as error:
            done[job.name] = _refused(job.name, error)
    with storage.scratch() as scratch:
        is_cut = turns.run([*tried.values()], context.until, scratch, context.listen, fresh=context.fresh)
    for name, one in tried.items():
        done[name] = _examined(name, one, context.seed, interrupted=is_cut)
    return Examined(tuple(done[job.name] for job in jobs), is_cut)


def _subject(context: AuditContext, job: AuditedJob) -> Subject:
    subject = context.subjects.get(job.name, NotRun(context.why_not_run(job)))
    if isinstance(subject, Subject):
        return subject
    raise subject


class NotRun(GpuregressError):
    """The cases of a job have not run as they are."""


def _examined(job: str, one: JobTurns, seed: int, *, interrupted: bool) -> JobExamination:
    if one.error is not None:
        return _refused(job, one.error)
    return judged(job, turns.report(one, seed, interrupted=interrupted))


def _refused(job: str, error: GpuregressError) -> JobExamination:
    """Examine a job whose mutants cannot be tried; where nothing can notice one, it has no points."""
    if isinstance(error, NothingNoticed):
        return JobExamination(job, 0.0, evidence=(AuditEvidence("unnoticed", str(error)),))
    return JobExamination(job, None, why=str(error))


def judged(job: str, report: MutationReport) -> JobExamination:
    """Examine a job by the report of its mutants: a sample is judged as a sample."""
    text = f"{report.tried} of {report.mutants} mutants tried"
    is_sample = report.tried < report.mutants
    why = "interrupted" if is_sample and report.interrupted else NO_TIME if not report.tried else ""
    noticed, alive = _counts(report)
    counted = noticed + alive
    if not counted:
        why = why or "no mutant counts: all that were tried are the same program, or not valid"
        return JobExamination(job, None, done=text, why=why, applies=is_sample)
    one = JobExamination(job, noticed / counted, 1.0, text, why)
    if is_sample:
        left = report.mutants - report.tried
        one = replace(
            one,
            examined=min(1.0, counted / min(turns.SAMPLE, counted + left)),
            interval=grades.interval(noticed, counted),
        )
    return replace(one, evidence=tuple(_evidence(report, one)))


def _counts(report: MutationReport) -> tuple[int, int]:
    """The mutants that were noticed, and those that were not."""
    return len(report.killed) + len(report.timed_out), len(_alive(report))


def _alive(report: MutationReport) -> list[TriedMutant]:
    return [one for one in report.survived if one.reason not in EQUIVALENT]


def _evidence(report: MutationReport, examined: JobExamination) -> Iterator[AuditEvidence]:
    noticed, alive = _counts(report)
    text = f"{noticed} of {noticed + alive} mutants are noticed"
    if examined.interval is not None:
        low, high = examined.interval
        text = (
            f"{noticed} of {noticed + alive} sampled mutants are noticed; "
            f"with 95 % confidence {low:.0%} to {high:.0%} of all {report.mutants}"
        )
    yield AuditEvidence("proven", text)
    for one in _alive(report):
        text = f"{one.reason}: {one.operator} in {one.file}:{one.line}: {one.change}"
        hint = (one.hint,) if one.hint else ()
        yield AuditEvidence("unnoticed", text, (*one.diff.splitlines()[2:], *hint))
    tolerated = sum(one.reason == "within the tolerance" for one in _alive(report))
    if 2 * tolerated > alive:
        yield AuditEvidence(
            "unnoticed",
            f"the tolerance lets {tolerated} of {alive} survivors live; "
            f"`gpuregress mutate {report.job}` names the tightest one that holds",
        )


PART = AuditPart(
    "mutants",
    points=25,
    time_share=0.7,
    proves=(
        "The job notices these mistakes of one place each, as the operators of docs/mutation.md make them. "
        "Other mistakes may go unnoticed. Of a sample the first mutants are those that tell most."
    ),
    examine=examine,
)

"""Mutation testing in an audit: small mistakes that no case of a job notices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuregress.errors import GpuregressError, Interrupted
from gpuregress.operations.auditing.examination import NO_TIME, AuditedJob, AuditPart, Budget, Examined
from gpuregress.operations.mutating import mutate
from gpuregress.operations.mutating.mutate import MutateRequest, MutationReport
from gpuregress.project import Project
from gpuregress.records.instrumentation.audits import AuditEvidence, JobExamination

_ENOUGH = 10
"""Mutants of a job that count as a sample of all."""


def examine(project: Project, jobs: Sequence[AuditedJob], budget: Budget) -> Examined:
    """Try mutants of each job in its turn; the points are the mutation score."""
    done: list[JobExamination] = []
    for job, until in zip(jobs, budget.slices(len(jobs)), strict=True):
        if not budget.left_s:
            done.append(JobExamination(job.name, None, why=NO_TIME))
            continue
        try:
            request = MutateRequest(job.path, until=until)
            report = mutate.mutate(project, request, listen=budget.listen, machinery=budget.machinery)
        except Interrupted:
            return _interrupted(jobs, done)
        except GpuregressError as error:
            done.append(JobExamination(job.name, None, why=str(error)))
            continue
        done.append(judged(job.name, report))
        if report.interrupted:
            return _interrupted(jobs, done)
    return Examined(tuple(done))


def _interrupted(jobs: Sequence[AuditedJob], done: Sequence[JobExamination]) -> Examined:
    rest = (JobExamination(job.name, None, why="interrupted") for job in jobs[len(done) :])
    return Examined((*done, *rest), interrupted=True)


def judged(job: str, report: MutationReport) -> JobExamination:
    """Examine a job by the report of its mutants."""
    text = f"{report.tried} of {report.mutants} mutants tried"
    left = "interrupted" if report.interrupted else "the budget did not allow more"
    why = left if report.tried < report.mutants else ""
    if report.score is None:
        return JobExamination(
            job, None, done=text, why=why or "no mutant counts: all are the same program, or not valid"
        )
    examined = min(1.0, report.tried / min(_ENOUGH, report.mutants))
    return JobExamination(job, report.score, examined, text, why, tuple(_evidence(report)))


def _evidence(report: MutationReport) -> Iterator[AuditEvidence]:
    noticed = len(report.killed) + len(report.timed_out)
    alive = [one for one in report.survived if one.reason != "equal PTX"]
    yield AuditEvidence("proven", f"{noticed} of {noticed + len(alive)} mutants are noticed")
    for one in alive:
        text = f"{one.reason}: {one.operator} in {one.file}:{one.line}: {one.change}"
        hint = (one.hint,) if one.hint else ()
        yield AuditEvidence("unnoticed", text, (*one.diff.splitlines()[2:], *hint))
    for line in report.tolerance:
        yield AuditEvidence("unnoticed", line)


PART = AuditPart(
    "mutants",
    points=30,
    time_share=1.0,
    proves=(
        "The job notices these mistakes of one place each, as the operators of docs/mutation.md make them. "
        "Other mistakes may go unnoticed. Of a sample the first mutants are those that tell most."
    ),
    examine=examine,
)

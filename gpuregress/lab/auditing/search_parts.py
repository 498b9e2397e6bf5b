"""Parts of an audit that try other programs, inputs and precisions: mutants, edges, accuracy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.records import Case, RunSummary
from gpuregress.foundation.records.audits import AuditEvidence, JobExamination
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.spec import load
from gpuregress.lab import accuracy
from gpuregress.lab.auditing import examination
from gpuregress.lab.auditing.examination import (
    INTERRUPTED,
    NO_TIME,
    AuditContext,
    AuditedJob,
    AuditPart,
    Examined,
    JobVerdicts,
)
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.fuzzing import findings
from gpuregress.lab.fuzzing.candidates import Space
from gpuregress.lab.fuzzing.findings import FuzzTrials, PlannedInput
from gpuregress.lab.mutating import mutants, turns
from gpuregress.lab.mutating import subject as subjects
from gpuregress.lab.mutating.campaign import Campaign, MutateRequest, MutationReport, evidence
from gpuregress.lab.mutating.subject import NothingNoticed, Subject
from gpuregress.lab.shrinking.trials import JobFolder


def examine_mutants(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Try mutants of all jobs in turns; the points are the mutation score."""
    done: dict[str, JobExamination] = {}
    campaigns: dict[str, Campaign] = {}
    counts: dict[str, int] = {}
    for job in jobs:
        try:
            subject = _subject(context, job)
            found, texts = subjects.mutants(subject)
        except GpuregressError as error:
            done[job.name] = _refused(job.name, error)
            continue
        counts[job.name] = len(found)
        chosen = mutants.spread(found, context.seed)[: context.sample]
        campaigns[job.name] = Campaign(subject, chosen, texts)
    request = MutateRequest(seed=context.seed, fresh=context.fresh, until=context.until)
    with storage.scratch() as scratch:
        is_cut = turns.run([*campaigns.values()], request, scratch, context.listen)
    for name, campaign in campaigns.items():
        if campaign.error is not None:
            done[name] = _refused(name, campaign.error)
        else:
            done[name] = judge_mutants(name, campaign.report(counts[name], context.seed, campaign.spent_s))
    return Examined(tuple(done[job.name] for job in jobs), is_cut)


def _subject(context: AuditContext, job: AuditedJob) -> Subject:
    subject = context.subjects.get(job.name, NotRun(context.why_not_run(job)))
    if isinstance(subject, Subject):
        return subject
    raise subject


class NotRun(GpuregressError):
    """The cases of a job have not run as they are."""


def _refused(job: str, error: GpuregressError) -> JobExamination:
    """Examine a job whose mutants cannot be tried; where nothing can notice one, it has no points."""
    if isinstance(error, NothingNoticed):
        return JobExamination(job, 0.0, evidence=(AuditEvidence("unnoticed", str(error)),))
    return JobExamination(job, None, why=str(error))


def judge_mutants(job: str, report: MutationReport) -> JobExamination:
    """Examine a job by the report of its mutants: a sample is judged as a sample."""
    text = f"{report.tried} of {report.mutants} mutants tried"
    is_sample = report.tried < report.mutants
    why = ""
    if is_sample and report.interrupted:
        why = INTERRUPTED
    elif not report.tried:
        why = NO_TIME
    counted = report.noticed + len(report.alive)
    if not counted:
        why = why or "no mutant counts: all that were tried are the same program, or not valid"
        return JobExamination(job, None, done=text, why=why, applies=is_sample)
    interval = None
    examined = 1.0
    if is_sample:
        left = report.mutants - report.tried
        examined = min(1.0, counted / min(turns.SAMPLE, counted + left))
        interval = examination.interval(report.noticed, counted)
    return JobExamination(
        job=job,
        share=report.noticed / counted,
        examined=examined,
        done=text,
        why=why,
        evidence=tuple(evidence(report, interval)),
        interval=interval,
    )


MUTANTS = AuditPart(
    "mutants",
    points=25,
    time_share=0.7,
    proves=(
        "The job notices these mistakes of one place each, as the operators of docs/how-to/mutation.md make them. "
        "Other mistakes may go unnoticed. A sample tries the most telling mutants first."
    ),
    examine=examine_mutants,
)


_INPUTS = 12
"""Inputs of a job."""
_SCHEDULES = 2


class _JobInputs(Record):
    """The inputs of a job that are tried, and what judges them."""

    trials: FuzzTrials
    planned: tuple[PlannedInput, ...]


def examine_fuzz(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Run edges of each job, one of each in turn; the points are all, or none where an input fails."""
    done: dict[str, JobExamination] = {}
    inputs: dict[str, _JobInputs] = {}
    for job in jobs:
        planned = _inputs(context, job)
        if isinstance(planned, JobExamination):
            done[job.name] = planned
        else:
            inputs[job.name] = planned
    interrupted = False
    if inputs:
        of_jobs = [[planned_input.case for planned_input in job_inputs.planned] for job_inputs in inputs.values()]
        summary = examination.run(context, examination.in_turns(of_jobs), baselines=context.scratch / "none")
        interrupted = summary.interrupted
        for name, job_inputs in inputs.items():
            done[name] = _examine_inputs(name, job_inputs, summary)
    return Examined(tuple(done[job.name] for job in jobs), interrupted)


def _inputs(context: AuditContext, job: AuditedJob) -> _JobInputs | JobExamination:
    """Plan the edges of a job; else why there are none."""
    cases = context.usable(job)
    if not cases:
        return JobExamination(job.name, None, why=context.why_unusable(job))
    if not context.left_s:
        return JobExamination(job.name, None, why=NO_TIME)
    folder = JobFolder(context.project, Path(job.cases[0].path), RunOptions("cpu"), context.scratch / "fuzz")
    try:
        space = Space(load.load_file(folder.path).document.data, cases, schedules=_SCHEDULES)
    except GpuregressError as error:
        return JobExamination(job.name, None, why=str(error))
    trials = FuzzTrials(space, folder)
    planned: list[PlannedInput] = []
    for candidate in space.edges():
        planned_input = trials.plan(candidate)
        if planned_input is not None:
            planned.append(planned_input)
        if len(planned) == _INPUTS:
            break
    if not planned:
        return examination.does_not_apply(job.name, "it has no inputs that may be others")
    return _JobInputs(trials, tuple(planned))


def _examine_inputs(job: str, inputs: _JobInputs, summary: RunSummary) -> JobExamination:
    unfinished = set(summary.unfinished)
    verdicts = {verdict.case: verdict for verdict in summary.verdicts if verdict.case not in unfinished}
    tried = []
    left = 0
    for planned_input in inputs.planned:
        name = planned_input.case.name
        tried.append(inputs.trials.judged(planned_input, verdicts.get(name)))
        if name in unfinished:
            left += 1
    states = Counter(trial.state for trial in tried)
    ran = states["passed"] + states["failed"]
    why = ""
    done = f"{ran} inputs"
    if left:
        why = INTERRUPTED if summary.interrupted else NO_TIME
        done = f"{ran} of {ran + left} inputs"
    if not ran:
        return JobExamination(job, None, why=why or "no input could be run")
    examined = JobExamination(
        job=job,
        share=1.0,
        examined=ran / (ran + left),
        done=done,
        why=why,
        evidence=tuple(findings.evidence(job, tried, _SCHEDULES)),
    )
    if states["failed"]:
        return replace(examined, share=0.0, examined=1.0)
    return examined


FUZZ = AuditPart(
    "fuzz",
    points=10,
    time_share=0.7,
    proves=(
        "These inputs at the edges, which the cases do not have, give no wrong result under two schedules. "
        "Without a reference in the job, only faults, checks and schedules show a wrong result."
    ),
    examine=examine_fuzz,
    needs_results=True,
    is_kept=True,
)


def examine_accuracy(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Run the fastest case of each job in higher precision; there are no points for it."""
    done: dict[str, JobExamination] = {}
    fastest: dict[str, Case] = {}
    for job in jobs:
        cases = context.usable(job)
        if cases:
            fastest[job.name] = min(cases, key=context.clean_s)
        else:
            done[job.name] = JobExamination(job.name, None, why=context.why_unusable(job))
    interrupted = False
    if fastest:
        ordered = sorted(fastest.values(), key=context.clean_s)
        summary = examination.run(context, [accuracy.watched(case) for case in ordered])
        interrupted = summary.interrupted
        verdicts = examination.by_job(summary, jobs)
        for name in fastest:
            done[name] = _judge_accuracy(context, name, verdicts[name])
    return Examined(tuple(done[job.name] for job in jobs), interrupted)


def _judge_accuracy(context: AuditContext, job: str, verdicts: JobVerdicts) -> JobExamination:
    if not verdicts.examined:
        return JobExamination(job, None, why=verdicts.why_left or NO_TIME)
    verdict = verdicts.examined[0]
    if verdict.outcome is None or verdict.outcome.state != "done":
        return JobExamination(job, None, why=verdicts.why_left or verdict.headline)
    result_accuracy = accuracy.of(verdict)
    if result_accuracy is None or not any(buffer.tracked for buffer in result_accuracy.buffers):
        return examination.does_not_apply(job, "it has no floating-point result that can be followed")
    evidence = tuple(accuracy.evidence([verdict], context.project.root))
    return JobExamination(job, 1.0, done=verdict.case, evidence=evidence)


ACCURACY = AuditPart(
    "accuracy",
    points=0,
    time_share=1.0,
    proves="The errors of the fastest case of each job by rounding. It has no points: a job says which errors matter.",
    examine=examine_accuracy,
    needs_results=True,
    is_kept=True,
)

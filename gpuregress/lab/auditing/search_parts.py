"""Parts of an audit that try other programs, inputs and precisions: mutants, edges, accuracy."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.frozen import dataclass
from gpuregress.foundation.records import Case, ResultAccuracy, RunSummary
from gpuregress.foundation.records.audits import AuditEvidence, JobExamination
from gpuregress.jobs.spec import load
from gpuregress.lab import accuracy
from gpuregress.lab.auditing import examination
from gpuregress.lab.auditing.examination import (
    EXPECTS_FAULT,
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
from gpuregress.lab.fuzzing.findings import FuzzTrials, PlannedInput, Tried
from gpuregress.lab.mutating import turns
from gpuregress.lab.mutating.mutate import MutationReport, TriedMutant
from gpuregress.lab.mutating.subject import NothingNoticed, Subject
from gpuregress.lab.mutating.trials import EQUIVALENT
from gpuregress.lab.mutating.turns import JobTurns
from gpuregress.lab.shrinking.trials import JobFolder


def examine_mutants(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
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
        done[name] = _examine_turns(name, one, context.seed, interrupted=is_cut)
    return Examined(tuple(done[job.name] for job in jobs), is_cut)


def _subject(context: AuditContext, job: AuditedJob) -> Subject:
    subject = context.subjects.get(job.name, NotRun(context.why_not_run(job)))
    if isinstance(subject, Subject):
        return subject
    raise subject


class NotRun(GpuregressError):
    """The cases of a job have not run as they are."""


def _examine_turns(job: str, one: JobTurns, seed: int, *, interrupted: bool) -> JobExamination:
    if one.error is not None:
        return _refused(job, one.error)
    return judge_mutants(job, turns.report(one, seed, interrupted=interrupted))


def _refused(job: str, error: GpuregressError) -> JobExamination:
    """Examine a job whose mutants cannot be tried; where nothing can notice one, it has no points."""
    if isinstance(error, NothingNoticed):
        return JobExamination(job, 0.0, evidence=(AuditEvidence("unnoticed", str(error)),))
    return JobExamination(job, None, why=str(error))


def judge_mutants(job: str, report: MutationReport) -> JobExamination:
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
        one = dataclasses.replace(
            one,
            examined=min(1.0, counted / min(turns.SAMPLE, counted + left)),
            interval=examination.interval(noticed, counted),
        )
    return dataclasses.replace(one, evidence=tuple(_mutant_evidence(report, one)))


def _counts(report: MutationReport) -> tuple[int, int]:
    """The mutants that were noticed, and those that were not."""
    return len(report.killed) + len(report.timed_out), len(_alive(report))


def _alive(report: MutationReport) -> list[TriedMutant]:
    return [one for one in report.survived if one.reason not in EQUIVALENT]


def _mutant_evidence(report: MutationReport, examined: JobExamination) -> Iterator[AuditEvidence]:
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


MUTANTS = AuditPart(
    "mutants",
    points=25,
    time_share=0.7,
    proves=(
        "The job notices these mistakes of one place each, as the operators of docs/mutation.md make them. "
        "Other mistakes may go unnoticed. Of a sample the first mutants are those that tell most."
    ),
    examine=examine_mutants,
)


_INPUTS = 12
"""Inputs of a job."""
_SCHEDULES = 2


@dataclass(frozen=True, slots=True)
class _JobInputs:
    """The inputs of a job that are tried, and what judges them."""

    trials: FuzzTrials
    planned: tuple[PlannedInput, ...]


def examine_fuzz(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Run edges of each job, one of each in turn; the points are all, or none where an input fails."""
    done: dict[str, JobExamination] = {}
    inputs: dict[str, _JobInputs] = {}
    for job in jobs:
        found = _inputs(context, job)
        if isinstance(found, JobExamination):
            done[job.name] = found
        else:
            inputs[job.name] = found
    turns = zip_longest(*(one.planned for one in inputs.values()))
    planned = [one.case for turn in turns for one in turn if one is not None]
    summary = examination.run(context, planned, baselines=context.scratch / "none") if planned else None
    for name, one in inputs.items():
        done[name] = _examine_inputs(name, one, summary)
    return Examined(tuple(done[job.name] for job in jobs), summary is not None and summary.interrupted)


def _inputs(context: AuditContext, job: AuditedJob) -> _JobInputs | JobExamination:
    """Plan the edges of a job; else why there are none."""
    cases = context.usable(job)
    if job.expects_fault:
        return examination.does_not_apply(job.name, EXPECTS_FAULT)
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
    planned = (trials.plan(candidate) for candidate in space.edges())
    some = tuple(islice((one for one in planned if one is not None), _INPUTS))
    if not some:
        return examination.does_not_apply(job.name, "it has no inputs that may be others")
    return _JobInputs(trials, some)


def _examine_inputs(job: str, inputs: _JobInputs, summary: RunSummary | None) -> JobExamination:
    assert summary is not None
    late = set(summary.unfinished)
    verdicts = {one.case: one for one in summary.verdicts if one.case not in late}
    tried = [inputs.trials.judged(one, verdicts.get(one.case.name)) for one in inputs.planned]
    states = Counter(one.state for one in tried)
    ran = states["passed"] + states["failed"]
    left = sum(one.case.name in late for one in inputs.planned)
    why = (INTERRUPTED if summary.interrupted else NO_TIME) if left else ""
    if not ran:
        return JobExamination(job, None, why=why or "no input could be run")
    evidence = [_failure(job, *one) for one in findings.grouped([one for one in tried if one.state == "failed"])]
    if states["passed"]:
        evidence.append(AuditEvidence("proven", _passed(states["passed"], inputs.planned[0].case)))
    done = f"{ran} of {ran + left} inputs" if left else f"{ran} inputs"
    if states["failed"]:
        return JobExamination(job, 0.0, 1.0, done, why, tuple(evidence))
    return JobExamination(job, 1.0, ran / (ran + left), done, why, tuple(evidence))


def _passed(count: int, case: Case) -> str:
    """What inputs without a failure prove: wrong numbers show only where something follows the inputs."""
    words = f"{count} other inputs give" if count != 1 else "1 other input gives"
    follows = [name for name in case.references if name not in case.reference_files]
    if follows or case.settings.twins:
        return f"{words} no wrong result"
    checks = ", no failed check" if case.checks else ""
    return f"{words} no fault{checks} and one result under {_SCHEDULES} schedules; no reference judges the numbers"


def _failure(job: str, tried: Tried, also: int) -> AuditEvidence:
    others = f" (and {also} other inputs)" if also else ""
    text = f"with {tried.planned.candidate.words}{others}: {tried.reason}"
    hint = f"`gpuregress fuzz {job}` makes it small and writes a job of it, where the job's own cases do not fail"
    return AuditEvidence("unnoticed", text, (hint,))


FUZZ = AuditPart(
    "fuzz",
    points=10,
    time_share=0.7,
    proves=(
        "These inputs at the edges, which the cases do not have, give no wrong result under two schedules. "
        "Where the job has no reference, faults, checks and schedules tell a wrong result."
    ),
    examine=examine_fuzz,
    is_kept=True,
)


def examine_accuracy(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Run the fastest case of each job in higher precision; there are no points for it."""
    usable = [some for job in jobs if not job.expects_fault and (some := context.usable(job))]
    cases = sorted((min(some, key=context.clean_s) for some in usable), key=context.clean_s)
    summary = examination.run(context, [accuracy.watched(case) for case in cases]) if cases else None
    ran = examination.by_job(summary, jobs) if summary is not None else {}

    def examined(job: AuditedJob) -> JobExamination:
        if job.expects_fault:
            return examination.does_not_apply(job.name, EXPECTS_FAULT)
        if not context.usable(job):
            return JobExamination(job.name, None, why=context.why_unusable(job))
        return _judge_accuracy(context, job.name, ran.get(job.name, JobVerdicts()))

    return Examined(tuple(map(examined, jobs)), summary is not None and summary.interrupted)


def _judge_accuracy(context: AuditContext, job: str, verdicts: JobVerdicts) -> JobExamination:
    one = next(iter(verdicts.examined), None)
    if one is None or one.outcome is None or one.outcome.state != "done":
        return JobExamination(job, None, why=verdicts.why_left or (one.headline if one is not None else NO_TIME))
    found = one.outcome.observations.instruments.accuracy
    if found is None or not any(buffer.tracked for buffer in found.buffers):
        return examination.does_not_apply(job, "it has no floating-point result that can be followed")
    return JobExamination(job, 1.0, 1.0, one.case, "", tuple(_accuracy_evidence(context, one.case, found)))


def _accuracy_evidence(context: AuditContext, case: str, found: ResultAccuracy) -> Iterator[AuditEvidence]:
    for buffer in found.buffers:
        if buffer.not_finite:
            text = f"{case}: {buffer.buffer}: {buffer.not_finite} elements are finite on one side only"
            yield AuditEvidence("luck", f"{text}, in {buffer.dtype} or in {buffer.precision}")
        if buffer.compared and (buffer.largest or not found.restarts):
            text = f"{case}: {buffer.buffer}: errors of at most {buffer.largest:.3g} ulp, median {buffer.median:.3g}"
            left = f"; {buffer.never_finite} results are NaN or infinite" if buffer.never_finite else ""
            yield AuditEvidence("proven", text + left)
    for place in found.cancellations:
        where = f"{os.path.relpath(place.path, context.project.root)}:{place.line}" if place.path else "an unknown line"
        text = f"{case}: looks like catastrophic cancellation at {where}: up to {place.bits} bits lost"
        yield AuditEvidence("luck", text)


ACCURACY = AuditPart(
    "accuracy",
    points=0,
    time_share=1.0,
    proves="The errors of the fastest case of each job by rounding. It has no points: a job says which errors matter.",
    examine=examine_accuracy,
    is_kept=True,
)

"""Inputs at the edges in an audit: those that the cases of a job do not have, run all in one session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice, zip_longest
from pathlib import Path

from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.records import Case, RunSummary
from gpuregress.foundation.records.audits import AuditEvidence, JobExamination
from gpuregress.gpu.records import Record
from gpuregress.jobs.spec import load
from gpuregress.lab.auditing import examination
from gpuregress.lab.auditing.examination import (
    EXPECTS_FAULT,
    INTERRUPTED,
    NO_TIME,
    AuditContext,
    AuditedJob,
    AuditPart,
    Examined,
)
from gpuregress.lab.commits.commit_runs import RunOptions
from gpuregress.lab.fuzzing import findings
from gpuregress.lab.fuzzing.candidates import Space
from gpuregress.lab.fuzzing.trials import FuzzTrials, PlannedInput, Tried
from gpuregress.lab.shrinking.trials import JobFolder

_INPUTS = 12
"""Inputs of a job."""
_SCHEDULES = 2


class _JobInputs(Record):
    """The inputs of a job that are tried, and what judges them."""

    trials: FuzzTrials
    planned: tuple[PlannedInput, ...]


def examine(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
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
        done[name] = _examined(name, one, summary)
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


def _examined(job: str, inputs: _JobInputs, summary: RunSummary | None) -> JobExamination:
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


PART = AuditPart(
    "fuzz",
    points=10,
    time_share=0.7,
    proves=(
        "These inputs at the edges, which the cases do not have, give no wrong result under two schedules. "
        "Where the job has no reference, faults, checks and schedules tell a wrong result."
    ),
    examine=examine,
    is_kept=True,
)

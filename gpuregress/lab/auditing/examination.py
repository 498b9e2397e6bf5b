"""Examination of jobs by a part of an audit: the jobs, the time, the runs that it makes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from msgspec import field

from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.records import Case, RunSummary, Verdict
from gpuregress.foundation.records.audits import AuditEvidence, JobExamination
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import plan
from gpuregress.judge import verdict, write_coverage
from gpuregress.lab.mutating.subject import Subject
from gpuregress.session import session
from gpuregress.session.events import Listener, ignore
from gpuregress.session.run_request import Machinery, RunRequest
from gpuregress.store.project import Project

NO_TIME = "the budget was spent before its turn"
INTERRUPTED = "interrupted"
EXPECTS_FAULT = "it expects a fault"


class AuditedJob(Record):
    """A job under audit.

    Attributes:
        name: its name.
        cases: of the job, in the order of the plan.
    """

    name: str
    cases: tuple[Case, ...] = ()

    @property
    def expects_fault(self) -> bool:
        """Whether each of its cases must end with a fault."""
        return bool(self.cases) and all(case.expect_fault is not None for case in self.cases)


class JobVerdicts(Record):
    """The verdicts of a job's cases.

    Attributes:
        examined: those that ran.
        left: those that did not: skipped, or without a turn.
    """

    examined: tuple[Verdict, ...] = ()
    left: tuple[Verdict, ...] = ()

    @property
    def why_left(self) -> str:
        """The reasons of those that did not run."""
        reasons: dict[str, list[str]] = {}
        for one in self.left:
            reasons.setdefault(one.reason, []).append(one.case)
        return "; ".join(
            f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {reason}"
            for reason, names in reasons.items()
        )


class AuditContext(Record):
    """What the parts of an audit share.

    Attributes:
        project: whose.
        scratch: a folder that is there until the audit ends.
        until: when nothing more of the part begins, seconds of time.monotonic.
        clean: job → the verdicts of its cases as they are, once the first part has run.
        subjects: job → its unchanged cases and programs, where all pass; or why they cannot be a subject.
        seed: of the order of mutants.
        sample: the most mutants of a job; None: as many as the time allows.
        fresh: whether results of earlier audits are left alone.
        listen: receives the events of the runs.
        machinery: for tests.
    """

    project: Project
    scratch: Path
    until: float
    clean: Mapping[str, JobVerdicts] = field(default_factory=dict)
    subjects: Mapping[str, Subject | GpuregressError] = field(default_factory=dict)
    seed: int = 0
    sample: int | None = None
    fresh: bool = False
    listen: Listener = ignore
    machinery: Machinery | None = None

    @property
    def left_s(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self.until - time.monotonic())

    def usable(self, job: AuditedJob) -> tuple[Case, ...]:
        """The cases that ran as they are and did not fail; none where one failed, or wrote nothing."""
        ran = {one.case: one.status for one in self._clean(job).examined}
        is_good = all(status in ("pass", "new", "skip") for status in ran.values()) and not self._idle(job)
        return tuple(case for case in job.cases if ran.get(case.name) in ("pass", "new")) if is_good else ()

    def why_unusable(self, job: AuditedJob) -> str:
        """Why a job has no usable case."""
        if idle := self._idle(job):
            return f"{idle[0].case} writes nothing as it is"
        return "a case of it fails as it is" if self._clean(job).examined else self.why_not_run(job)

    def why_not_run(self, job: AuditedJob) -> str:
        """Why no case of a job ran as it is."""
        own = self._clean(job)
        return NO_TIME if own.examined else own.why_left or NO_TIME

    def _idle(self, job: AuditedJob) -> list[Verdict]:
        """Those of its new cases that wrote nothing: other inputs and orders can prove nothing of them."""
        return [one for one in self._clean(job).examined if one.status == "new" and write_coverage.wrote_nothing(one)]

    def _clean(self, job: AuditedJob) -> JobVerdicts:
        return self.clean.get(job.name, JobVerdicts())

    def clean_s(self, case: Case) -> float:
        """Seconds that a case took as it is; 0 where it has not run."""
        found = (one for one in self.clean.get(case.job, JobVerdicts()).examined if one.case == case.name)
        return next((one.seconds for one in found), 0.0)


class Examined(Record):
    """What a part found.

    Attributes:
        jobs: in the order in which they were given.
        interrupted: whether ^C ended it.
        clean: the verdicts of the cases as they are, of the part that runs them so.
    """

    jobs: tuple[JobExamination, ...]
    interrupted: bool = False
    clean: Mapping[str, JobVerdicts] = field(default_factory=dict)


class AuditPart(Record):
    """A part of an audit.

    Attributes:
        name: in reports.
        points: that a job can reach in it.
        time_share: of the time that is left when its turn comes.
        proves: what it proves where it finds nothing, and what it does not prove.
        examine: examines jobs until the context's time is over.
        is_kept: whether a complete result is kept, by content, for the next audit.
    """

    name: str
    points: int
    time_share: float
    proves: str
    examine: Callable[[AuditContext, Sequence[AuditedJob]], Examined]
    is_kept: bool = False


def not_examined(jobs: Iterable[AuditedJob], why: str, *, interrupted: bool = False) -> Examined:
    """Make the result of a part that could not run."""
    return Examined(tuple(JobExamination(job.name, None, why=why) for job in jobs), interrupted)


def in_rounds(context: AuditContext, jobs: Iterable[AuditedJob]) -> list[Case]:
    """Order cases so that a budget that ends early has examined some of each job: the fastest of each come first."""
    rows = [sorted(job.cases, key=context.clean_s) for job in jobs]
    return [case for turn in zip_longest(*rows) for case in turn if case is not None]


def run(context: AuditContext, cases: Sequence[Case], baselines: Path | None = None, **options: Any) -> RunSummary:
    """Run cases on the CPU device in their order.

    Args:
        context: its time ends the run; cases without a turn are `unfinished`.
        cases: planned.
        baselines: a folder in place of the project's, where they are compared with other results.
        options: further fields of the request.

    Raises:
        Interrupted: ^C.
        GpuregressError: the errors of `session.run`.
    """
    machinery = replace(
        context.machinery or Machinery(), planner=lambda *_arguments, **_options: plan.Plan(tuple(cases))
    )
    request = RunRequest(device="cpu", others_go_on=True, until=context.until, deadline="the audit", **options)
    where = context.project.with_runs(context.scratch / f"runs-{time.monotonic_ns()}")
    if baselines is not None:
        where = replace(where, baselines=baselines, dumps="")
    return session.run(where, request, listen=context.listen, machinery=machinery)


def by_job(summary: RunSummary, jobs: Iterable[AuditedJob]) -> dict[str, JobVerdicts]:
    """Job → the verdicts of its cases, without those whose parameters are infeasible; all of them after ^C, too."""
    late = set(summary.unfinished)
    told = {one.case for one in summary.verdicts}
    found: dict[str, JobVerdicts] = {}
    for job in jobs:
        own = [one for one in summary.verdicts if one.job == job.name and not one.infeasible]
        left = [one for one in own if one.case in late or _did_not_run(one)]
        cut = [verdict.skipped(case, INTERRUPTED) for case in job.cases if case.name in late - told]
        found[job.name] = JobVerdicts(tuple(one for one in own if one not in left), (*left, *cut))
    return found


def _did_not_run(one: Verdict) -> bool:
    """Whether a case was skipped, or needs what the CPU device does not support."""
    error = one.outcome.observations.error if one.outcome is not None else ""
    return (one.status == "skip" and one.known is None) or (one.status == "error" and error == "UnsupportedError")


def of_cases(
    jobs: Sequence[AuditedJob], summary: RunSummary, judge: Callable[[AuditedJob, JobVerdicts], JobExamination]
) -> Examined:
    """Examine jobs by the cases of a run.

    Args:
        jobs: that were run.
        summary: of the run.
        judge: examines a job of which at least one case ran.
    """
    verdicts = by_job(summary, jobs)
    why = INTERRUPTED if summary.interrupted else "no case of it ran"

    def examined(job: AuditedJob) -> JobExamination:
        own = verdicts[job.name]
        if own.examined:
            return judge(job, own)
        return JobExamination(job.name, None, why=own.why_left or why)

    return Examined(tuple(map(examined, jobs)), summary.interrupted)


def of_share(job: str, verdicts: JobVerdicts, good: int, evidence: Sequence[AuditEvidence]) -> JobExamination:
    """Make the examination of a job whose points are the share of its cases that are good."""
    ran = len(verdicts.examined)
    total = ran + len(verdicts.left)
    done = f"{ran} of {total} case{'s' if total != 1 else ''}"
    return JobExamination(job, good / ran, ran / total, done, verdicts.why_left, tuple(evidence))


def does_not_apply(job: str, why: str) -> JobExamination:
    """Make the examination of a job that a part says nothing about: its points are not among those it can reach."""
    return JobExamination(job, None, why=why, applies=False)

"""Examination of jobs by a part of an audit: the jobs, the time, the runs that it makes, the grades."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from msgspec import field

from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.records import Case, RunSummary, Verdict
from gpuregress.foundation.records.audits import AuditEvidence, JobExamination, JobGrade, PartResult
from gpuregress.foundation.wording import first_names
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import plan
from gpuregress.judge import verdict, write_coverage
from gpuregress.lab import experiment
from gpuregress.lab.mutating.subject import Subject
from gpuregress.session import session
from gpuregress.session.events import Listener, ignore
from gpuregress.session.run_request import RunRequest
from gpuregress.store.project import Project

NO_TIME = "the budget was spent before its turn"
INTERRUPTED = "interrupted"


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

    def limited_to(self, examined: Sequence[Verdict]) -> JobVerdicts:
        """Return the same where only some of the cases that ran count as examined."""
        others = [verdict for verdict in self.examined if verdict not in examined]
        return JobVerdicts(tuple(examined), (*self.left, *others))

    @property
    def why_left(self) -> str:
        """The reasons of those that did not run."""
        reasons: dict[str, list[str]] = {}
        for reached in self.left:
            reasons.setdefault(reached.reason, []).append(reached.case)
        return "; ".join(f"{first_names(names, 1)}: {reason}" for reason, names in reasons.items())


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

    @property
    def left_s(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self.until - time.monotonic())

    def usable(self, job: AuditedJob) -> tuple[Case, ...]:
        """The cases that ran as they are and did not fail; none where one failed, or wrote nothing."""
        statuses = {verdict.case: verdict.status for verdict in self._clean(job.name).examined}
        is_good = all(status in ("pass", "new", "skip") for status in statuses.values())
        if not is_good or self._idle(job):
            return ()
        return tuple(case for case in job.cases if statuses.get(case.name) in ("pass", "new"))

    def why_unusable(self, job: AuditedJob) -> str:
        """Why a job has no usable case."""
        idle = self._idle(job)
        if idle:
            return f"{idle[0].case} writes nothing as it is"
        if self._clean(job.name).examined:
            return "a case of it fails as it is"
        return self.why_not_run(job)

    def why_not_run(self, job: AuditedJob) -> str:
        """Why no case of a job ran as it is."""
        verdicts = self._clean(job.name)
        if verdicts.examined:
            return NO_TIME
        return verdicts.why_left or NO_TIME

    def _idle(self, job: AuditedJob) -> list[Verdict]:
        """Return its new cases that wrote nothing: other inputs and orders can prove nothing of them."""
        new = [verdict for verdict in self._clean(job.name).examined if verdict.status == "new"]
        return [verdict for verdict in new if write_coverage.wrote_nothing(verdict)]

    def _clean(self, job: str) -> JobVerdicts:
        return self.clean.get(job, JobVerdicts())

    def clean_s(self, case: Case) -> float:
        """Seconds that a case took as it is; 0 where it has not run."""
        for reached in self._clean(case.job).examined:
            if reached.case == case.name:
                return reached.seconds
        return 0.0


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
        needs_results: whether it says nothing of a job that expects a fault, after which nothing is executed.
    """

    name: str
    points: int
    time_share: float
    proves: str
    examine: Callable[[AuditContext, Sequence[AuditedJob]], Examined]
    is_kept: bool = False
    needs_results: bool = False


def not_examined(jobs: Iterable[AuditedJob], why: str, *, interrupted: bool = False) -> Examined:
    """Make the result of a part that could not run."""
    return Examined(tuple(JobExamination(job.name, None, why=why) for job in jobs), interrupted)


def in_rounds(context: AuditContext, jobs: Iterable[AuditedJob]) -> list[Case]:
    """Order cases so that a budget that ends early has examined some of each job: the fastest of each come first."""
    return in_turns([sorted(job.cases, key=context.clean_s) for job in jobs])


def in_turns(cases: Iterable[Sequence[Case]]) -> list[Case]:
    """Merge the cases of several jobs: the first of each, then the second of each, and so on."""
    ordered: list[Case] = []
    for turn in zip_longest(*cases):
        ordered += [case for case in turn if case is not None]
    return ordered


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
    request = RunRequest(device="cpu", until=context.until, deadline="the audit", **options)
    runs = context.scratch / f"runs-{time.monotonic_ns()}"
    where = experiment.scratch_project(context.project, runs, baselines)
    return session.run(where, plan.Plan(tuple(cases)), request, listen=context.listen)


def by_job(summary: RunSummary, jobs: Iterable[AuditedJob]) -> dict[str, JobVerdicts]:
    """Job → the verdicts of its cases, without those whose parameters are infeasible; all of them after ^C, too."""
    unfinished = set(summary.unfinished)
    without_verdict = unfinished - {reached.case for reached in summary.verdicts}
    verdicts: dict[str, JobVerdicts] = {}
    for job in jobs:
        examined: list[Verdict] = []
        left: list[Verdict] = []
        for reached in summary.verdicts:
            if reached.job != job.name or reached.infeasible:
                continue
            if reached.case in unfinished or _did_not_run(reached):
                left.append(reached)
            else:
                examined.append(reached)
        left += [verdict.skipped(case, INTERRUPTED) for case in job.cases if case.name in without_verdict]
        verdicts[job.name] = JobVerdicts(tuple(examined), tuple(left))
    return verdicts


def _did_not_run(reached: Verdict) -> bool:
    """Whether a case was skipped, or needs what the CPU device does not support."""
    if reached.status == "skip":
        return reached.known is None
    outcome = reached.outcome
    return reached.status == "error" and outcome is not None and outcome.observations.error == "UnsupportedError"


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

    results = []
    for job in jobs:
        of_job = verdicts[job.name]
        if of_job.examined:
            results.append(judge(job, of_job))
        else:
            results.append(JobExamination(job.name, None, why=of_job.why_left or why))
    return Examined(tuple(results), summary.interrupted)


def of_share(job: str, verdicts: JobVerdicts, good: int, evidence: Sequence[AuditEvidence]) -> JobExamination:
    """Make the examination of a job whose points are the share of its cases that are good."""
    ran = len(verdicts.examined)
    total = ran + len(verdicts.left)
    return JobExamination(
        job=job,
        share=good / ran,
        examined=ran / total,
        done=f"{ran} of {total} case{'s' if total != 1 else ''}",
        why=verdicts.why_left,
        evidence=tuple(evidence),
    )


def does_not_apply(job: str, why: str) -> JobExamination:
    """Make the examination of a job that a part says nothing about: its points are not among those it can reach."""
    return JobExamination(job, None, why=why, applies=False)


STEPS = (("A", 0.9), ("B", 0.8), ("C", 0.7), ("D", 0.6), ("F", 0.0))
"""Grade → the least share of the points, the best first."""
GRADES = tuple(letter for letter, _ in STEPS)
_Z = 1.96
"""The quantile of the normal distribution for an interval of 95 % confidence."""


def letter(share: float) -> str:
    """Return the grade of a share of points."""
    for name, least in STEPS:
        if share >= least - 1e-9:  # a share of 0.9 may be computed as 0.8999…
            return name
    raise AssertionError(share)


def interval(good: int, count: int) -> tuple[float, float]:
    """Return the interval in which the share of all lies, with 95 % confidence, where `good` of a sample are.

    Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
    """
    share, square = good / count, _Z * _Z
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = _Z / (1 + square / count) * math.sqrt(share * (1 - share) / count + square / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def grade_of(job: str, parts: Sequence[PartResult]) -> JobGrade:
    """Grade a job.

    The points of what was examined give the grade. It is no better than the share of the points of all parts that
    apply to the job which could be examined; there is none where that share is an F. Where a case fails, it is F.
    """
    points = low = high = examined = 0.0
    possible = 0
    is_wrong = False
    reasons: dict[str, None] = {}
    for part in parts:
        for result in part.jobs:
            if result.job != job:
                continue
            if result.applies:
                possible += part.points
            if result.why:
                reasons[result.why] = None
            if any(piece.kind == "wrong" for piece in result.evidence):
                is_wrong = True
            if result.share is None or not part.points:
                continue
            reachable = part.points * result.examined
            lower, upper = result.interval or (result.share, result.share)
            examined += reachable
            points += reachable * result.share
            low += reachable * lower
            high += reachable * upper
    graded = JobGrade(job=job, grade="", points=points, examined=examined, possible=possible)
    if not examined:
        return replace(graded, why="; ".join(reasons))
    worst = GRADES[-1]
    if is_wrong:
        return replace(graded, grade=worst, why="a case fails", lowest=worst, highest=worst)
    limit = letter(examined / possible)
    too_little = f"only {examined:.0f} of {possible} points could be examined"
    if limit == worst:
        return replace(graded, why=too_little)
    reached = letter(points / examined)
    if limit > reached:
        graded = replace(graded, why=too_little)
    return replace(
        graded,
        grade=max(reached, limit),
        lowest=max(letter(low / examined), limit),
        highest=max(letter(high / examined), limit),
    )


def lowest(grades: Sequence[JobGrade]) -> str:
    """Return the grade of several jobs: the lowest; "" where one of them has none."""
    letters = [job_grade.grade for job_grade in grades]
    if not all(letters):
        return ""
    return max(letters, default="")


def below(grades: Sequence[JobGrade], least: str) -> list[JobGrade]:
    """Return the jobs whose grade is lower than `least`, and those that have none."""
    return [job_grade for job_grade in grades if not job_grade.grade or job_grade.grade > least]

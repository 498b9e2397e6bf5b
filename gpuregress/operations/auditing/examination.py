"""Examination of jobs by a part of an audit, with its budget and its runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from gpuregress import storage
from gpuregress.frozen import dataclass
from gpuregress.project import Project
from gpuregress.records import RunSummary, Verdict
from gpuregress.records.instrumentation.audits import AuditEvidence, JobExamination
from gpuregress.session import session
from gpuregress.session.events import Listener, ignore
from gpuregress.session.run_request import Machinery, RunRequest

NO_TIME = "the budget was spent before its turn"


@dataclass(frozen=True, slots=True)
class AuditedJob:
    """A job under audit, by its file: a name alone would not find a job outside of the project's folder."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Budget:
    """The time of one part, and what its runs need.

    Attributes:
        until: when nothing more begins, seconds of time.monotonic.
        listen: receives the events of the runs.
        machinery: for tests.
    """

    until: float
    listen: Listener = ignore
    machinery: Machinery | None = None

    @property
    def left_s(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self.until - time.monotonic())

    def slices(self, count: int) -> Iterator[float]:
        """The end of each of several turns; what one leaves is shared by those behind it."""
        for left in range(count, 0, -1):
            yield time.monotonic() + self.left_s / left


@dataclass(frozen=True, slots=True)
class Examined:
    """What a part found.

    Attributes:
        jobs: in the order in which they were given.
        interrupted: whether ^C ended it.
    """

    jobs: tuple[JobExamination, ...]
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class AuditPart:
    """A part of an audit.

    Attributes:
        name: in reports.
        points: that a job can reach in it.
        time_share: of the time that is left when its turn comes.
        proves: what it proves where it finds nothing, and what it does not prove.
        examine: examines jobs within a budget.
    """

    name: str
    points: int
    time_share: float
    proves: str
    examine: Callable[[Project, Sequence[AuditedJob], Budget], Examined]


def not_examined(jobs: Iterable[AuditedJob], why: str, *, interrupted: bool = False) -> Examined:
    """Make the result of a part that could not run."""
    return Examined(tuple(JobExamination(job.name, None, why=why) for job in jobs), interrupted)


def run(project: Project, jobs: Sequence[AuditedJob], budget: Budget, **options: Any) -> RunSummary:
    """Run all cases of jobs on the CPU device. The run leaves nothing behind.

    Args:
        project: whose.
        jobs: which.
        budget: ends the run; cases without a turn are `unfinished`.
        options: further fields of the request.

    Raises:
        Interrupted: ^C.
        GpuregressError: the errors of `session.run`.
    """
    selectors = tuple(job.path for job in jobs)
    request = RunRequest(
        selectors, device="cpu", others_go_on=True, until=budget.until, deadline="the audit", **options
    )
    with storage.scratch() as scratch:
        return session.run(
            project.with_runs(scratch / "audit"), request, listen=budget.listen, machinery=budget.machinery
        )


@dataclass(frozen=True, slots=True)
class JobVerdicts:
    """The verdicts of a job's cases.

    Attributes:
        examined: those that ran.
        left: those that did not: skipped, or without a turn.
    """

    examined: tuple[Verdict, ...]
    left: tuple[Verdict, ...]

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


def by_job(summary: RunSummary, jobs: Iterable[AuditedJob]) -> dict[str, JobVerdicts]:
    """Job → the verdicts of its cases, without those whose parameters are infeasible."""
    late = set(summary.unfinished)
    found: dict[str, JobVerdicts] = {}
    for job in jobs:
        own = [one for one in summary.verdicts if one.job == job.name and not one.infeasible]
        left = [one for one in own if one.case in late or _did_not_run(one)]
        found[job.name] = JobVerdicts(tuple(one for one in own if one not in left), tuple(left))
    return found


def _did_not_run(one: Verdict) -> bool:
    """Whether a case was skipped, or needs what the CPU device does not support."""
    error = one.outcome.observations.error if one.outcome is not None else ""
    return (one.status == "skip" and one.known is None) or (one.status == "error" and error == "UnsupportedError")


def of_cases(
    jobs: Sequence[AuditedJob], summary: RunSummary, judge: Callable[[str, JobVerdicts], JobExamination]
) -> Examined:
    """Examine jobs by the cases of a run.

    Args:
        jobs: that were run.
        summary: of the run.
        judge: examines a job of which at least one case ran.
    """
    verdicts = by_job(summary, jobs)
    why = "interrupted" if summary.interrupted else "no case of it ran"

    def examined(job: AuditedJob) -> JobExamination:
        own = verdicts[job.name]
        if own.examined:
            return judge(job.name, own)
        return JobExamination(job.name, None, why=own.why_left or why)

    return Examined(tuple(map(examined, jobs)), summary.interrupted)


def of_share(job: str, verdicts: JobVerdicts, good: int, evidence: Sequence[AuditEvidence]) -> JobExamination:
    """Make the examination of a job whose points are the share of its cases that are good."""
    ran = len(verdicts.examined)
    total = ran + len(verdicts.left)
    done = f"{ran} of {total} case{'s' if total != 1 else ''}"
    return JobExamination(job, good / ran, ran / total, done, verdicts.why_left, tuple(evidence))

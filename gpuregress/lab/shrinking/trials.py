"""Trials: candidate jobs, all run in one session, and the kind of failure of each."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import field

from gpuregress.foundation.document import yaml_writer
from gpuregress.foundation.errors import JobErrors
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Case, RunSummary, Verdict
from gpuregress.gpu.records import Record
from gpuregress.jobs.plan import CaseOverrides, Plan, case_planning
from gpuregress.jobs.revision import Labels
from gpuregress.jobs.spec import load
from gpuregress.lab import experiment
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.revisions import sides
from gpuregress.lab.shrinking.simpler_jobs import Job
from gpuregress.session import accepting
from gpuregress.store.baselines import BaselineStore
from gpuregress.store.project import Project

LOST_SIDES = ("baseline", "first", "agree")
"""Sides of a comparison that one smaller case does not have: accepted results, and other cases."""


class Failure(Record):
    """The kind of a failure.

    Attributes:
        status: `fault`, `timeout` or `differ`.
        fault: the kind of fault, "" for a difference.
        kernel: in which it happened, "" where it was in none.
        buffers: that the fault is at; none where that is not known.
        sides: buffer and what it was compared with, for each comparison that failed, the first one first.
        message: a line for people.
    """

    status: str
    fault: str = ""
    kernel: str = ""
    buffers: frozenset[str] = frozenset()
    sides: tuple[tuple[str, str], ...] = ()
    message: str = ""

    def is_same(self, other: Failure | None) -> bool:
        """Whether another failure is of this kind: the same fault in the same kernel, or the same comparison."""
        if other is None or (other.status, other.fault, other.kernel) != (self.status, self.fault, self.kernel):
            return False
        if self.sides:
            return self.sides[0] in other.sides
        return self.buffers == other.buffers or bool(self.buffers & other.buffers)

    def without_baseline(self) -> Failure | None:
        """The same without comparisons that a smaller case does not have; None where nothing is left."""
        if self.status != "differ":
            return self
        sides = tuple(side for side in self.sides if side[1] not in LOST_SIDES)
        return Failure(self.status, sides=sides, message=self.message) if sides else None


def failure_of(case: Case, verdict: Verdict | None) -> Failure | None:
    """Return the kind of a case's failure; None for one that did not fail, or could not be run."""
    if verdict is None or verdict.status not in ("fault", "timeout", "differ"):
        return None
    outcome = verdict.outcome
    fault = outcome.fault if outcome is not None else None
    if fault is not None:
        kernel = case.launches[fault.position].kernel if fault.position is not None else ""
        buffers = frozenset({fault.location.buffer} & case.buffers.keys())
        return Failure(verdict.status, fault.kind, kernel, buffers, message=verdict.reason)
    sides = tuple(
        (buffer.name, compared.against)
        for buffer in verdict.buffers
        for compared in buffer.comparisons
        if not compared.same
    )
    return Failure(verdict.status, sides=tuple(dict.fromkeys(sides)), message=verdict.reason)


_TERMS = accepting.Terms(why="shrink: the accepted revision", unwritten_ok="shrink")


class Trial(Record):
    """A candidate job that was run.

    Attributes:
        job: the candidate.
        case: its case; None where it is no valid job of one case.
        failure: None where it did not fail, or could not be run.
        expected: buffer → dump of the accepted revision, where its results decide.
    """

    job: Job
    case: Case | None = None
    failure: Failure | None = None
    expected: Mapping[str, Path] = field(default_factory=dict)


class Runner(Protocol):
    """What runs candidate jobs."""

    def run(self, jobs: Sequence[Job]) -> list[Trial]:
        """Run the candidates; see `Trials.run`."""


class JobFolder(Record):
    """A project and the path that candidate jobs have in it; no file is written there.

    Attributes:
        project: whose kernels are run.
        path: of the job, to whose folder all paths are relative.
        options: of the runs.
        runs: a scratch folder.
        coverage: whether runs count what the cases execute.
        checks: dynamic checks of the runs, as `--check` names them.
    """

    project: Project
    path: Path
    options: RunOptions
    runs: Path
    coverage: bool = False
    checks: tuple[str, ...] = ()

    def plan(self, job: Job) -> Case | None:
        """Plan a candidate as the text that would be written; None unless it is a valid job of one case."""
        file = load.load_text(yaml_writer.write(job), self.path)
        try:
            planned = case_planning.of_file(file, self.project, CaseOverrides())
            cases, _ = planned.labelled(self.project, Labels())
        except JobErrors:
            return None
        return cases[0] if len(cases) == 1 else None

    def execute(self, cases: Sequence[Case], baselines: Path) -> RunSummary:
        """Run planned cases; an error of one of them ends no other.

        Raises:
            Interrupted: the user asked to stop.
            GpuregressError: the errors of `session.run`.
        """
        where = experiment.scratch_project(self.project, self.runs, baselines)
        planned = Plan(tuple(experiment.limited(case, self.options.timeout) for case in cases))
        return self.options.run(where, planned, kind="experiment", coverage=self.coverage, checks=self.checks)

    def verdicts(self, cases: Sequence[Case]) -> dict[str, Verdict]:
        """Run planned cases, compared with no baseline; nothing is left of the run.

        Returns:
            case → its verdict.
        """
        try:
            summary = self.execute(cases, self.runs.with_name("no-baselines"))
        finally:
            shutil.rmtree(self.runs, ignore_errors=True)
        return {verdict.case: verdict for verdict in summary.verdicts}


class Trials:
    """Runs of candidate jobs in the work tree.

    Args:
        here: the project in the work tree.
        scratch: a temporary folder.
        stop: set when the user asks to stop between two runs.
        trusted: where the accepted revision is checked out, if its results decide; else the job itself must.
    """

    def __init__(self, here: JobFolder, scratch: Path, stop: StopSignal, trusted: JobFolder | None = None) -> None:
        self._here = here
        self._trusted = trusted
        self._scratch = scratch
        self._stop = stop
        self.count = 0
        """Candidates that were run so far."""

    def run(self, jobs: Sequence[Job]) -> list[Trial]:
        """Run candidate jobs; the results are in their order.

        Raises:
            Interrupted: the user asked to stop.
            GpuregressError: the errors of `session.run`.
        """
        self._stop.check()
        named = [{**job, "job": f"{job['job']}-{number}"} for number, job in enumerate(jobs)]
        planned = [self._here.plan(job) for job in named]
        cases = [case for case in planned if case is not None]
        if not cases:
            return [Trial(job) for job in jobs]
        self.count += len(cases)
        baselines = self._scratch / f"baselines-{self.count}"
        if self._trusted is not None:
            self._accept(self._trusted, named, planned, baselines)
        summary = self._here.execute(cases, baselines)
        verdicts = {verdict.case: verdict for verdict in summary.verdicts}
        store = BaselineStore(baselines)
        trials = []
        for job, case in zip(jobs, planned, strict=True):
            trial = Trial(job)
            if case is not None:
                failure = failure_of(case, verdicts.get(case.name))
                trial = Trial(job, case, failure, sides.accepted(store, case.name))
            trials.append(trial)
        return trials

    @staticmethod
    def _accept(trusted: JobFolder, jobs: Sequence[Job], planned: Sequence[Case | None], baselines: Path) -> None:
        """Make the results of the accepted revision the baselines of the candidates."""
        wanted = [trusted.plan(job) for job, case in zip(jobs, planned, strict=True) if case is not None]
        cases = [case for case in wanted if case is not None]
        if not cases:
            return
        summary = trusted.execute(cases, baselines)
        usable = [verdict for verdict in summary.verdicts if verdict.status in ("new", "pass") and verdict.outcome]
        if usable:
            where = experiment.scratch_project(trusted.project, trusted.runs, baselines)
            accepting.accept(where, [verdict.case for verdict in usable], _TERMS)

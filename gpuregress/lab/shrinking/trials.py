"""Trials: candidate jobs, all run in one session, and the kind of failure of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import field

from gpuregress.foundation.document import yaml_writer
from gpuregress.foundation.errors import Interrupted, JobErrors
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Case, RunSummary
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.plan import CaseOverrides, Plan, case_planning
from gpuregress.jobs.revision import Labels
from gpuregress.jobs.spec import load
from gpuregress.lab.commits import kept_dumps
from gpuregress.lab.commits.commit_runs import RunOptions
from gpuregress.lab.shrinking import failure
from gpuregress.lab.shrinking.failure import Failure
from gpuregress.lab.shrinking.numbers import Job
from gpuregress.session import session
from gpuregress.session.accepting import accept
from gpuregress.session.run_request import RunRequest
from gpuregress.store.baselines import BaselineStore
from gpuregress.store.project import Project

_TERMS = accept.Terms(why="shrink: the accepted revision", unwritten_ok="shrink")


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

        def planner(*_arguments: Any, **_options: Any) -> Plan:
            timeout = self.options.timeout
            return Plan(tuple(cases if timeout is None else (_limited(case, timeout) for case in cases)))

        where = replace(self.project, runs=self.runs, baselines=baselines, dumps="")
        machinery = replace(self.options.machinery or session.Machinery(), planner=planner)
        request = RunRequest(device=self.options.device, kind="nightly", coverage=self.coverage, checks=self.checks)
        summary = session.run(where, request, machinery=machinery)
        if summary.interrupted:
            raise Interrupted("interrupted")
        return summary


class Trials:
    """Runs of candidate jobs in the work tree.

    Args:
        here: the project in the work tree.
        scratch: a temporary folder.
        stop: set when the user asks to stop between two runs.
        trusted: where the accepted revision is checked out, if its results decide; else the job itself must.
    """

    def __init__(self, here: JobFolder, scratch: Path, stop: StopSignal, trusted: JobFolder | None = None) -> None:
        self._here, self._trusted, self._scratch, self._stop = here, trusted, scratch, stop
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
        verdicts, store = {one.case: one for one in summary.verdicts}, BaselineStore(baselines)
        return [
            Trial(job)
            if case is None
            else Trial(
                job,
                case,
                failure.of(case, verdicts.get(case.name)),
                kept_dumps.accepted(store, case.name),
            )
            for job, case in zip(jobs, planned, strict=True)
        ]

    @staticmethod
    def _accept(trusted: JobFolder, jobs: Sequence[Job], planned: Sequence[Case | None], baselines: Path) -> None:
        """Make the results of the accepted revision the baselines of the candidates."""
        wanted = [trusted.plan(job) for job, case in zip(jobs, planned, strict=True) if case is not None]
        cases = [case for case in wanted if case is not None]
        if not cases:
            return
        summary = trusted.execute(cases, baselines)
        done = [one.case for one in summary.verdicts if one.status in ("new", "pass") and one.outcome]
        if done:
            where = replace(trusted.project, runs=trusted.runs, baselines=baselines, dumps="")
            accept.accept(where, done, _TERMS)


def _limited(case: Case, timeout: float) -> Case:
    return replace(case, limits=replace(case.limits, timeout=timeout))

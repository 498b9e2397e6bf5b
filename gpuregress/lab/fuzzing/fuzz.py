"""Fuzzing of a job: the search for failures, guided by coverage, and its report.

What the job itself says of a correct result judges the inputs. The accepted baseline holds for the job's own inputs
only, so it judges none of them. Nothing is written but jobs for failures.
"""

from __future__ import annotations

import itertools
import math
import random
import shlex
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import Interrupted, UsageError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Case
from gpuregress.gpu.instruments import Coverage
from gpuregress.gpu.records import Record
from gpuregress.jobs import plan
from gpuregress.jobs.spec import load
from gpuregress.jobs.spec.overrides import ParameterOverride
from gpuregress.lab import experiment
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.fuzzing import findings
from gpuregress.lab.fuzzing.candidates import Candidate, Space
from gpuregress.lab.fuzzing.findings import FindingWriter, FuzzFinding, FuzzTrials, PlannedInput, Tried
from gpuregress.lab.shrinking.trials import JobFolder
from gpuregress.session.events import Advanced, Listener, ignore
from gpuregress.store.project import Project

Feature = tuple[object, ...]


def features(coverage: Coverage) -> Iterator[Feature]:
    """What was reached: lines, sides of branches, numbers of iterations, indices at their limits."""
    for file in coverage.files:
        for line, count in file.lines:
            if count:
                yield file.path, "line", line
        for branch in file.branches:
            for side, count in enumerate(branch.sides):
                if count:
                    yield file.path, "branch", branch.line, branch.column, branch.kind, branch.condition, side
        for loop in file.loops:
            for name, times in (("zero", loop.zero), ("once", loop.once), ("many", loop.many)):
                if times:
                    yield file.path, "loop", loop.line, loop.column, loop.number, name
        for bound in file.bounds:
            for at, (_, count) in enumerate(bound.edges):
                if count:
                    yield file.path, "bound", bound.line, bound.column, bound.index, bound.limit, at


class Corpus:
    """The inputs that reached something new, and all that was reached."""

    def __init__(self) -> None:
        self.inputs: list[Candidate] = []
        self.reached: set[Feature] = set()

    def add(self, candidate: Candidate, coverage: Coverage | None) -> bool:
        """Keep a candidate if it reached something new, or is the first; tell whether it did."""
        new = set(features(coverage)) - self.reached if coverage is not None else set()
        if new or not self.inputs:
            self.inputs.append(candidate)
        self.reached |= new
        return bool(new)


LIMIT = 200
"""Inputs that are tried where neither a number nor a time is given."""

_BATCH = 16
_GIVE_UP = 2_000
"""Candidates in a row that are not valid, or were tried before, after which there are no others."""

_MOST_REASONS = 3
SHRINK_S = 60.0
_LEAST_SHRINK_S = 1.0
_SHRINK_SHARE = 0.4
"""Of the request's time, for shrinking, once there is a failure."""


class FuzzRequest(Record):
    """A request for fuzzing.

    Attributes:
        selector: a job, or cases of one.
        seed: of the random part.
        limit: the most inputs; None: `LIMIT`, or no limit beside `seconds`.
        seconds: the time for trying inputs and shrinking failures; None: no limit.
        target: the folder of jobs for failures; None: `fuzz` in the project's folder of jobs.
        keep: parameters and buffers that stay as they are.
        schedules: the number of schedules whose results are compared; 1: none are.
        checks: dynamic checks, as `run --check` names them.
        parameters: parameters with other values than the job's, from which the search starts.
    """

    selector: str
    seed: int = 0
    limit: int | None = None
    seconds: float | None = None
    target: Path | None = None
    keep: tuple[str, ...] = ()
    schedules: int = 2
    checks: tuple[str, ...] = ()
    parameters: tuple[ParameterOverride, ...] = ()


class FuzzReport(Record):
    """The results of fuzzing.

    Attributes:
        version: of this record.
        job: the job.
        seed: of the random part.
        tried: inputs that were run, without the job's own.
        infeasible: inputs that the job's own constraints, the compiler or the device do not allow.
        not_run: inputs that could not be run for another reason.
        reached: lines, branches, loops and bounds that the job's own cases reach.
        more_reached: those that only other inputs reach.
        failures: one of each kind.
        judged_by: what tells a wrong result.
        notes: for the user.
        seconds: for all of it.
        interrupted: whether ^C ended it.
    """

    version: int
    job: str
    seed: int
    tried: int
    infeasible: int
    not_run: int
    reached: int
    more_reached: int
    failures: tuple[FuzzFinding, ...]
    judged_by: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float
    interrupted: bool = False


def fuzz(
    project: Project, request: FuzzRequest, *, listen: Listener = ignore, options: RunOptions | None = None
) -> FuzzReport:
    """Try inputs at the edges, and write a small job for each kind of failure.

    Args:
        project: whose.
        request: which job, how long.
        listen: receives the progress.
        options: of the runs; for tests.

    Raises:
        UsageError: the job cannot be fuzzed: it fails as it is, or nothing of it can be changed.
        GpuregressError: the errors of `session.run`.
    """
    start = time.monotonic()
    cases = _cases(project, request)
    with StopSignal() as stop, storage.scratch() as scratch:
        options = options or RunOptions("cpu")
        folder = JobFolder(
            project, Path(cases[0].path), options, scratch / "runs", coverage=True, checks=request.checks
        )
        campaign = _Campaign(request, cases, folder, stop, listen)
        deadline = None
        if request.seconds is not None:
            deadline = start + request.seconds
        campaign.run(deadline)
        target = request.target or project.configs / "fuzz"
        writer = FindingWriter(folder, scratch, target, stop, partial(findings.fails_again, folder, target))
        found: list[FuzzFinding] = []
        kinds = list(findings.grouped(campaign.failures))
        for number, (tried, also) in enumerate(kinds):
            limit_s = SHRINK_S
            if deadline is not None:
                share_s = (deadline - time.monotonic()) / (len(kinds) - number)
                limit_s = min(limit_s, max(_LEAST_SHRINK_S, share_s))
            found.append(writer.write(cases[0].job, tried, also, limit_s, request.seed))
        return campaign.report(tuple(found), time.monotonic() - start, interrupted=campaign.interrupted or stop.is_set)


def _cases(project: Project, request: FuzzRequest) -> tuple[Case, ...]:
    """Plan the job; it must be one that can pass, with something to change."""
    cases = plan.make(project, [request.selector], overrides=plan.CaseOverrides(parameters=request.parameters)).cases
    jobs = sorted({case.job for case in cases})
    if len(jobs) != 1:
        shown = f" ({', '.join(jobs[:_MOST_REASONS])})" if jobs else ""
        raise UsageError(f"{request.selector!r} means {len(jobs)} jobs{shown}: name one")
    experiment.require_launches(cases, "fuzz")
    if any(case.expect_fault for case in cases):
        raise UsageError(f"{jobs[0]} expects a fault: other inputs may rightly have none")
    known = (*cases[0].parameters, *cases[0].buffers)
    unknown = [name for name in request.keep if name not in known]
    if unknown:
        raise UsageError(f"{jobs[0]} has no parameter or buffer {unknown[0]!r} to keep: it has {', '.join(known)}")
    return cases


class _Campaign:
    """The inputs of a job and what came of them, while they are tried."""

    def __init__(
        self, request: FuzzRequest, cases: tuple[Case, ...], folder: JobFolder, stop: StopSignal, listen: Listener
    ) -> None:
        self._request = request
        self._cases = cases
        self._listen = listen
        self._stop = stop
        document = load.load_file(folder.path).document.data
        self._space = Space(document, cases, request.keep, schedules=request.schedules)
        self._trials = FuzzTrials(self._space, folder)
        if not any(self._space.parameters.values()) and not any(self._space.contents):
            raise UsageError(f"{cases[0].job} has nothing to change: no numeric parameter, no data that may be others")
        self._corpus = Corpus()
        self._seen: set[tuple[object, ...]] = set()
        self._chance = random.Random(request.seed)  # noqa: S311 - to be repeated, not secret
        self._tried = self._infeasible = self._not_run = self._reached = 0
        self._input_s = 0.0
        self._reasons: Counter[str] = Counter()
        self.failures: list[Tried] = []
        self.interrupted = False

    def run(self, deadline: float | None) -> None:
        """Try inputs until the number or the time is reached, none is left, or the user asks to stop."""
        try:
            self._run_own()
            limit = self._request.limit
            if not limit and deadline is None:
                limit = LIMIT
            candidates = self._candidates()
            while (not limit or self._tried < limit) and self._left_s(deadline) > 0.0:
                self._stop.check()
                size = self._size(deadline)
                if limit:
                    size = min(size, limit - self._tried)
                batch = self._batch(candidates, size)
                if not batch:
                    return
                start = time.monotonic()
                for tried in self._trials.run(batch):
                    self._take(tried)
                self._input_s = (time.monotonic() - start) / len(batch)
                self._listen(Advanced(self._tried, limit or self._tried, f"{len(self.failures)} failures"))
        except Interrupted:
            self.interrupted = True

    def _left_s(self, deadline: float | None) -> float:
        """The time left for inputs; with a failure, some of the time is for shrinking."""
        if deadline is None:
            return math.inf
        reserved_s = 0.0
        if self.failures:
            reserved_s = _SHRINK_SHARE * (self._request.seconds or 0.0)
        return deadline - reserved_s - time.monotonic()

    def _size(self, deadline: float | None) -> int:
        """The number of inputs of the next batch: those for which there is time, at most `_BATCH`."""
        left_s = self._left_s(deadline)
        if not self._input_s or left_s >= _BATCH * self._input_s:
            return _BATCH
        return max(1, int(left_s / self._input_s))

    def _run_own(self) -> None:
        """Run the job's own cases: where they fail, no other input says more."""
        own = [self._trials.plan(Candidate(base)) for base in range(len(self._space.bases))]
        usable = [planned for planned in own if planned is not None]
        for tried in self._trials.run(usable):
            case = self._space.bases[tried.planned.candidate.base].name
            if tried.state == "failed":
                raise UsageError(f"{case} fails as it is: {tried.reason}; first see `{self._run_command(case)}`")
            if tried.state == "not run":
                raise UsageError(f"{case} cannot be run: {tried.reason}")
            if tried.state == "passed":
                self._corpus.add(tried.planned.candidate, tried.coverage)
        if not self._corpus.inputs:
            raise UsageError(f"no case of {self._cases[0].job} can be run on the CPU device: see `gpuregress run`")
        self._seen = {planned.candidate.key for planned in usable}
        self._reached = len(self._corpus.reached)

    def _run_command(self, case: str) -> str:
        """Return the command that shows how a case fails: under the same schedules and dynamic checks."""
        words = ["gpuregress run", case]
        words += [f"--set {shlex.quote(parameter.text)}" for parameter in self._request.parameters]
        if self._request.schedules > 1:
            words.append(f"--schedules {self._request.schedules}")
        return " ".join([*words, *[f"--check {names}" for names in self._request.checks]])

    def _candidates(self) -> Iterator[Candidate]:
        """Edges, then changes of inputs that reached new code."""
        yield from self._space.edges()
        for _ in itertools.count():
            yield self._space.mutated(self._chance.choice(self._corpus.inputs), self._chance)

    def _batch(self, candidates: Iterator[Candidate], size: int) -> list[PlannedInput]:
        """The next candidates that are valid and new; none where no others are found."""
        batch: list[PlannedInput] = []
        in_vain = 0
        while len(batch) < size and in_vain < _GIVE_UP:
            candidate = next(candidates)
            in_vain += 1
            if candidate.key in self._seen:
                continue
            self._seen.add(candidate.key)
            self._stop.check()
            planned = self._trials.plan(candidate)
            if planned is None:
                self._infeasible += 1
                continue
            batch.append(planned)
            in_vain = 0
        return batch

    def _take(self, tried: Tried) -> None:
        self._tried += 1
        if tried.state == "skipped":
            self._infeasible += 1
        elif tried.state == "not run":
            self._not_run += 1
            self._reasons[tried.reason] += 1
        elif tried.state == "failed":
            self.failures.append(tried)
        if tried.state == "passed":
            self._corpus.add(tried.planned.candidate, tried.coverage)

    # --- the report ---------------------------------------------------------------------------------------------------

    def report(self, found: tuple[FuzzFinding, ...], seconds: float, *, interrupted: bool) -> FuzzReport:
        """Sum up."""
        judges = tuple(self._judges())
        more = len(self._corpus.reached) - self._reached
        return FuzzReport(
            version=1,
            job=self._cases[0].job,
            seed=self._request.seed,
            tried=self._tried,
            infeasible=self._infeasible,
            not_run=self._not_run,
            reached=self._reached,
            more_reached=more,
            failures=found,
            judged_by=judges,
            notes=tuple(self._notes()),
            seconds=seconds,
            interrupted=interrupted,
        )

    def _judges(self) -> Iterator[str]:
        case = self._cases[0]
        names = [name for name in case.references if name not in case.reference_files]
        if names:
            yield f"the reference of {', '.join(names)}"
        if case.settings.twins:
            yield f"the twin {', '.join(case.settings.twins)}"
        if case.checks:
            yield "checks"
        if self._request.schedules > 1:
            yield f"{self._request.schedules} schedules"
        yield "faults"

    def _notes(self) -> Iterator[str]:
        case = self._cases[0]
        if not self._tried and not self.interrupted:
            why = "the time was over; give --time more" if self._request.seconds else "the job allows no other"
            yield f"no input was tried: {why}"
        if not any(judge.startswith("the ") for judge in self._judges()):
            noticed = "faults and failed checks" if case.checks else "faults"
            yield (f"the job has no reference that follows its inputs: wrong numbers are not noticed, only {noticed}")
        if self._space.unchanged:
            why = "kept, results that begin at a value, or integers of an unknown range"
            yield f"data left as they are: {', '.join(self._space.unchanged)} ({why})"
        for reason, count in self._reasons.most_common(_MOST_REASONS):
            yield f"{count} could not be run: {reason}"

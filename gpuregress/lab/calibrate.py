"""Calibration of a job's rules: the tightest under which the results of many runs are the same."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from gpuregress.execution import device_registry as registry
from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.dtypes import ElementType, Scalar
from gpuregress.foundation.errors import GpuregressError, HarnessError, Interrupted, UsageError
from gpuregress.foundation.numeric import determinism, ordinals
from gpuregress.foundation.records import Outcome, Rule, Verdict
from gpuregress.gpu.records import Record
from gpuregress.jobs import plan
from gpuregress.jobs.spec.resolve.rules import validate_rule
from gpuregress.judge import compare
from gpuregress.lab import experiment
from gpuregress.session import session
from gpuregress.session.events import Listener, ignore
from gpuregress.session.run_request import RunRequest
from gpuregress.store import remote
from gpuregress.store.baselines import BaselineStore
from gpuregress.store.dumps import reader
from gpuregress.store.project import Project

Array = npt.NDArray[np.generic]
MARGIN = 2
"""Factor between a bound and the largest error that was seen."""
MOST_ULP = 4096
"""More ULPs than that are given as a relative error."""
MOST_DISTINCT = 24
"""Distinct results of one buffer that are compared with one another."""
WIDE = 1e-2
"""A larger relative error is no rounding error: another rule is needed, or there is a bug."""


class RuleFit(Record):
    """The rule for one buffer.

    Attributes:
        rule: the tightest that holds with its margin; None where none holds.
        text: the rule as YAML, `{ulp: 4}`; "" where every bit is equal, or no rule holds.
        evidence: the errors that were seen, in words.
    """

    rule: Rule | None
    text: str
    evidence: str


@dataclass(slots=True)
class BufferResults:
    """The distinct results of one buffer of one case: digest → a dump of it."""

    dtype: str
    shape: tuple[int, ...]
    dumps: dict[str, Path] = field(default_factory=dict)

    @property
    def element(self) -> ElementType:
        """The type of an element."""
        return dtypes.parse(self.dtype)

    def read(self) -> list[Array]:
        """Read the results, flat. Each of them may become the baseline, so each pair must be the same both ways."""
        return [reader.read(path).array.reshape(-1) for path in list(self.dumps.values())[:MOST_DISTINCT]]


def fit_rule(cases: Sequence[BufferResults]) -> RuleFit:
    """Fit the tightest rule under which the results of each case are the same.

    Every bit comes first, then any order, then ULPs, then a tolerance.

    Args:
        cases: the results of a buffer in each case; they are read for each rule anew, as all of them may not fit into
            memory.
    """
    variations = {determinism.classify(case.element, case.read()) for case in cases}
    if variations <= {"bitwise"}:
        return RuleFit(Rule(), "", "every bit equal")
    if variations <= {"bitwise", "order varies"}:
        return RuleFit(Rule(order="any"), "{order: any}", "the same values in other places")
    for rule, text, evidence in _candidates(cases):
        if all(not validate_rule(rule, case.element) and _holds(rule, case) for case in cases):
            return RuleFit(rule, text, evidence)
    evidence = "no bound holds: values of a case differ by more than rounding; see statistics: and verify:"
    return RuleFit(None, "", evidence)


def _candidates(cases: Sequence[BufferResults]) -> Iterator[tuple[Rule, str, str]]:
    yield from _bounds(cases, "indexed")
    if all(len(case.element.parts) == 1 for case in cases):
        yield from _bounds(cases, "any")


def _bounds(cases: Sequence[BufferResults], order: Literal["indexed", "any"]) -> Iterator[tuple[Rule, str, str]]:
    tail = ", order: any" if order == "any" else ""
    ulp = 0
    relative = absolute = 0.0
    scale = math.inf
    for case in cases:
        columns = case.read()
        if order == "any":
            scalar = case.element.parts[0].scalar
            columns = [column[np.argsort(ordinals.keys(column, scalar), kind="stable")] for column in columns]
        errors = _largest(case.element, columns)
        ulp, relative, absolute = max(ulp, errors[0]), max(relative, errors[1]), max(absolute, errors[2])
        # What is no more than rounding beside the values of one case may be as large as those of another.
        scale = min(scale, max([_scale(case.element, column) for column in columns]))
    is_float = all(case.element.is_float for case in cases)
    if is_float and ulp * MARGIN <= MOST_ULP:
        steps = _power_of_two(MARGIN * ulp)
        evidence = f"{ulp} ulp at most; the bound is twice that, up to a power of two"
        yield Rule(ulp=steps, order=order), f"{{ulp: {steps}{tail}}}", evidence
    if is_float and relative * MARGIN <= WIDE:
        limit = _one_digit(MARGIN * relative)
        evidence = f"a relative error of {relative:.3g} at most; the bound is twice that, rounded up"
        yield Rule(rtol=limit, atol=0.0, order=order), f"{{rtol: {_yaml_number(limit)}, atol: 0{tail}}}", evidence
    if absolute * MARGIN <= WIDE * scale:
        limit = _one_digit(MARGIN * absolute)
        evidence = f"an absolute error of {absolute:.3g} at most, of values up to {scale:.3g}; the bound is twice that"
        yield Rule(rtol=0.0, atol=limit, order=order), f"{{rtol: 0, atol: {_yaml_number(limit)}{tail}}}", evidence


def _largest(element: ElementType, flat: Sequence[Array]) -> tuple[int, float, float]:
    """Return the largest error over all pairs: in ULPs, relative, and absolute."""
    ulp = 0
    relative = 0.0
    absolute = 0.0
    for first, second in permutations(flat, 2):
        columns = zip(element.parts, element.columns(first), element.columns(second), strict=True)
        for part, expected, actual in columns:
            scalar = part.scalar
            differs = ordinals.keys(expected, scalar) != ordinals.keys(actual, scalar)
            if not differs.any():
                continue
            expected_float = _as_float64(expected[differs], scalar)
            with np.errstate(all="ignore"):
                error = np.abs(_as_float64(actual[differs], scalar) - expected_float)
                relative_error = error / np.abs(expected_float)
            absolute = max(absolute, _top(error))
            relative = max(relative, _top(relative_error))
            if scalar.is_float:
                ulp = max(ulp, int(ordinals.ulps(expected[differs], actual[differs], scalar).max()))
    return ulp, relative, absolute


def _as_float64(values: Array, scalar: Scalar) -> npt.NDArray[np.float64]:
    return dtypes.to_float(values, scalar).astype(np.float64)


def _top(errors: npt.NDArray[np.float64]) -> float:
    if np.isnan(errors).any():
        return math.inf
    return float(errors.max())


def _scale(element: ElementType, column: Array) -> float:
    """Return the largest finite magnitude of a result."""
    largest = 0.0
    for part, values in zip(element.parts, element.columns(column), strict=True):
        sizes = np.abs(_as_float64(values, part.scalar))
        finite = sizes[np.isfinite(sizes)]
        if finite.size:
            largest = max(largest, float(finite.max()))
    return largest


def _holds(rule: Rule, case: BufferResults) -> bool:
    request = compare.ComparisonRequest("", case.element, case.shape, rule)
    return all(compare.compare(request, first, second).same for first, second in permutations(case.read(), 2))


def _power_of_two(number: int) -> int:
    return 1 << max(0, number - 1).bit_length()


def _one_digit(number: float) -> float:
    """The next number of one digit that is not smaller: 1.2e-6 → 2e-6."""
    if number == 0:
        return 0.0
    exponent = math.floor(math.log10(number))
    return float(f"{math.ceil(number / 10.0**exponent * (1 - 1e-12))}e{exponent}")


def _yaml_number(number: float) -> str:
    """With a point and a signed exponent, which every YAML reader takes for a number: `2.0e-06`."""
    return f"{number:.1e}"


CPU_ORDERS = ("reversed", *(f"random:{seed}" for seed in range(1, 7)))
"""The orders of blocks in which a case also runs on the CPU device: `devices.cpu.order`."""

_MOST_NAMED = 3


class Proposal(Record):
    """A rule for one buffer of a job.

    Attributes:
        buffer: its name.
        text: the rule as YAML; "" where it needs none, or none holds.
        holds: whether there is a rule under which all results are the same.
        distinct: how many different results there were, of the case with the most.
        evidence: why.
    """

    buffer: str
    text: str
    holds: bool
    distinct: int
    evidence: str


class Calibration(Record):
    """The proposed rules of a job.

    Attributes:
        job: the job.
        cases: its cases.
        runs: of each case on each device.
        devices: where they ran.
        baselines: the number of accepted results that the rules hold against, too.
        proposals: a rule for each buffer.
        doubtful: cases whose runs agree with each other, and not with what another source gave and was accepted.
    """

    job: str
    cases: tuple[str, ...]
    runs: int
    devices: tuple[str, ...]
    baselines: int
    proposals: tuple[Proposal, ...]
    doubtful: tuple[str, ...] = ()

    def yaml(self) -> Iterator[str]:
        """Lines to paste into the job, with the evidence as comments."""
        cases = f"{len(self.cases)} case{'s' if len(self.cases) != 1 else ''}"
        head = f"# {self.job}: {cases}, {self.runs} runs each on {', '.join(self.devices)}"
        if "cpu" in self.devices:
            head += f" and in {len(CPU_ORDERS)} other orders of the blocks"
        if self.baselines:
            head += f", and {self.baselines} accepted"
        yield head
        if self.doubtful:
            named = ", ".join(self.doubtful[:_MOST_NAMED])
            if len(self.doubtful) > _MOST_NAMED:
                named += ", …"
            yield f"# careful: the runs of {named} agree with each other; only what was accepted"
            yield "# of another source differs. A rule would hide that change: accept it first if it is intended."
        if any(proposal.text for proposal in self.proposals):
            yield "compare:"
        elif all(proposal.holds for proposal in self.proposals):
            yield "# no rule is needed"
        else:
            yield "# no rule can be given"
        for proposal in self.proposals:
            results = f"{proposal.distinct} different result{'s' if proposal.distinct != 1 else ''}"
            if proposal.text:
                yield f"  {proposal.buffer}: {proposal.text}  # {results}: {proposal.evidence}"
            else:
                yield f"  # {proposal.buffer}: {results}: {proposal.evidence}"


@dataclass(slots=True)
class _Evidence:
    """The results of all runs.

    Attributes:
        jobs: case → its job.
        buffers: case and buffer → its results.
        devices: those on which cases ran.
        changed: cases whose source is not that of their baseline.
    """

    jobs: dict[str, str] = field(default_factory=dict)
    buffers: dict[tuple[str, str], BufferResults] = field(default_factory=dict)
    devices: list[str] = field(default_factory=list)
    changed: set[str] = field(default_factory=set)

    def add(self, verdict: Verdict) -> None:
        """Add the dumps of a case, and of its repeats.

        Raises:
            HarnessError: the case did not run to its end.
        """
        outcome = verdict.outcome
        if outcome is None or outcome.state != "done":
            raise HarnessError(f"{verdict.case} cannot be calibrated, it ended with {verdict.headline}")
        self.jobs[verdict.case] = verdict.job
        if "source changed" in verdict.changes:
            self.changed.add(verdict.case)
        for dump in outcome.dumps:
            results = self.buffers.setdefault((verdict.case, dump.buffer), BufferResults(dump.dtype, dump.shape))
            results.dumps.setdefault(dump.digest, Path(dump.path))
            for digest, path in _repeats(outcome, dump.buffer):
                results.dumps.setdefault(digest, path)

    def add_baselines(self, store: BaselineStore) -> int:
        """Add the accepted results: a rule must hold against them, too; return their number."""
        added = 0
        for case in self.jobs:
            try:
                accepted = store.load(case)
            except GpuregressError:
                continue  # a damaged baseline is no evidence; `run` reports it
            if accepted is None:
                continue
            for buffer, dump in accepted.dumps.items():
                results = self.buffers.get((case, buffer))
                if results is not None and (results.dtype, results.shape) == (dump.dtype, dump.shape):
                    results.dumps.setdefault(dump.digest, remote.local(dump))
                    added += 1
        return added

    def doubtful(self) -> tuple[str, ...]:
        """Return the changed cases whose runs agree with each other."""
        differing = {case for (case, _), results in self.buffers.items() if len(results.dumps) != 1}
        return tuple(sorted(self.changed - differing))

    def proposals(self) -> Iterator[Proposal]:
        """A rule for each buffer, which holds in each case."""
        for buffer in dict.fromkeys(buffer for _, buffer in self.buffers):
            cases = [results for (_, name), results in self.buffers.items() if name == buffer]
            fit = fit_rule([case for case in cases if len(case.dumps) > 1])
            yield Proposal(
                buffer=buffer,
                text=fit.text,
                holds=fit.rule is not None,
                distinct=max(len(case.dumps) for case in cases),
                evidence=fit.evidence,
            )


def calibrate(
    project: Project,
    selector: str,
    *,
    repeat: int,
    devices: Sequence[str] = (),
    listen: Listener = ignore,
) -> Calibration:
    """Run a case, or all cases of a job, many times, and propose the tightest rules.

    Args:
        project: whose; nothing is left in its runs.
        selector: a case's name or a job's.
        repeat: runs of each case on each device.
        devices: where; none: all devices of this machine that the job runs on.
        listen: receives the events of the runs.

    Raises:
        UsageError: the selector means cases of several jobs.
        HarnessError: a case did not run to its end.
        Interrupted: ^C: half of the runs are no evidence.
        GpuregressError: the errors of `session.run`.
    """
    experiment.require_launches(plan.make(project, [selector]).cases, "calibrate")
    evidence = _Evidence()
    with storage.scratch(project.runs) as scratch:
        for number, (device, order) in enumerate(_block_orders(devices or registry.available() or ("cpu",))):
            temporary = experiment.scratch_project(project, scratch / str(number))
            request = RunRequest(device=device, jobs=1, repeat=1 if order else repeat, block_order=order)
            summary = session.run(temporary, [selector], request, listen=listen)
            if summary.interrupted:
                raise Interrupted("interrupted: too few runs for a rule")
            verdicts = [verdict for verdict in summary.verdicts if verdict.status != "skip"]
            for verdict in verdicts:
                evidence.add(verdict)
            if verdicts and not order:
                evidence.devices.append(device)
        jobs = tuple(dict.fromkeys(evidence.jobs.values()))
        if len(jobs) != 1:
            names = ", ".join(jobs) or "none that runs here"
            raise UsageError(f"{selector!r} names cases of several jobs, whose rules differ: name one job ({names})")
        doubtful = evidence.doubtful()
        accepted = evidence.add_baselines(BaselineStore.of(project))
        proposals = tuple(evidence.proposals())
    return Calibration(
        job=jobs[0],
        cases=tuple(evidence.jobs),
        runs=repeat,
        devices=tuple(evidence.devices),
        baselines=accepted,
        proposals=proposals,
        doubtful=doubtful,
    )


def _block_orders(devices: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each device with the orders of blocks to run in: random orders show more than repeats."""
    for device in devices:
        yield device, ""
        if device == "cpu":
            yield from ((device, order) for order in CPU_ORDERS)


def _repeats(outcome: Outcome, buffer: str) -> Iterator[tuple[str, Path]]:
    for repeat in outcome.observations.along("repeat"):
        if buffer in repeat.dumps:
            yield repeat.dumps[buffer].digest, Path(repeat.dumps[buffer].path)

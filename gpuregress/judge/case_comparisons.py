"""All comparisons of a case's buffers: with the baseline, the reference, the checks and the repeats."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gpuregress.foundation import dtypes
from gpuregress.foundation.numeric import determinism
from gpuregress.foundation.records import Baseline, Case, Check, Comparison, Dump, Outcome, Rule
from gpuregress.foundation.records.further_runs import AXES
from gpuregress.foundation.storage import split_name
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import inputs
from gpuregress.judge import accuracy, compare, diagnosis, further_runs, user_code
from gpuregress.judge.buffer_pairs import BufferPair
from gpuregress.judge.compare import checks
from gpuregress.judge.further_runs import JudgedBuffer
from gpuregress.judge.user_code import UserCodeProcess
from gpuregress.store.dumps import files, reader

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from gpuregress.foundation.records import Determinism


def check(case: Case, actual: Dump, wanted: Check) -> Comparison:
    """Check a dump.

    Args:
        case: the case that ran.
        actual: the buffer's dump.
        wanted: the check.

    Raises:
        DumpError: it does not hold what its header says.
        StorageError: it cannot be read.
    """
    files.verify(actual)
    array, element = reader.read(Path(actual.path)).array, dtypes.parse(actual.dtype)
    return checks.run(wanted, array, element, _Inputs(case), buffer=actual.buffer, shape=actual.shape, case=case)


class _Inputs(Mapping[str, "npt.NDArray[np.generic]"]):
    """A case's filled buffers as they were before the first launch, each made when a check asks for it."""

    def __init__(self, case: Case) -> None:
        self._buffers = {name: buffer for name, buffer in case.buffers.items() if buffer.fill is not None}

    def __getitem__(self, name: str) -> npt.NDArray[np.generic]:
        return inputs.fill(self._buffers[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._buffers)

    def __len__(self) -> int:
        return len(self._buffers)


def has_tolerance(rule: Rule) -> bool:
    """Whether a rule tolerates differences, so that a buffer can drift by a little with each accept."""
    tolerances = (rule.rtol, rule.atol, rule.ulp, rule.outliers)
    return bool(rule.metric) or any(tolerance is not None for tolerance in tolerances)


def drift(case: Case, actual: Dump, accepted: Baseline) -> list[Comparison]:
    """Compare a buffer with the first baseline ever accepted; [] where that is the current one.

    Args:
        case: the case that ran.
        actual: the buffer's dump.
        accepted: the baseline.

    Raises:
        DumpError: a dump does not hold what its header says.
        StorageError: one cannot be read.
    """
    first, last = accepted.first.get(actual.buffer), accepted.dumps.get(actual.buffer)
    rule = case.compare.get(actual.buffer, Rule())
    if first is None or last is None or first.digest == last.digest or not has_tolerance(rule):
        return []
    compared = BufferPair(case, "first", first, actual).compare()
    if compared.same:
        return [compared]
    _, revision = split_name(Path(first.path).name) or ("", Path(first.path).name)
    message = f"{compared.difference} from the first one accepted, revision {revision}: small changes have added up"
    return [replace(compared, message=message)]


def determinism_of(case: Case, actual: Dump, accepted: Baseline, outcome: Outcome) -> list[Comparison]:
    """Compare the agreement of the case's repeats with the recorded one; [] where either is unknown.

    Args:
        case: the case that ran, more than once.
        actual: the buffer's dump.
        accepted: the baseline.
        outcome: of the runs.
    """
    before = accepted.made_of.determinism.get(actual.buffer)
    after = outcome.observations.determinism.get(actual.buffer)
    if before is None or after is None:
        return []

    expected = determinism.ObservedDeterminism(cast("Determinism", before), accepted.made_of.orders)
    observed = determinism.ObservedDeterminism(after, outcome.observations.orders)
    return [determinism.compare(actual.buffer, expected, observed, case.repeat, math.prod(actual.shape))]


class CaseComparisons(Record):
    """The comparisons of one case that ran to its end.

    Attributes:
        case: the case.
        outcome: its dumps, references and repeats.
        accepted: its baseline, None without one.
        user: the process for the user's functions; None: this one.
    """

    case: Case
    outcome: Outcome
    accepted: Baseline | None
    user: UserCodeProcess | None = None

    def by_buffer(self) -> dict[str, list[Comparison]]:
        """Buffer → its comparisons, in the order of the report."""
        compared = {dump.buffer: self._of(dump) for dump in self.outcome.dumps}
        for failure in further_runs.schedule_faults(self.case, self.outcome):
            compared.setdefault(failure.buffer, []).append(failure)
        return compared

    def notes(self) -> tuple[str, ...]:
        """The notes of comparisons that fail nothing."""
        left_out = further_runs.left_out_runs(self.outcome)
        return (*left_out, *further_runs.schedule_notes(self.case, self.outcome, self._compare))

    def _of(self, actual: Dump) -> list[Comparison]:
        comparisons: list[Comparison] = []
        baseline, with_baseline = None, None
        if self.accepted is not None and actual.buffer in self.accepted.dumps:
            baseline = self.accepted.dumps[actual.buffer]
            rule = further_runs.rule_for_seeds(self.case, actual.buffer)
            with_baseline = self._compare(BufferPair(self.case, "baseline", baseline, actual, rule))
            comparisons.append(with_baseline)
            comparisons += drift(self.case, actual, self.accepted)
            comparisons += determinism_of(self.case, actual, self.accepted, self.outcome)
        comparisons += self._with_reference(actual, baseline, with_baseline)
        judged = JudgedBuffer(
            self.case, self.outcome, own=actual, baseline=baseline, compare=self._compare, check=self._check
        )
        comparisons += further_runs.twins(judged)
        comparisons += (self._check(wanted, self.case, actual) for wanted in self.case.checks.get(actual.buffer, ()))
        for axis in AXES:
            if axis.comparison == "first run":
                comparisons += further_runs.with_first_run(judged, axis.name)
        comparisons += further_runs.schedules(judged)
        comparisons += further_runs.seeds(judged)
        return comparisons

    def _compare(self, pair: BufferPair) -> Comparison:
        """Compare a pair; a difference is diagnosed."""
        if self.user is not None and pair.request.rule.verify:
            if not pair.is_identical:
                files.verify(pair.expected)  # which may fetch it: the user's process does not
            return self.user.compare(pair)
        if pair.is_identical:
            return pair.compare()

        return diagnosis.compare(pair, self.outcome)

    def _with_reference(
        self, actual: Dump, baseline: Dump | None, with_baseline: Comparison | None
    ) -> list[Comparison]:
        """Compare a buffer with its reference, if it has one.

        Args:
            actual: the buffer's dump.
            baseline: its accepted dump.
            with_baseline: their comparison, which also holds for a reference of the same bytes.
        """
        name, reference = actual.buffer, self.outcome.observations.reference
        if name not in self.case.references:
            return []
        if name not in reference.dumps:
            message = reference.facts.errors.get(name, "was not computed, because another one failed")
            return [Comparison(name, "reference", "", same=False, identical=False, of=0, message=message)]
        compared = self._compare_reference(actual, baseline, with_baseline)
        if not accuracy.is_reported(self.case, name):
            return [compared]
        widest = reference.facts.unrounded.get(name, reference.dumps[name])
        measured = accuracy.report(self.case, widest, actual, self.accepted)
        return [replace(compared, accuracy=measured)]

    def _compare_reference(self, actual: Dump, baseline: Dump | None, with_baseline: Comparison | None) -> Comparison:
        name, computed = actual.buffer, self.outcome.observations.reference
        reference, own = computed.dumps[name], self.case.compare.get(name, Rule())
        rule = self.case.reference_rules.get(name, own)
        pair = BufferPair(self.case, "reference", reference, actual, rule)
        known = None
        if baseline is not None and rule == own and compare.is_in_order(rule) and _is_equal(reference, baseline):
            known = with_baseline
        if name in computed.facts.unrounded and (rule.ulp is None or rule.verify):
            return self._with_unrounded(pair, computed.facts.unrounded[name], known)
        if known is None or pair.is_identical:
            return self._compare(pair)
        return replace(known, against="reference")

    def _with_unrounded(self, rounded: BufferPair, unrounded: Dump, known: Comparison | None) -> Comparison:
        """Compare with a reference in float64; the rounded one gives the findings of a difference."""
        pair = replace(rounded, expected=unrounded)
        if self.user is not None and pair.request.rule.verify:
            return self.user.compare(pair)
        compared = pair.compare()
        if compared.same or rounded.is_identical:
            return compared
        diagnosed = known or self._compare(rounded)
        figures = replace(
            compared.figures,
            error_maps=diagnosed.figures.error_maps,
            worst_thread=diagnosed.figures.worst_thread,
        )
        return replace(compared, findings=diagnosed.findings, figures=figures)

    def _check(self, wanted: Check, case: Case, actual: Dump) -> Comparison:
        if self.user is not None and user_code.needs(case, wanted):
            return self.user.check(wanted, case, actual)
        return check(case, actual, wanted)


def _is_equal(one: Dump, other: Dump) -> bool:
    return (one.digest, one.dtype, one.shape) == (other.digest, other.dtype, other.shape)

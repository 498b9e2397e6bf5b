"""All comparisons of a case's buffers: with the baseline, the reference, the checks and the repeats."""

from __future__ import annotations

import dataclasses

from gpuregress.foundation.frozen import dataclass
from gpuregress.foundation.records import Baseline, Case, Check, Comparison, Dump, Finding, Outcome, Rule
from gpuregress.judge import buffer_checks, compare, drift_and_determinism, seeds, user_code
from gpuregress.judge.buffer_pairs import BufferPair
from gpuregress.judge.launches import schedules
from gpuregress.judge.precision import accuracy
from gpuregress.judge.user_code import UserCodeProcess
from gpuregress.store.dumps import files


@dataclass(frozen=True, slots=True)
class CaseComparisons:
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
        found = {dump.buffer: self._of(dump) for dump in self.outcome.dumps}
        for failure in schedules.faults(self.case, self.outcome):
            found.setdefault(failure.buffer, []).append(failure)
        return found

    def notes(self) -> tuple[str, ...]:
        """What is told of comparisons that fail nothing."""
        return tuple(schedules.notes(self.case, self.outcome, self._compare))

    def _of(self, actual: Dump) -> list[Comparison]:
        comparisons: list[Comparison] = []
        baseline = self.accepted.dumps.get(actual.buffer) if self.accepted is not None else None
        if self.accepted is not None and baseline is not None:
            rule = seeds.rule_of(self.case, actual.buffer)
            comparisons.append(self._compare(BufferPair(self.case, "baseline", baseline, actual, rule)))
            comparisons += drift_and_determinism.drift(self.case, actual, self.accepted)
            comparisons += drift_and_determinism.determinism_of(self.case, actual, self.accepted, self.outcome)
        comparisons += self._with_reference(actual, baseline, comparisons[0] if comparisons else None)
        comparisons += self._with_twins(actual)
        comparisons += self._checks(actual)
        comparisons += self._with_repeats(actual)
        comparisons += schedules.comparisons(self.case, self.outcome, actual, self._compare)
        comparisons += seeds.comparisons(self.case, self.outcome, actual, baseline, self._check)
        return comparisons

    def _compare(self, pair: BufferPair) -> Comparison:
        """Compare a pair; a difference is diagnosed."""
        if self.user is not None and pair.request.rule.verify:
            if not pair.is_identical:
                files.verify(pair.expected)  # which may fetch it: the user's process does not
            return self.user.compare(pair)
        if pair.is_identical:
            return pair.compare()
        from gpuregress.judge import diagnosis  # noqa: PLC0415 - loads numpy, and only a difference needs it

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
        name, observed = actual.buffer, self.outcome.observations
        if name not in self.case.references:
            return []
        if name not in observed.references:
            message = observed.reference_errors.get(name, "was not computed, for another one failed")
            return [Comparison(name, "reference", "", same=False, identical=False, of=0, message=message)]
        compared = self._compare_reference(actual, baseline, with_baseline)
        if not accuracy.is_reported(self.case, name):
            return [compared]
        widest = observed.unrounded_references.get(name, observed.references[name])
        measured = accuracy.report(self.case, widest, actual, self.accepted)
        return [dataclasses.replace(compared, accuracy=measured)]

    def _compare_reference(self, actual: Dump, baseline: Dump | None, with_baseline: Comparison | None) -> Comparison:
        name, observed = actual.buffer, self.outcome.observations
        reference, own = observed.references[name], self.case.compare.get(name, Rule())
        rule = self.case.reference_rules.get(name, own)
        pair = BufferPair(self.case, "reference", reference, actual, rule)
        known = None
        if with_baseline is not None and baseline is not None and rule == own and compare.is_in_order(rule):
            known = with_baseline if _is_equal(reference, baseline) else None
        unrounded = observed.unrounded_references.get(name) if rule.ulp is None or rule.verify else None
        if unrounded is not None:
            return self._with_unrounded(pair, unrounded, known)
        if known is None or pair.is_identical:
            return self._compare(pair)
        return dataclasses.replace(known, against="reference")

    def _with_unrounded(self, rounded: BufferPair, unrounded: Dump, known: Comparison | None) -> Comparison:
        """Compare with a reference in float64; the rounded one gives the findings of a difference."""
        pair = dataclasses.replace(rounded, expected=unrounded)
        if self.user is not None and pair.request.rule.verify:
            return self.user.compare(pair)
        compared = pair.compare()
        if compared.same or rounded.is_identical:
            return compared
        diagnosed = known if known is not None else self._compare(rounded)
        figures = dataclasses.replace(
            compared.figures,
            error_maps=diagnosed.figures.error_maps,
            worst_thread=diagnosed.figures.worst_thread,
        )
        return dataclasses.replace(compared, findings=diagnosed.findings, figures=figures)

    def _with_twins(self, actual: Dump) -> list[Comparison]:
        """Compare a buffer with those of the case's twins; a difference gets its causes."""
        name, device = actual.buffer, self.outcome.device
        own = f"{device.name} ({device.model})" if device is not None else "this device"
        compared: list[Comparison] = []
        for twin in self.outcome.observations.twins:
            if twin.error:
                message = f"{twin.device}: {twin.error}"
                failed = Comparison(name, "twin", "", same=False, identical=False, of=actual.count, message=message)
                compared.append(failed)
            elif name in twin.dumps:
                one = self._compare(BufferPair(self.case, "twin", twin.dumps[name], actual))
                causes = twin.causes.get(name, ())
                found = tuple(Finding(cause.name, cause.message, cause.elements / cause.of) for cause in causes)
                if not one.same:
                    message = f"{own} and its twin {twin.device}: {one.difference}"
                    one = dataclasses.replace(one, message=message, findings=(*found, *one.findings))
                compared.append(one)
        return compared

    def _checks(self, actual: Dump) -> list[Comparison]:
        return [self._check(wanted, self.case, actual) for wanted in self.case.checks.get(actual.buffer, ())]

    def _check(self, wanted: Check, case: Case, actual: Dump) -> Comparison:
        if self.user is not None and user_code.needs(case, wanted):
            return self.user.check(wanted, case, actual)
        return buffer_checks.check(case, actual, wanted)

    def _with_repeats(self, first: Dump) -> list[Comparison]:
        """One comparison for all further runs: of the first one that differs from run 1, else of all."""
        digests = self.outcome.repeats.get(first.buffer, ())
        if not digests:
            return []
        observed, runs = self.outcome.observations, len(digests) + 1
        paths = observed.repeat_dumps.get(first.buffer, {})
        for number, path in sorted((int(number), path) for number, path in paths.items()):
            actual = dataclasses.replace(first, path=path, digest=digests[number - 2], text_digest="")
            compared = self._compare(BufferPair(self.case, "repeat", first, actual))
            if not compared.same:
                order = f" ({observed.orders[number - 1]})" if number <= len(observed.orders) else ""
                is_timed = observed.timing is not None and observed.timing.run == number
                run = "the last run of the timing loop" if is_timed else f"run {number} of {runs}{order}"
                message = f"{run} is not the first one: {compared.difference}"
                return [dataclasses.replace(compared, message=message)]
        orders = f" ({'; '.join(observed.orders)})" if observed.orders else ""
        results = len({first.digest, *digests})
        rule = f"{runs} runs{orders}, {results} different results, all the same under the buffer's rule"
        return [Comparison(first.buffer, "repeat", rule, same=True, identical=not paths, of=first.count)]


def _is_equal(one: Dump, other: Dump) -> bool:
    return (one.digest, one.dtype, one.shape) == (other.digest, other.dtype, other.shape)

"""Verdict on a case's outcome: all its comparisons, overwritten inputs, known rejections."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence

from msgspec import field

from gpuregress.foundation.errors import GpuregressError, HarnessError, Interrupted
from gpuregress.foundation.numeric import float_environment
from gpuregress.foundation.records import Case, Comparison, Outcome, Program, Verdict
from gpuregress.gpu.records import MutableRecord, replace
from gpuregress.judge import (
    cost_comparison,
    first_wrong,
    further_runs,
    overwritten_inputs,
    timing_comparison,
    verdict,
    write_coverage,
)
from gpuregress.judge.accepted import AcceptedDumps, made_of
from gpuregress.judge.case_comparisons import CaseComparisons
from gpuregress.judge.user_code import UserCodeProcess


class Judge(MutableRecord):
    """Judges outcomes.

    Args:
        accepted: the accepted dumps.
        rejected: case, buffer and digest of raw bytes that somebody rejected → who, when and why, in words.
        user: the process for the user's functions; None: this one.
        timed_cases: the cases of the run with `timing:`.
    """

    accepted: AcceptedDumps
    rejected: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    user: UserCodeProcess | None = None
    timed_cases: int = 1

    @float_environment.default()
    def verdict(self, case: Case, programs: Sequence[Program], outcome: Outcome) -> Verdict:
        """Judge a case that a worker ran; an error during a comparison gives a verdict, too."""
        try:
            accepted = self.accepted.baseline(case)
            of_case = CaseComparisons(case, outcome, accepted, self.user)
            comparisons: dict[str, list[Comparison]] = {}
            if outcome.state == "done":
                comparisons = write_coverage.without_poison(of_case.by_buffer(), outcome)
            comparisons = first_wrong.added(case, programs, outcome, accepted, comparisons)
            for name, overwritten in overwritten_inputs.comparisons(case, programs, outcome).items():
                comparisons.setdefault(name, []).append(overwritten)
            variants = further_runs.variant_verdicts(case, outcome, self.user)
            for failure in further_runs.variant_failures(case, outcome, variants):
                comparisons.setdefault(failure.buffer, []).append(failure)
            provenance = made_of(case, outcome, programs)
            timing = timing_comparison.compare(case, outcome, accepted, provenance, tests=max(1, self.timed_cases))
            counted = cost_comparison.compare(case, outcome, accepted)
            decided = verdict.decide(
                case, outcome, accepted, comparisons, made_of=provenance, timing=timing, costs=counted
            )
            decided = replace(decided, variants=variants, notes=(*decided.notes, *of_case.notes()))
        except Interrupted:
            raise
        except GpuregressError as error:
            return replace(verdict.failed(case, error), outcome=outcome, seconds=outcome.seconds)
        except Exception as error:  # noqa: BLE001 - a bug while comparing one case must not lose the others
            return internal_error(case, outcome, error)
        return self._with_rejections(write_coverage.reported(decided, case, outcome))

    def _with_rejections(self, decided: Verdict) -> Verdict:
        """The verdict with a note for each buffer whose bytes somebody rejected before."""
        if decided.outcome is None:
            return decided
        digests = {dump.buffer: dump.digest for dump in decided.outcome.dumps}
        notes = list(decided.notes)
        rejected = []
        for buffer in decided.buffers:
            rejection = self.rejected.get((decided.case, buffer.name, digests.get(buffer.name, "")))
            if buffer.status == "differ" and rejection is not None:
                notes.append(f"{buffer.name}: known to be bad: {rejection}")
                rejected.append(buffer.name)
        return replace(decided, notes=tuple(notes), rejected=tuple(rejected))


def internal_error(case: Case, outcome: Outcome, error: Exception) -> Verdict:
    """The verdict on a case during whose comparison gpuregress failed. Called where that error is handled."""
    reason = HarnessError(f"an error inside gpuregress while comparing: {type(error).__name__}: {error}")
    observed = replace(outcome.observations, traceback=traceback.format_exc())
    outcome = replace(outcome, observations=observed)
    return replace(verdict.failed(case, reason), outcome=outcome, seconds=outcome.seconds)

"""Drift from the first accepted baseline, and determinism against the recorded one."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gpuregress.foundation.records import Baseline, Case, Comparison, Dump, Outcome, Rule
from gpuregress.foundation.storage import split_name
from gpuregress.gpu.records import replace
from gpuregress.judge.buffer_pairs import BufferPair

if TYPE_CHECKING:
    from gpuregress.foundation.records import Determinism


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
    named = split_name(Path(first.path).name)
    revision = named[1] if named else Path(first.path).name
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
    from gpuregress.foundation.numeric import determinism  # noqa: PLC0415 - loads numpy, and few cases are run again

    expected = determinism.ObservedDeterminism(cast("Determinism", before), accepted.made_of.orders)
    observed = determinism.ObservedDeterminism(after, outcome.observations.orders)
    return [determinism.compare(actual.buffer, expected, observed, case.repeat, math.prod(actual.shape))]

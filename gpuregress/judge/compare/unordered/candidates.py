"""Match criterion of records, and candidate windows that hold every possible partner of a record.

Key columns must be equal to the bit; all other parts keep the bound.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType, Scalar
from gpuregress.foundation.numeric import ordinals
from gpuregress.foundation.numeric.ordinals import Array, Mask
from gpuregress.gpu.records import Record
from gpuregress.judge.compare.rules import elementwise
from gpuregress.judge.compare.rules.bound import Bound
from gpuregress.judge.compare.rules.elementwise import Floats

Indices = npt.NDArray[np.int64]
_SAMPLE = 256


class MatchCriterion(Record):
    """Criterion by which two records match.

    Attributes:
        element_type: of the records.
        bound: of the parts that are not keys; a NaN equals a NaN.
        keys: positions of the key parts.
    """

    element_type: ElementType
    bound: Bound
    keys: tuple[int, ...] = ()

    def matches(self, expected: Array, actual: Array) -> Mask:
        """Tell which pairs of rows match.

        Args:
            expected: one dimension, `element_type.storage`.
            actual: as many rows.
        """
        good = np.ones(len(expected), np.bool_)
        for position, (part, e, a) in enumerate(self.element_type.column_pairs(expected, actual)):
            good &= ~elementwise.broken(e, a, part.scalar, self.bound_of(position))
        return good

    def bound_of(self, position: int) -> Bound:
        """The bound of one part."""
        if position in self.keys:
            return Bound(signed_zero=self.bound.signed_zero)
        return self.bound.for_pairing()


class CandidateWindows(Record):
    """The expected rows sorted by one part, so that the possible partners of a row are contiguous.

    Attributes:
        part: the position of the part.
        order: the rows in sorted order.
        values: that part, sorted, as float64; NaN as inf.
    """

    criterion: MatchCriterion
    part: int
    order: Indices
    values: Floats

    def span(self, actual: Array) -> tuple[Indices, Indices]:
        """Begin and end of each row's window in `order`."""
        low, high = _interval(self.criterion, self.part, actual)
        return (
            np.searchsorted(self.values, low, side="left").astype(np.int64),
            np.searchsorted(self.values, high, side="right").astype(np.int64),
        )


def windows(criterion: MatchCriterion, expected: Array, actual: Array) -> CandidateWindows:
    """Sort by the part that leaves the fewest candidates, judged by a sample.

    Args:
        criterion: by which rows match.
        expected: the possible partners.
        actual: the rows to be matched.
    """
    sample = actual[:: max(1, len(actual) // _SAMPLE)]
    best: tuple[int, CandidateWindows] | None = None
    for position in range(len(criterion.element_type.parts)):
        values = _line(criterion.element_type, position, expected)
        order = np.argsort(values, kind="stable").astype(np.int64)
        sorted_by = CandidateWindows(criterion, position, order, values[order])
        begin, end = sorted_by.span(sample)
        size = int((end - begin).sum())
        if best is None or size < best[0]:
            best = size, sorted_by
    assert best is not None, "an element has a part"
    return best[1]


def _line(element_type: ElementType, position: int, rows: Array) -> Floats:
    column, scalar = element_type.columns(rows)[position], element_type.parts[position].scalar
    values = _as_float(column, scalar)
    values[np.isnan(values)] = np.inf
    return values


def _as_float(column: Array, scalar: Scalar) -> Floats:
    with np.errstate(invalid="ignore"):
        return dtypes.to_float(column, scalar).astype(np.float64)


def _interval(criterion: MatchCriterion, position: int, actual: Array) -> tuple[Floats, Floats]:
    """An interval that holds every expected value within the bound of each row's: slightly too wide.

    From |a - b| <= atol + rtol |b| follows |b| <= (|a| + atol) / (1 - rtol), which bounds the right-hand side.
    """
    scalar, bound = criterion.element_type.parts[position].scalar, criterion.bound_of(position)
    column = criterion.element_type.columns(actual)[position]
    values = _line(criterion.element_type, position, actual)
    low, high = values.copy(), values.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        if bound.has_tolerance:
            rtol, atol = bound.rtol or 0.0, bound.atol or 0.0
            width = (atol + rtol * (np.abs(values) + atol) / (1.0 - rtol)) * (1 + 1e-9) if rtol < 1 else np.inf
            width = width + np.abs(values) * 2.0**-51  # 64-bit integers were rounded on the way
            width = np.where(np.isfinite(values), width, 0.0)
            low, high = np.nextafter(values - width, -np.inf), np.nextafter(values + width, np.inf)
        if bound.ulp is not None and scalar.is_float:
            low, high = _widen_by_ulps(column, scalar, bound.ulp, low, high)
    return low, high


def _widen_by_ulps(column: Array, scalar: Scalar, ulp: int, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Move the ends out by ULPs; past infinity they are infinite."""
    limits = np.iinfo(f"i{scalar.size}")
    keys = ordinals.keys(column, scalar).tolist()
    ends = []
    for step in (-ulp, ulp):
        moved = np.array([min(max(key + step, limits.min), limits.max) for key in keys], f"<i{scalar.size}")
        end = _as_float(ordinals.values(moved, scalar), scalar)
        end[np.isnan(end)] = math.copysign(math.inf, step)
        ends.append(end)
    return np.minimum(low, ends[0]), np.maximum(high, ends[1])

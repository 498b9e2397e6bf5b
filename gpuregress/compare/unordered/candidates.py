"""Which pairs of records are near: every part within its bound; and windows that hold every record near to another.

A record's key columns, where a rule names them, must be equal to the bit; all other parts keep the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpuregress import dtypes, ordinals
from gpuregress.compare.rules import elementwise
from gpuregress.compare.rules.bound import Bound
from gpuregress.compare.rules.elementwise import Floats
from gpuregress.dtypes import ElementType, Scalar
from gpuregress.ordinals import Array, Mask

Places = npt.NDArray[np.int64]
_SAMPLE = 256


@dataclass(frozen=True, slots=True)
class MatchCriterion:
    """What makes two records partners.

    Attributes:
        element_type: of the records.
        bound: for the parts that are no key; its `nan` is taken as `equal`.
        keys: the positions of the parts that must be equal.
    """

    element_type: ElementType
    bound: Bound
    keys: tuple[int, ...] = ()

    def near(self, expected: Array, actual: Array) -> Mask:
        """Which pairs of rows are near.

        Args:
            expected: one dimension, `element_type.storage`.
            actual: as many rows.
        """
        good = np.ones(len(expected), np.bool_)
        columns = zip(self.element_type.columns(expected), self.element_type.columns(actual), strict=True)
        for at, (part, (e, a)) in enumerate(zip(self.element_type.parts, columns, strict=True)):
            good &= ~elementwise.broken(e, a, part.scalar, self.bound_of(at))
        return good

    def bound_of(self, at: int) -> Bound:
        """The bound of one part."""
        if at in self.keys:
            return Bound(signed_zero=self.bound.signed_zero)
        return Bound(self.bound.rtol, self.bound.atol, self.bound.ulp, "equal", self.bound.signed_zero)


@dataclass(frozen=True, slots=True)
class CandidateWindows:
    """The baseline's rows sorted by one part, in which the partners of a row stand side by side.

    Attributes:
        part: the position of the part.
        order: the rows in sorted order.
        values: that part, sorted, as float64; NaN as inf.
    """

    criterion: MatchCriterion
    part: int
    order: Places
    values: Floats

    def span(self, actual: Array) -> tuple[Places, Places]:
        """For each row, where its window begins and ends in `order`."""
        low, high = _interval(self.criterion, self.part, actual)
        return (
            np.searchsorted(self.values, low, side="left").astype(np.int64),
            np.searchsorted(self.values, high, side="right").astype(np.int64),
        )


def windows(criterion: MatchCriterion, expected: Array, actual: Array) -> CandidateWindows:
    """The windows along the part that leaves the fewest candidates, judged by a sample.

    Args:
        criterion: what makes rows partners.
        expected: the rows to be found.
        actual: the rows that look for partners.
    """
    sample = actual[:: max(1, len(actual) // _SAMPLE)]
    best: tuple[int, CandidateWindows] | None = None
    for at in range(len(criterion.element_type.parts)):
        values = _line(criterion.element_type, at, expected)
        order = np.argsort(values, kind="stable").astype(np.int64)
        found = CandidateWindows(criterion, at, order, values[order])
        begin, end = found.span(sample)
        size = int((end - begin).sum())
        if best is None or size < best[0]:
            best = size, found
    assert best is not None, "an element has a part"
    return best[1]


def _line(element_type: ElementType, at: int, rows: Array) -> Floats:
    column, scalar = element_type.columns(rows)[at], element_type.parts[at].scalar
    values = _as_float(column, scalar)
    values[np.isnan(values)] = np.inf
    return values


def _as_float(column: Array, scalar: Scalar) -> Floats:
    with np.errstate(invalid="ignore"):
        return dtypes.to_float(column, scalar).astype(np.float64)


def _interval(criterion: MatchCriterion, at: int, actual: Array) -> tuple[Floats, Floats]:
    """An interval that holds every baseline value near to each row's: a little wider than need be.

    From |a - b| <= atol + rtol |b| follows |b| <= (|a| + atol) / (1 - rtol), which bounds the right-hand side.
    """
    scalar, bound = criterion.element_type.parts[at].scalar, criterion.bound_of(at)
    column = criterion.element_type.columns(actual)[at]
    values = _line(criterion.element_type, at, actual)
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
    """Ends moved out by steps between floats; past infinity they are infinite."""
    limits = np.iinfo(f"i{scalar.size}")
    keys = ordinals.keys(column, scalar).tolist()
    ends = []
    for step in (-ulp, ulp):
        moved = np.array([min(max(key + step, limits.min), limits.max) for key in keys], f"<i{scalar.size}")
        end = _as_float(ordinals.values(moved, scalar), scalar)
        end[np.isnan(end)] = math.copysign(math.inf, step)
        ends.append(end)
    return np.minimum(low, ends[0]), np.maximum(high, ends[1])

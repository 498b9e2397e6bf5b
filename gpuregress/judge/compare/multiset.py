"""Comparison of scalars in any order: both sides are sorted and paired by a two-pointer walk.

For a bound whose interval around b has ends that rise with b (atol, ulp, rtol < 1, and the union of such), a matching
of all elements exists exactly where the two sorted sequences pair up one by one: an exchange argument. Where they do
not, one dropped and one added value would shift every later pair, so the walk skips the smaller of a pair that does not
match; that greedy matching is as large as any, and what it leaves is "only in the baseline" and "only here".
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.dtypes import Part, Scalar
from gpuregress.foundation.numeric import ordinals
from gpuregress.foundation.numeric.decimals import word
from gpuregress.foundation.numeric.ordinals import Array, Mask
from gpuregress.foundation.records import (
    AnyOrderFigures,
    Comparison,
    Element,
    Figures,
    InOrderFigures,
    OutlierCounts,
    SideCounts,
)
from gpuregress.foundation.records.rules import Bound, rule_text
from gpuregress.gpu.records import Record, replace
from gpuregress.judge.compare import bounds, error_norms, tolerance_use
from gpuregress.judge.compare.bounds import interval
from gpuregress.judge.compare.comparison_request import ComparisonRequest
from gpuregress.judge.compare.difference_statistics import (
    FIRST,
    DifferingPart,
    ErrorSums,
    differing_part,
    elements,
    outlier_counts,
    outlier_problems,
)

Indices = npt.NDArray[np.signedinteger[Any]]
MOST, BLOCK, FEWEST = 1 << 18, 1 << 16, 1 << 10


class _Side(Record):
    """One side, sorted: its total-order keys, from which values are made where they are needed."""

    keys: Array
    scalar: Scalar

    def values(self, at: slice | Indices) -> Array:
        """Some of the sorted values."""
        return ordinals.values(self.keys[at], self.scalar)

    def nan(self) -> int:
        """The number of NaNs, which are sorted last."""
        if not self.scalar.is_float:
            return 0
        top = np.array(np.iinfo(self.keys.dtype).max, self.keys.dtype)  # a plain int would widen a copy of all keys
        return len(self.keys) - int(np.searchsorted(self.keys, top, side="left"))


class Unmatched(Record):
    """Elements without a partner, as indices into each side's sorted keys."""

    expected: Indices
    actual: Indices

    @property
    def counts(self) -> tuple[int, int]:
        """Elements without a partner, of each side."""
        return len(self.expected), len(self.actual)

    @property
    def count(self) -> int:
        """Elements without a partner, of the side that has more."""
        return max(self.counts)


def compare(request: ComparisonRequest, expected: Array, actual: Array) -> Comparison:
    """Compare the values of two whole arrays of scalars in any order.

    Args:
        request: the buffer and the rule.
        expected: one dimension, `request.element_type.storage`, of one part.
        actual: the same.
    """
    part, rule = request.element_type.parts[0], request.rule
    bound = Bound.of_rule(rule)
    changed = _count_changed(expected, actual, part.scalar)
    sides = _both_sorted(expected, actual, part.scalar, bound)
    evaluation = _RuleEvaluation(request, part, bound, *sides)
    problems, left = evaluation.problems(), evaluation.left
    return request.result(
        same=not problems,
        rule=rule_text(rule),
        figures=Figures(
            nan=evaluation.nan,
            outliers=evaluation.outliers,
            metrics=error_norms.figures(evaluation.metrics),
            in_order=InOrderFigures(changed == 0, changed=changed),
            any_order=AnyOrderFigures(not problems, len(left.expected), len(left.actual)),
        ),
        identical=changed == 0,
        changed=changed,
        differing=left.count or changed if problems else 0,
        multiset_same=np.array_equal(sides[0].keys, sides[1].keys),
        only_expected=len(left.expected),
        only_actual=len(left.actual),
        worst=_worst(part, expected, *sides, left, bound),
        first=_first(part, (expected, actual), sides, left, bound) if problems else (),
        message="; ".join(problems),
        tolerance_share=tolerance_use.largest(
            evaluation.tolerance_share(), tolerance_use.of_metrics(rule.metric, evaluation.metrics)
        ),
    )


def count_unmatched(expected: Array, actual: Array, scalar: Scalar, bound: Bound) -> tuple[int, int]:
    """Count the elements of each side without a partner under a bound."""
    return _unmatched(*_both_sorted(expected, actual, scalar, bound), scalar, bound).counts


class _RuleEvaluation:
    """Evaluation of a rule on two sorted sides, with the figures that `problems` calculates."""

    def __init__(self, request: ComparisonRequest, part: Part, bound: Bound, expected: _Side, actual: _Side) -> None:
        self.request, self.part, self.bound = request, part, bound
        self.expected, self.actual = expected, actual
        self.nan = SideCounts(expected.nan(), actual.nan())
        self.outliers: OutlierCounts | None = None
        self.metrics: dict[str, float] = {}
        nothing = np.zeros(0, np.int64)
        only_metric = bool(request.rule.metric) and bound.is_exact
        self.left = Unmatched(nothing, nothing) if only_metric else _unmatched(expected, actual, part.scalar, bound)

    def problems(self) -> list[str]:
        """Describe what breaks the rule, a line each."""
        problems = []
        if self.bound.nan == "never" and (self.nan.expected or self.nan.actual):
            problems.append(f"{self.nan.actual} NaN here and {self.nan.expected} in the baseline, none may be")
        if self.request.rule.metric:
            problems += self._metric_problems()
        return problems + self._unmatched_problems()

    def tolerance_share(self) -> float | None:
        """The largest part of the bound that a pair uses; None where values have no partner."""
        if self.left.count:
            return None
        use = tolerance_use.ToleranceUse(self.bound)
        for start in range(0, 0 if self.bound.is_exact else len(self.expected.keys), MOST):
            block = slice(start, start + MOST)
            rows = np.flatnonzero(self.expected.keys[block] != self.actual.keys[block]) + start
            e, a = self.expected.values(rows), self.actual.values(rows)
            absolute = bounds.absolute(e, a, self.part.scalar)
            use.add(e, a, self.part.scalar, absolute, bounds.magnitude(e, self.part.scalar))
        return use.share(is_broken=False)

    def _unmatched_problems(self) -> list[str]:
        left, outliers = self.left, self.request.rule.outliers
        if not left.count:
            return []
        if outliers is None:
            return [f"{len(left.expected)} values only in the {self.request.against}, {len(left.actual)} only here"]
        second = Bound.of_outliers(outliers, self.request.rule)
        beyond = _unmatched(self.expected, self.actual, self.part.scalar, second).count
        self.outliers = outlier_counts(self.request, left.count, beyond)
        return outlier_problems(self.outliers, self.request.total)

    def _metric_problems(self) -> list[str]:
        """Evaluate the metrics of the sorted pairs; each NaN and infinity must have an equal partner."""
        norms, errors, misplaced = error_norms.ExpectedNorms(self.request.element_type), ErrorSums(), 0
        for start in range(0, len(self.expected.keys), MOST):
            e, a = (side.values(slice(start, start + MOST)) for side in (self.expected, self.actual))
            norms.add(e, a)
            absolute = bounds.absolute(e, a, self.part.scalar)
            errors.add(absolute[~np.isnan(absolute)])
            misplaced += int(np.count_nonzero(np.isnan(absolute) & bounds.changed(e, a, self.part.scalar)))
        problems = [f"{misplaced} NaN or infinities have no partner"] if misplaced else []
        self.metrics = error_norms.values([errors], norms)
        return problems + error_norms.problems(self.request.rule.metric, self.metrics)


def _count_changed(expected: Array, actual: Array, scalar: Scalar) -> int:
    return sum(
        int(np.count_nonzero(bounds.changed(expected[start : start + MOST], actual[start : start + MOST], scalar)))
        for start in range(0, len(expected), MOST)
    )


def _both_sorted(expected: Array, actual: Array, scalar: Scalar, bound: Bound) -> tuple[_Side, _Side]:
    """Sort both sides at once."""
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(_sorted, actual, scalar, bound)
        return _sorted(expected, scalar, bound), other.result()


def _sorted(column: Array, scalar: Scalar, bound: Bound) -> _Side:
    """Make and sort the keys of a column in place: one array as large as the column."""
    merge = bound.signed_zero == "equal"
    keys = np.empty(len(column), ordinals.keys(column[:0], scalar).dtype)
    for start in range(0, len(column), MOST):
        block = slice(start, start + MOST)
        keys[block] = ordinals.keys(column[block], scalar, merge_zeros=merge)
    keys.sort()
    return _Side(keys, scalar)


def _unmatched(expected: _Side, actual: _Side, scalar: Scalar, bound: Bound) -> Unmatched:
    """Walk both sides: each value takes the first one within its bound that is free.

    Blocks are long while values pair up one by one; they are short after a value that does not, and grow again.
    """
    left, free = np.ones(len(expected.keys), np.bool_), 0
    taken = np.zeros(len(actual.keys), np.bool_)
    i, size, few = 0, MOST, FEWEST
    while i < len(left):
        paired, count = _paired(expected, actual, scalar, bound, slice(i, i + size), free)
        left[i : i + paired] = False
        taken[free : free + paired] = True
        i, free, size = i + paired, free + paired, min(2 * size, MOST)
        if paired == count:
            few = FEWEST
            continue
        partners, end, after = _partners(expected.keys[i : i + few], actual.keys, scalar, bound, free)
        has_partner = partners < end
        left[i : i + few] = ~has_partner
        taken[partners[has_partner]] = True
        i, free, size, few = i + len(partners), after, FEWEST, min(2 * few, BLOCK)
    return Unmatched(_where(left), _where(~taken))


def _paired(expected: _Side, actual: _Side, scalar: Scalar, bound: Bound, block: slice, free: int) -> tuple[int, int]:
    """Count the values at the start of a block that pair up with those from `free` on, one by one; and all of it."""
    keys = expected.keys[block]
    beside = actual.keys[free : free + len(keys)]
    off = keys[: len(beside)] != beside
    if not bound.is_exact and off.any():
        values = ordinals.values(keys[: len(beside)], scalar), ordinals.values(beside, scalar)
        off = bounds.broken(*values, scalar, bound.for_pairing())
    return int(np.argmax(off)) if off.any() else len(beside), len(keys)


def _partners(keys: Array, among: Array, scalar: Scalar, bound: Bound, free: int) -> tuple[Indices, Indices, int]:
    """The index of each key's partner in the other side, the end of its interval, and the next free index."""
    low, high = interval(keys, scalar, bound)
    # If rounding lets an end fall back by a step, the narrower interval counts.
    first = np.maximum.accumulate(np.searchsorted(among, low))
    end = np.minimum.accumulate(np.searchsorted(among, high, side="right")[::-1])[::-1]
    end = np.maximum(end, free)
    partners, after = _first_free(first, end, free)
    return partners, end, after


def _where(mask: Mask) -> Indices:
    """The indices of the set elements, in the smallest sufficient type."""
    indices: Indices = np.empty(np.count_nonzero(mask), np.dtype("i8" if len(mask) >> 31 else "i4"))
    done = 0
    for start in range(0, len(mask), MOST):
        rows = np.flatnonzero(mask[start : start + MOST])
        indices[done : done + len(rows)] = rows + start
        done += len(rows)
    return indices


def _first_free(first: Indices, end: Indices, free: int) -> tuple[Indices, int]:
    """Assign indices in turn: to each range its first index that no earlier range has.

    Taking an index makes `free` into min(max(free + 1, low), high), with low = min(first + 1, end) and high = end; if
    none is left it makes it into high. Functions of that kind can be composed: shifts are added, low and high go
    through the next one. So the rows of a square are calculated side by side, column by column, and then joined.

    Args:
        first: the start of each range, ascending.
        end: its end, ascending; ranges may be empty.
        free: the first index that may be assigned.

    Returns:
        The indices, one not before `end` standing for none; and the next free one.
    """
    count, side = len(first), math.isqrt(len(first) - 1) + 1
    low, high = (
        np.pad(ends, (0, side * side - count), mode="edge").reshape(side, side).T.copy()
        for ends in (np.minimum(first + 1, end), end)
    )
    lowest, highest = low[0], high[0]
    for column in range(1, side):
        lowest, highest = (np.minimum(np.maximum(ends + 1, low[column]), high[column]) for ends in (lowest, highest))
    starts = [free]
    for bottom, top in zip(lowest.tolist(), highest.tolist(), strict=True):
        starts.append(min(max(starts[-1] + side, bottom), top))
    taken = np.empty((side + 1, side), np.int64)
    taken[0] = starts[:-1]
    for column in range(side):
        taken[column + 1] = np.minimum(np.maximum(taken[column] + 1, low[column]), high[column])
    before = taken[:-1].T.reshape(-1)[:count]
    after = min(max(int(before[-1]) + 1, int(min(first[-1] + 1, end[-1]))), int(end[-1]))
    return np.maximum(before, first), after


def _worst(
    part: Part, original: Array, expected: _Side, actual: _Side, left: Unmatched, bound: Bound
) -> Element | None:
    """The worst pair of unmatched elements, paired in sorted order."""
    worst: tuple[float, int, DifferingPart] | None = None
    for start in range(0, min(left.counts), MOST):
        count = min(MOST, min(left.counts) - start)
        rows = left.expected[start : start + count]
        e, a = expected.values(rows), actual.values(left.actual[start : start + count])
        absolute = bounds.absolute(e, a, part.scalar)
        scores = np.where(np.isnan(absolute), np.inf, absolute)
        row = int(np.argmax(scores))
        if worst is None or scores[row] > worst[0]:
            worst = float(scores[row]), int(rows[row]), differing_part(part, 0, e, a, row)
    if worst is None:
        return None
    index = _original_index(original, part.scalar, expected.keys, worst[1], bound)
    return elements([replace(worst[2], index=index)])[0]


def _first(
    part: Part, originals: tuple[Array, Array], sides: tuple[_Side, _Side], left: Unmatched, bound: Bound
) -> tuple[Element, ...]:
    """The first few without a partner: half of the list a side."""
    first: list[Element] = []
    for is_actual, rows in enumerate((left.expected, left.actual)):
        for row in rows[: FIRST // 2].tolist():
            text = word(sides[is_actual].values(slice(row, row + 1)), 0, part.scalar)
            index = _original_index(originals[is_actual], part.scalar, sides[is_actual].keys, row, bound)
            first.append(Element(index, part.name, *(("", text) if is_actual else (text, ""))))
    return tuple(first)


def _original_index(original: Array, scalar: Scalar, keys: Array, row: int, bound: Bound) -> int:
    """The index in the buffer of an element in sorted order; equal elements keep their order."""
    key = keys[row]
    nth = row - int(np.searchsorted(keys, key, side="left"))
    for start in range(0, len(original), MOST):
        block = ordinals.keys(original[start : start + MOST], scalar, merge_zeros=bound.signed_zero == "equal")
        equal = np.flatnonzero(block == key)
        if nth < len(equal):
            return start + int(equal[nth])
        nth -= len(equal)
    raise AssertionError("a sorted value is in the buffer")

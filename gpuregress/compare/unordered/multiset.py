"""Scalars in any order: both sides sorted, and paired by a two-pointer walk.

For a bound whose interval around b has ends that rise with b (atol, ulp, rtol < 1, and the union of such), a matching
of all elements exists exactly where the two sorted sequences pair up one by one: an exchange argument. Where they do
not, one dropped and one added value would shift every later pair, so the walk skips the smaller of a pair that does not
match; that greedy matching is as large as any, and what it leaves is "only in the baseline" and "only here".
"""

from __future__ import annotations

import dataclasses
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress import ordinals, records
from gpuregress.compare.metrics import error_norms
from gpuregress.compare.metrics.difference_statistics import (
    FIRST,
    DifferingPart,
    ErrorSums,
    differing_part,
    elements,
    finite,
)
from gpuregress.compare.request import ComparisonRequest
from gpuregress.compare.rules import description, elementwise
from gpuregress.compare.rules.bound import Bound
from gpuregress.compare.rules.interval import reach
from gpuregress.decimals import word
from gpuregress.dtypes import Part, Scalar
from gpuregress.ordinals import Array, Mask
from gpuregress.records import Comparison, Element

Places = npt.NDArray[np.signedinteger[Any]]
_MOST, _BLOCK, _FEWEST = 1 << 18, 1 << 16, 1 << 10


@dataclass(frozen=True, slots=True)
class _Side:
    """One side, sorted: its total-order keys, from which values are made where they are needed."""

    keys: Array
    scalar: Scalar

    def values(self, at: slice | Places) -> Array:
        """Some of the sorted values."""
        return ordinals.values(self.keys[at], self.scalar)

    def nan(self) -> int:
        """How many NaNs there are: they are sorted last."""
        if not self.scalar.is_float:
            return 0
        top = np.array(np.iinfo(self.keys.dtype).max, self.keys.dtype)  # a plain int would widen a copy of all keys
        return len(self.keys) - int(np.searchsorted(self.keys, top, side="left"))


@dataclass(frozen=True, slots=True)
class Unmatched:
    """What finds no partner: places in the sorted order of each side."""

    expected: Places
    actual: Places

    @property
    def counts(self) -> tuple[int, int]:
        """Elements without a partner, of each side."""
        return len(self.expected), len(self.actual)

    @property
    def count(self) -> int:
        """Elements without a partner, of the side that has more."""
        return max(self.counts)


def compare(request: ComparisonRequest, expected: Array, actual: Array) -> Comparison:
    """Compares the values of two whole arrays of scalars, whatever their order.

    Args:
        request: what to compare and how.
        expected: one dimension, `request.element_type.storage`, of one part.
        actual: the same.
    """
    part, rule = request.element_type.parts[0], request.rule
    bound = Bound.of_rule(rule)
    changed = _count_changed(expected, actual, part.scalar)
    sides = _both_sorted(expected, actual, part.scalar, bound)
    numbers: dict[str, Any] = {"in_order": {"same": changed == 0, "changed": changed}}
    judge = _Judge(request, part, bound, *sides, numbers)
    problems = judge.problems()
    left = judge.left
    numbers["any_order"] = {
        "same": not problems,
        "only_expected": len(left.expected),
        "only_actual": len(left.actual),
    }
    return request.result(
        same=not problems,
        rule=description.rule(rule),
        numbers=numbers,
        identical=changed == 0,
        changed=changed,
        differing=left.count or changed if problems else 0,
        multiset_same=np.array_equal(sides[0].keys, sides[1].keys),
        only_expected=len(left.expected),
        only_actual=len(left.actual),
        worst=_worst(part, expected, *sides, left, bound),
        first=_first(part, (expected, actual), sides, left, bound) if problems else (),
        message="; ".join(problems),
    )


def count_unmatched(expected: Array, actual: Array, scalar: Scalar, bound: Bound) -> tuple[int, int]:
    """How many of each side find no partner on the other under a bound."""
    left = _leftover(*_both_sorted(expected, actual, scalar, bound), scalar, bound)
    return left.counts


class _Judge:
    """The rule applied to two sorted sides."""

    def __init__(
        self,
        request: ComparisonRequest,
        part: Part,
        bound: Bound,
        expected: _Side,
        actual: _Side,
        numbers: dict[str, Any],
    ) -> None:
        self.request, self.part, self.bound, self.numbers = request, part, bound, numbers
        self.expected, self.actual = expected, actual
        nothing = np.zeros(0, np.int64)
        only_metric = bool(request.rule.metric) and bound.is_exact
        self.left = Unmatched(nothing, nothing) if only_metric else _leftover(expected, actual, part.scalar, bound)

    def problems(self) -> list[str]:
        """What breaks the rule, a line each."""
        nan = [side.nan() for side in (self.expected, self.actual)]
        self.numbers["nan"] = {"expected": nan[0], "actual": nan[1]}
        said = []
        if self.bound.nan == "never" and any(nan):
            said.append(f"{nan[1]} NaN here and {nan[0]} in the baseline, none may be")
        if self.request.rule.metric:
            said += self._metric_problems()
        return said + self._leftover_problems()

    def _leftover_problems(self) -> list[str]:
        left, outliers, total = self.left, self.request.rule.outliers, self.request.total
        if not left.count:
            return []
        if outliers is None:
            return [f"{len(left.expected)} values only in the {_side(self.request)}, {len(left.actual)} only here"]
        second = Bound.of_outliers(outliers, self.request.rule)
        beyond = _leftover(self.expected, self.actual, self.part.scalar, second).count
        allowed = math.floor(outliers.fraction * total + 1e-9)
        self.numbers["outliers"] = {"missed": left.count, "allowed": allowed, "beyond": beyond}
        said = [f"{left.count} of {total} find no partner, {allowed} may"] if left.count > allowed else []
        return said + ([f"{beyond} of {total} find none within the outliers' bound, none may"] if beyond else [])

    def _metric_problems(self) -> list[str]:
        """Metrics of the sorted pairs; what is not a number must stand in the same sorted places."""
        baselines, errors, misplaced = error_norms.ExpectedNorms(self.request.element_type), ErrorSums(), 0
        for start in range(0, len(self.expected.keys), _MOST):
            e, a = (side.values(slice(start, start + _MOST)) for side in (self.expected, self.actual))
            baselines.add(e, a)
            absolute = elementwise.absolute(e, a, self.part.scalar)
            errors.add(absolute[~np.isnan(absolute)])
            misplaced += int(np.count_nonzero(np.isnan(absolute) & elementwise.changed(e, a, self.part.scalar)))
        found = error_norms.values([errors], baselines)
        self.numbers["metrics"] = {name: finite(value) for name, value in found.items()}
        said = [f"{misplaced} NaN or infinities have no partner"] if misplaced else []
        return said + error_norms.failures(self.request.rule.metric, found)


def _side(request: ComparisonRequest) -> str:
    return "baseline" if request.against == "baseline" else request.against


def _count_changed(expected: Array, actual: Array, scalar: Scalar) -> int:
    return sum(
        int(np.count_nonzero(elementwise.changed(expected[at : at + _MOST], actual[at : at + _MOST], scalar)))
        for at in range(0, len(expected), _MOST)
    )


def _both_sorted(expected: Array, actual: Array, scalar: Scalar, bound: Bound) -> tuple[_Side, _Side]:
    """Both sides, sorted at once."""
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(_sorted, actual, scalar, bound)
        return _sorted(expected, scalar, bound), other.result()


def _sorted(column: Array, scalar: Scalar, bound: Bound) -> _Side:
    """Sorted keys, made block by block and sorted in place: one array as large as the column."""
    merge = bound.signed_zero == "equal"
    keys = np.empty(len(column), ordinals.keys(column[:0], scalar).dtype)
    for start in range(0, len(column), _MOST):
        block = slice(start, start + _MOST)
        keys[block] = ordinals.keys(column[block], scalar, merge_zeros=merge)
    keys.sort()
    return _Side(keys, scalar)


def _leftover(expected: _Side, actual: _Side, scalar: Scalar, bound: Bound) -> Unmatched:
    """The two-pointer walk: each value takes the first one that is near and free.

    Long blocks while values pair up one by one; from a value that does not, short ones, and longer while it goes on.
    """
    left, free = np.ones(len(expected.keys), np.bool_), 0
    taken = np.zeros(len(actual.keys), np.bool_)
    i, size, few = 0, _MOST, _FEWEST
    while i < len(left):
        paired, count = _paired(expected, actual, scalar, bound, slice(i, i + size), free)
        left[i : i + paired] = False
        taken[free : free + paired] = True
        i, free, size = i + paired, free + paired, min(2 * size, _MOST)
        if paired == count:
            few = _FEWEST
            continue
        places, end, after = _places(expected.keys[i : i + few], actual.keys, scalar, bound, free)
        found = places < end
        left[i : i + few] = ~found
        taken[places[found]] = True
        i, free, size, few = i + len(places), after, _FEWEST, min(2 * few, _BLOCK)
    return Unmatched(_where(left), _where(~taken))


def _paired(expected: _Side, actual: _Side, scalar: Scalar, bound: Bound, block: slice, free: int) -> tuple[int, int]:
    """How many values of a block pair up from its start with those from `free` on, one by one; and its length."""
    keys = expected.keys[block]
    beside = actual.keys[free : free + len(keys)]
    off = keys[: len(beside)] != beside
    if not bound.is_exact and off.any():
        values = ordinals.values(keys[: len(beside)], scalar), ordinals.values(beside, scalar)
        off = elementwise.broken(*values, scalar, _no_nan(bound))
    return int(np.argmax(off)) if off.any() else len(beside), len(keys)


def _places(keys: Array, among: Array, scalar: Scalar, bound: Bound, free: int) -> tuple[Places, Places, int]:
    """The place of each key's partner in the other side, the end of where it may be, and the next free place."""
    low, high = reach(keys, scalar, bound)
    # Where rounding lets an end fall back by a step, the narrower range counts.
    first = np.maximum.accumulate(np.searchsorted(among, low))
    end = np.minimum.accumulate(np.searchsorted(among, high, side="right")[::-1])[::-1]
    end = np.maximum(end, free)
    places, after = _first_free(first, end, free)
    return places, end, after


def _where(mask: Mask) -> Places:
    """The places that are set, in as few bytes as will do."""
    found: Places = np.empty(np.count_nonzero(mask), np.dtype("i8" if len(mask) >> 31 else "i4"))
    done = 0
    for start in range(0, len(mask), _MOST):
        here = np.flatnonzero(mask[start : start + _MOST])
        found[done : done + len(here)] = here + start
        done += len(here)
    return found


def _first_free(first: Places, end: Places, free: int) -> tuple[Places, int]:
    """Gives out places in turn: to each the first one of its range that nobody before it has.

    Taking a place makes `free` into min(max(free + 1, low), high), with low = min(first + 1, end) and high = end; where
    none is left it makes it into high. Functions of that kind can be composed: shifts are added, low and high go
    through the next one. So rows of a square are worked out side by side, column by column, and then joined.

    Args:
        first: where each range begins, rising.
        end: where it ends, rising; the ranges may be empty.
        free: the first place that may be given out.

    Returns:
        The places, those that are not before `end` standing for none; and the next free one.
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
    places = np.empty((side + 1, side), np.int64)
    places[0] = starts[:-1]
    for column in range(side):
        places[column + 1] = np.minimum(np.maximum(places[column] + 1, low[column]), high[column])
    before = places[:-1].T.reshape(-1)[:count]
    after = min(max(int(before[-1]) + 1, int(min(first[-1] + 1, end[-1]))), int(end[-1]))
    return np.maximum(before, first), after


def _no_nan(bound: Bound) -> Bound:
    """The bound for pairing: that no NaN may be at all is said once, for the buffer."""
    return Bound(bound.rtol, bound.atol, bound.ulp, "equal", bound.signed_zero)


def _worst(
    part: Part, original: Array, expected: _Side, actual: _Side, left: Unmatched, bound: Bound
) -> Element | None:
    """The worst pair among what is left, paired in sorted order."""
    worst: tuple[float, int, DifferingPart] | None = None
    for start in range(0, min(left.counts), _MOST):
        count = min(_MOST, min(left.counts) - start)
        places = left.expected[start : start + count]
        e, a = expected.values(places), actual.values(left.actual[start : start + count])
        absolute = elementwise.absolute(e, a, part.scalar)
        scores = np.where(np.isnan(absolute), np.inf, absolute)
        at = int(np.argmax(scores))
        if worst is None or scores[at] > worst[0]:
            worst = float(scores[at]), int(places[at]), differing_part(part, 0, e, a, at)
    if worst is None:
        return None
    place = _original_place(original, part.scalar, expected.keys, worst[1], bound)
    return elements([dataclasses.replace(worst[2], index=place)])[0]


def _first(
    part: Part, originals: tuple[Array, Array], sides: tuple[_Side, _Side], left: Unmatched, bound: Bound
) -> tuple[Element, ...]:
    """The first few without a partner: half of the list a side."""
    found: list[Element] = []
    for which, places in enumerate((left.expected, left.actual)):
        for place in places[: FIRST // 2].tolist():
            text = word(sides[which].values(slice(place, place + 1)), 0, part.scalar)
            index = _original_place(originals[which], part.scalar, sides[which].keys, place, bound)
            said = (text, "") if which == 0 else ("", text)
            found.append(records.Element(index, part.name, *said))
    return tuple(found)


def _original_place(original: Array, scalar: Scalar, keys: Array, place: int, bound: Bound) -> int:
    """Where in the buffer the element at a place of the sorted order stands; the n-th of equal ones is the n-th."""
    key = keys[place]
    nth = place - int(np.searchsorted(keys, key, side="left"))
    for start in range(0, len(original), _MOST):
        here = ordinals.keys(original[start : start + _MOST], scalar, merge_zeros=bound.signed_zero == "equal")
        found = np.flatnonzero(here == key)
        if nth < len(found):
            return start + int(found[nth])
        nth -= len(found)
    raise AssertionError("a sorted value must stand somewhere in the buffer")

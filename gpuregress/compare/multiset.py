"""Scalars in any order: both sides sorted, and paired by a two-pointer walk.

For a bound whose interval around b has ends that rise with b (atol, ulp, rtol < 1, and the union of such), a matching
of all elements exists exactly where the two sorted sequences pair up one by one: an exchange argument. Where they do
not, one dropped and one added value would shift every later pair, so the walk skips the smaller of a pair that does not
match; that greedy matching is as large as any, and what it leaves is "only in the baseline" and "only here".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress import dtypes, ordinals, records
from gpuregress.compare import bounds, describe, metrics
from gpuregress.compare.bound import Bound
from gpuregress.compare.request import Request
from gpuregress.compare.tally import FIRST, PartSums, elements, finite, spot
from gpuregress.compare.words import word
from gpuregress.dtypes import Part, Scalar
from gpuregress.ordinals import Array
from gpuregress.records import Comparison, Element

Places = npt.NDArray[np.int64]
_FEWEST, _MOST, _STEP_BY_STEP, _RUN, _STRETCH = 1 << 10, 1 << 18, 1 << 12, 64, 1 << 11


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
class Leftover:
    """What finds no partner: places in the sorted order of each side."""

    expected: Places
    actual: Places

    @property
    def count(self) -> int:
        """Elements without a partner, of the side that has more."""
        return max(len(self.expected), len(self.actual))


def compare(request: Request, expected: Array, actual: Array) -> Comparison:
    """Compares the values of two whole arrays of scalars, whatever their order.

    Args:
        request: what to compare and how.
        expected: one dimension, `request.element_type.storage`, of one part.
        actual: the same.
    """
    part, rule = request.element_type.parts[0], request.rule
    bound = Bound.of_rule(rule)
    changed = _count_changed(expected, actual, part.scalar)
    sides = _sorted(expected, part.scalar, bound), _sorted(actual, part.scalar, bound)
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
        rule=describe.rule(rule),
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
    left = _leftover(_sorted(expected, scalar, bound), _sorted(actual, scalar, bound), scalar, bound)
    return len(left.expected), len(left.actual)


class _Judge:
    """The rule applied to two sorted sides."""

    def __init__(
        self, request: Request, part: Part, bound: Bound, expected: _Side, actual: _Side, numbers: dict[str, Any]
    ) -> None:
        self.request, self.part, self.bound, self.numbers = request, part, bound, numbers
        self.expected, self.actual = expected, actual
        nothing = np.zeros(0, np.int64)
        only_metric = bool(request.rule.metric) and bound.is_exact
        self.left = Leftover(nothing, nothing) if only_metric else _leftover(expected, actual, part.scalar, bound)

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
        baselines, errors, misplaced = metrics.Baselines(self.request.element_type), PartSums(), 0
        for start in range(0, len(self.expected.keys), _MOST):
            e, a = (side.values(slice(start, start + _MOST)) for side in (self.expected, self.actual))
            baselines.add(e, a)
            absolute = bounds.absolute(e, a, self.part.scalar)
            errors.add(absolute[~np.isnan(absolute)])
            misplaced += int(np.count_nonzero(np.isnan(absolute) & bounds.changed(e, a, self.part.scalar)))
        found = metrics.values([errors], baselines)
        self.numbers["metrics"] = {name: finite(value) for name, value in found.items()}
        said = [f"{misplaced} NaN or infinities have no partner"] if misplaced else []
        return said + metrics.failures(self.request.rule.metric, found)


def _side(request: Request) -> str:
    return "baseline" if request.against == "baseline" else request.against


def _count_changed(expected: Array, actual: Array, scalar: Scalar) -> int:
    return sum(
        int(np.count_nonzero(bounds.changed(expected[at : at + _MOST], actual[at : at + _MOST], scalar)))
        for at in range(0, len(expected), _MOST)
    )


def _sorted(column: Array, scalar: Scalar, bound: Bound) -> _Side:
    """Sorted keys, made block by block and sorted in place: one array as large as the column."""
    merge = bound.signed_zero == "equal"
    keys = np.empty(len(column), ordinals.keys(column[:0], scalar).dtype)
    for start in range(0, len(column), _MOST):
        block = slice(start, start + _MOST)
        keys[block] = ordinals.keys(column[block], scalar, merge_zeros=merge)
    keys.sort()
    return _Side(keys, scalar)


def _leftover(expected: _Side, actual: _Side, scalar: Scalar, bound: Bound) -> Leftover:
    if np.array_equal(expected.keys, actual.keys):
        return Leftover(np.zeros(0, np.int64), np.zeros(0, np.int64))
    if bound.is_exact:
        return _surplus(expected.keys, actual.keys)
    return _walk(expected, actual, scalar, bound)


def _surplus(expected: Array, actual: Array) -> Leftover:
    """Places of sorted keys that occur more often on one side: the last ones of each run of equal keys.

    Taken stretch by stretch, each ending where a run ends; most are equal on both sides and are passed over.
    """
    only_e: list[Places] = []
    only_a: list[Places] = []
    i = j = 0
    while i < len(expected):
        top = expected[min(i + _STRETCH, len(expected)) - 1]
        end_i, end_j = _end_of(expected, i, top), _end_of(actual, j, top)
        here, there = expected[i:end_i], actual[j:end_j]
        if not np.array_equal(here, there):
            only_e.append(_oftener(here, there) + i)
            only_a.append(_oftener(there, here) + j)
        i, j = end_i, end_j
    only_a.append(np.arange(j, len(actual)))
    return Leftover(np.concatenate([*only_e, np.zeros(0, np.int64)]), np.concatenate(only_a))


def _end_of(keys: Array, start: int, top: Any) -> int:
    """Where the keys up to `top` end, looked for near `start` first, where it nearly always is."""
    near = keys[start : start + 2 * _STRETCH]
    end = int(np.searchsorted(near, top, side="right"))
    return start + end if end < len(near) else int(np.searchsorted(keys, top, side="right"))


def _oftener(mine: Array, others: Array) -> Places:
    nth = np.arange(len(mine)) - np.searchsorted(mine, mine, side="left")
    count = np.searchsorted(others, mine, side="right") - np.searchsorted(others, mine, side="left")
    return np.flatnonzero(nth >= count)


def _walk(expected: _Side, actual: _Side, scalar: Scalar, bound: Bound) -> Leftover:
    """The two-pointer walk: whole blocks while they pair up, step by step around what does not."""
    i = j = 0
    size = _FEWEST
    only_e: list[int] = []
    only_a: list[int] = []
    while i < len(expected.keys) and j < len(actual.keys):
        count = min(size, len(expected.keys) - i, len(actual.keys) - j)
        here = expected.values(slice(i, i + count)), actual.values(slice(j, j + count))
        off = bounds.broken(*here, scalar, _no_nan(bound))
        paired = int(np.argmax(off)) if off.any() else count
        i, j, size = i + paired, j + paired, min(2 * size, _MOST)
        if paired < count:
            i, j = _step_by_step(expected, actual, scalar, bound, i, j, only_e, only_a)
            size = _FEWEST
    only_e += range(i, len(expected.keys))
    only_a += range(j, len(actual.keys))
    return Leftover(np.array(only_e, np.int64), np.array(only_a, np.int64))


def _no_nan(bound: Bound) -> Bound:
    """The bound for pairing: that no NaN may be at all is said once, for the buffer."""
    return Bound(bound.rtol, bound.atol, bound.ulp, "equal", bound.signed_zero)


def _step_by_step(
    expected: _Side, actual: _Side, scalar: Scalar, bound: Bound, i: int, j: int, only_e: list[int], only_a: list[int]
) -> tuple[int, int]:
    """Walks some thousand elements, or until a run of pairs shows that blocks will do again."""
    keys_e, keys_a = (side.keys[at : at + _STEP_BY_STEP].tolist() for side, at in ((expected, i), (actual, j)))
    values_e, values_a = (
        dtypes.to_float(side.values(slice(at, at + _STEP_BY_STEP)), scalar).tolist()
        for side, at in ((expected, i), (actual, j))
    )
    x = y = run = 0
    while x < len(keys_e) and y < len(keys_a) and run < _RUN:
        if bounds.near_one(values_e[x], values_a[y], keys_e[x], keys_a[y], scalar, bound):
            x, y, run = x + 1, y + 1, run + 1
        elif keys_a[y] < keys_e[x]:
            only_a.append(j + y)
            y, run = y + 1, 0
        else:
            only_e.append(i + x)
            x, run = x + 1, 0
    return i + x, j + y


def _worst(part: Part, original: Array, expected: _Side, actual: _Side, left: Leftover, bound: Bound) -> Element | None:
    """The worst pair among what is left, paired in sorted order."""
    pairs = min(len(left.expected), len(left.actual))
    if not pairs:
        return None
    e, a = expected.values(left.expected[:pairs]), actual.values(left.actual[:pairs])
    absolute = bounds.absolute(e, a, part.scalar)
    at = int(np.argmax(np.where(np.isnan(absolute), np.inf, absolute)))
    place = _original_place(original, part.scalar, expected.keys, int(left.expected[at]), bound)
    return elements([spot(part, place, e, a, at)])[0]


def _first(
    part: Part, originals: tuple[Array, Array], sides: tuple[_Side, _Side], left: Leftover, bound: Bound
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

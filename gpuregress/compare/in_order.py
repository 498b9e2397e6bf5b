"""Element by element, in order: exact, tolerance, ulp, outliers, metrics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuregress import ordinals
from gpuregress.compare import row_hash
from gpuregress.compare.metrics import error_norms
from gpuregress.compare.metrics.difference_statistics import DifferenceStatistics, Indices, finite, ranking_measure
from gpuregress.compare.request import ComparisonRequest
from gpuregress.compare.rules import description, elementwise
from gpuregress.compare.rules.bound import Bound
from gpuregress.compare.unordered import multiset
from gpuregress.ordinals import Array, Mask
from gpuregress.records import Comparison

BLOCK = 1 << 18
_MOST_CHANGED_KEPT = 1 << 23
"""Changed elements up to which they are also matched in any order, for the report."""


class InOrder:
    """A comparison under way: it is given rows, and keeps counts, sums, and the few elements that a report names.

    Args:
        request: what to compare and how.
        every: whether all rows are given; else only those that differ to the bit, where `sameness.needs_all` of the
            rule is false.
    """

    def __init__(self, request: ComparisonRequest, *, every: bool) -> None:
        rule = request.rule
        self.request, self.every = request, every
        second = Bound.of_outliers(rule.outliers, rule) if rule.outliers else None
        self.tally = DifferenceStatistics(request.element_type, Bound.of_rule(rule), second)
        self.baselines = error_norms.ExpectedNorms(request.element_type)
        if not every:
            self.baselines.assume(request.total)
        self.sums = [0, 0]
        self.kept: list[tuple[Array, Array]] | None = []

    def add(self, indices: Indices, expected: Array, actual: Array) -> Mask:
        """Takes some rows.

        Args:
            indices: their places in the buffer, rising, and over all that came before.
            expected: those rows, `request.element_type.storage`, one dimension.
            actual: the same.

        Returns:
            Which of them break the bound.
        """
        broken = np.zeros(len(indices), np.bool_)
        for start in range(0, len(indices), BLOCK):
            block = slice(start, start + BLOCK)
            broken[block] = self._add_block(indices[block], expected[block], actual[block])
        return broken

    def _add_block(self, indices: Indices, expected: Array, actual: Array) -> Mask:
        if self.every and self.request.rule.metric:
            self.baselines.add(expected, actual)
        look = _to_look_at(self.request, expected, actual)
        if look.all():
            return self._add_rows(indices, expected, actual)
        rows = np.flatnonzero(look)
        if rows.size:
            look[rows] = self._add_rows(indices[rows], expected[rows], actual[rows])
        return look

    def _add_rows(self, indices: Indices, expected: Array, actual: Array) -> Mask:
        """Rows that may differ."""
        broken = self.tally.add(indices, expected, actual)
        kind = self.request.element_type
        self.sums[0] += row_hash.total(expected, kind)
        self.sums[1] += row_hash.total(actual, kind)
        if self.kept is not None:
            self.kept.append((expected, actual))
            self.kept = self.kept if self.tally.changed <= _MOST_CHANGED_KEPT else None
        return broken

    @property
    def same_values(self) -> bool:
        """Whether both sides hold the same values, in any order."""
        return self.sums[0] % (1 << 64) == self.sums[1] % (1 << 64)

    def finish(self) -> Comparison:
        """The comparison of all rows that were given."""
        request, tally, rule = self.request, self.tally, self.request.rule
        listed = tally.listed()
        numbers = tally.numbers(listed)
        problems = _bound_problems(self, numbers)
        if rule.metric:
            found = error_norms.values(tally.sums, self.baselines)
            numbers["metrics"] = {name: finite(value) for name, value in found.items()}
            problems += error_norms.failures(rule.metric, found)
        same = not problems
        differing = 0 if same else (tally.broken or tally.changed)
        facts = _other_order(self, same=same, numbers=numbers)
        return request.result(
            same=same,
            rule=description.rule(rule),
            numbers=numbers,
            identical=tally.changed == 0,
            differing=differing,
            changed=tally.changed,
            worst=None if tally.changed == 0 and same else listed.worst_by(ranking_measure(rule)),
            first=() if same else listed.first,
            message="; ".join(problems),
            **facts,
        )


def compare(request: ComparisonRequest, expected: Array, actual: Array) -> Comparison:
    """Compares two whole arrays.

    Args:
        request: what to compare and how.
        expected: one dimension, `request.element_type.storage`.
        actual: the same.
    """
    run = InOrder(request, every=True)
    for start in range(0, len(expected), BLOCK):
        e, a = expected[start : start + BLOCK], actual[start : start + BLOCK]
        run.add(np.arange(start, start + len(e)), e, a)
    return run.finish()


def _to_look_at(request: ComparisonRequest, expected: Array, actual: Array) -> Mask:
    kind = request.element_type
    look = np.zeros(expected.shape, np.bool_)
    for part, e, a in zip(kind.parts, kind.columns(expected), kind.columns(actual), strict=True):
        look |= elementwise.changed(e, a, part.scalar)
        if request.rule.nan == "never" and part.scalar.is_float:
            look |= ordinals.is_nan(e, part.scalar)
    return look


def _bound_problems(run: InOrder, numbers: dict[str, Any]) -> list[str]:
    """What breaks the bound of the elements, with the outliers' budget taken off."""
    tally, rule, total = run.tally, run.request.rule, run.request.total
    if rule.metric and tally.bound.is_exact:
        kept_out = tally.misplaced or (rule.nan == "never" and tally.broken and sum(tally.nan))
        return [f"{tally.misplaced or sum(tally.nan)} NaN or infinite where they may not be"] if kept_out else []
    if not tally.broken:
        return []
    share = f"{tally.broken} of {total} differ"
    if rule.outliers is None:
        return [share + _not_numbers(tally)]
    allowed = math.floor(rule.outliers.fraction * total + 1e-9)
    numbers["outliers"] = {"missed": tally.broken, "allowed": allowed, "beyond": tally.beyond}
    said = []
    if tally.broken > allowed:
        said.append(f"{tally.broken} of {total} miss the bound, {allowed} may")
    if tally.beyond:
        said.append(f"{tally.beyond} of {total} miss the outliers' bound too, none may")
    return said


def _not_numbers(tally: DifferenceStatistics) -> str:
    return f", {tally.misplaced} of them NaN or infinite on one side" if tally.misplaced else ""


def _other_order(run: InOrder, *, same: bool, numbers: dict[str, Any]) -> dict[str, Any]:
    """The verdict as a multiset, beside the one in order."""
    tally, kind = run.tally, run.request.element_type
    numbers["in_order"] = {"same": same, "differing": 0 if same else tally.broken or tally.changed}
    if tally.changed == 0:
        numbers["any_order"] = {"same": same}
        return {"multiset_same": True}
    if run.same_values:
        numbers["any_order"] = {"same": True, "only_expected": 0, "only_actual": 0}
        return {"multiset_same": True}
    if len(kind.parts) > 1 or run.request.rule.nan == "never":
        numbers["any_order"] = {"same": same}
        return {"multiset_same": False}
    if run.kept is None:
        return {"multiset_same": False}
    only = (0, 0)
    if not same:
        expected, actual = (np.concatenate([rows[side] for rows in run.kept]) for side in (0, 1))
        run.kept = None  # as large as what they were joined to
        only = multiset.count_unmatched(expected, actual, kind.parts[0].scalar, tally.bound)
    numbers["any_order"] = {"same": same or not any(only), "only_expected": only[0], "only_actual": only[1]}
    return {"multiset_same": False, "only_expected": only[0], "only_actual": only[1]}

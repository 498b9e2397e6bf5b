"""Comparison in order, element by element: exact, tolerance, ULPs, outliers, metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpuregress.foundation.numeric import float_environment, ordinals, row_hash
from gpuregress.foundation.numeric.ordinals import Array, Mask
from gpuregress.foundation.records import AnyOrderFigures, Comparison, InOrderFigures, OutlierCounts
from gpuregress.foundation.records.rules import rule_text
from gpuregress.gpu.records import replace
from gpuregress.judge.compare import bounds, error_norms, multiset, tolerance_use
from gpuregress.judge.compare.comparison_request import ComparisonRequest
from gpuregress.judge.compare.difference_statistics import (
    DifferenceStatistics,
    Indices,
    outlier_counts,
    outlier_problems,
    ranking_measure,
)

BLOCK = 1 << 18
MOST_CHANGED_KEPT = 1 << 23
"""Changed elements up to which they are also matched in any order, for the report."""


class InOrder:
    """Streaming comparison in order: takes rows, keeps statistics and the elements that a report shows.

    Args:
        request: the buffer and the rule.
        every: all rows are given; else only those that differ to the bit, as `metadata.needs_all` allows.
    """

    def __init__(self, request: ComparisonRequest, *, every: bool) -> None:
        self.request, self.every = request, every
        self.statistics = DifferenceStatistics.of_rule(request.element_type, request.rule)
        self.norms = error_norms.ExpectedNorms(request.element_type)
        if not every:
            self.norms.assume(request.total)
        self.sums = [0, 0]
        self.kept: list[tuple[Array, Array]] | None = []

    @float_environment.default()
    def add(self, indices: Indices, expected: Array, actual: Array) -> Mask:
        """Add rows.

        Args:
            indices: their indices in the buffer, ascending, and above those of earlier calls.
            expected: those rows, `request.element_type.storage`, one dimension.
            actual: the same.

        Returns:
            A mask of the rows that break the bound.
        """
        broken = np.zeros(len(indices), np.bool_)
        for start in range(0, len(indices), BLOCK):
            block = slice(start, start + BLOCK)
            broken[block] = self._add_block(indices[block], expected[block], actual[block])
        return broken

    def _add_block(self, indices: Indices, expected: Array, actual: Array) -> Mask:
        if self.every and self.request.rule.metric:
            self.norms.add(expected, actual)
        mask = _may_differ(self.request, expected, actual)
        if mask.all():
            return self._add_rows(indices, expected, actual)
        rows = np.flatnonzero(mask)
        if rows.size:
            mask[rows] = self._add_rows(indices[rows], expected[rows], actual[rows])
        return mask

    def _add_rows(self, indices: Indices, expected: Array, actual: Array) -> Mask:
        """Rows that may differ."""
        broken = self.statistics.add(indices, expected, actual)
        kind = self.request.element_type
        self.sums[0] += row_hash.total(expected, kind)
        self.sums[1] += row_hash.total(actual, kind)
        if self.kept is not None:
            self.kept.append((expected, actual))
        if self.statistics.changed > MOST_CHANGED_KEPT:
            self.kept = None
        return broken

    @property
    def same_values(self) -> bool:
        """Whether both sides hold the same values, in any order."""
        return self.sums[0] % (1 << 64) == self.sums[1] % (1 << 64)

    @float_environment.default()
    def finish(self) -> Comparison:
        """The comparison of all rows."""
        request, statistics, rule = self.request, self.statistics, self.request.rule
        listed, outliers = statistics.listed(), _outliers(self)
        metrics: dict[str, float] = {}
        if rule.metric:
            metrics = error_norms.values(statistics.sums, self.norms)
        problems = _bound_problems(self, outliers) + error_norms.problems(rule.metric, metrics)
        same, differing = not problems, 0
        facts: dict[str, Any] = {}
        if problems:
            differing = statistics.broken or statistics.changed
            facts["first"] = listed.first
        if problems or statistics.changed:
            facts["worst"] = listed.worst_by(ranking_measure(rule))
        same_values, any_order = _any_order(self, same=same)
        if any_order is not None:
            facts["only_expected"] = any_order.only_expected or 0
            facts["only_actual"] = any_order.only_actual or 0
        return request.result(
            same=same,
            rule=rule_text(rule),
            figures=replace(
                statistics.figures(listed),
                outliers=outliers,
                metrics=error_norms.figures(metrics),
                in_order=InOrderFigures(same, differing=differing),
                any_order=any_order,
            ),
            identical=statistics.changed == 0,
            differing=differing,
            changed=statistics.changed,
            multiset_same=same_values,
            message="; ".join(problems),
            tolerance_share=_tolerance_share(self, outliers, metrics),
            **facts,
        )


def compare(request: ComparisonRequest, expected: Array, actual: Array) -> Comparison:
    """Compare two whole arrays in order.

    Args:
        request: the buffer and the rule.
        expected: one dimension, `request.element_type.storage`.
        actual: the same.
    """
    run = InOrder(request, every=True)
    for start in range(0, len(expected), BLOCK):
        e, a = expected[start : start + BLOCK], actual[start : start + BLOCK]
        run.add(np.arange(start, start + len(e)), e, a)
    return run.finish()


def _may_differ(request: ComparisonRequest, expected: Array, actual: Array) -> Mask:
    mask = np.zeros(expected.shape, np.bool_)
    for part, e, a in request.element_type.column_pairs(expected, actual):
        mask |= bounds.changed(e, a, part.scalar)
        if request.rule.nan == "never" and part.scalar.is_float:
            mask |= ordinals.is_nan(e, part.scalar)
    return mask


def _is_by_metric(run: InOrder) -> bool:
    """Whether only metrics and the places of NaNs decide."""
    return bool(run.request.rule.metric) and run.statistics.bound.is_exact


def _outliers(run: InOrder) -> OutlierCounts | None:
    """The use of the rule's budget of outliers; None if it has none, or needs none."""
    statistics = run.statistics
    if run.request.rule.outliers is None or not statistics.broken or _is_by_metric(run):
        return None
    return outlier_counts(run.request, statistics.broken, statistics.beyond)


def _bound_problems(run: InOrder, outliers: OutlierCounts | None) -> list[str]:
    """Describe the elements that break the bound, less the budget of outliers."""
    statistics, rule, total = run.statistics, run.request.rule, run.request.total
    if _is_by_metric(run):
        forbidden = statistics.misplaced
        if not forbidden and rule.nan == "never" and statistics.broken:
            forbidden = sum(statistics.nan)
        return [f"{forbidden} NaN or infinite where they may not be"] if forbidden else []
    if outliers is not None:
        return outlier_problems(outliers, total)
    if not statistics.broken:
        return []
    text = f"{statistics.broken} of {total} differ"
    if statistics.misplaced:
        text += f", {statistics.misplaced} of them NaN or infinite on one side"
    return [text]


def _tolerance_share(run: InOrder, outliers: OutlierCounts | None, metrics: Mapping[str, float]) -> float | None:
    """The largest part of the bound or of a metric's limit that was used."""
    statistics, limits = run.statistics, run.request.rule.metric
    of_bound = statistics.use.share(is_broken=statistics.broken > 0, outliers=outliers)
    return tolerance_use.largest(of_bound, tolerance_use.of_metrics(limits, metrics))


def _any_order(run: InOrder, *, same: bool) -> tuple[bool, AnyOrderFigures | None]:
    """Compare in any order, beside the comparison in order.

    Returns:
        Whether both sides hold the same values, and the verdict under the bound; None if there is too much to match.
    """
    statistics, kind = run.statistics, run.request.element_type
    if statistics.changed == 0:
        return True, AnyOrderFigures(same)
    if run.same_values:
        return True, AnyOrderFigures(same=True, only_expected=0, only_actual=0)
    if len(kind.parts) > 1 or run.request.rule.nan == "never":
        return False, AnyOrderFigures(same)
    if run.kept is None:
        return False, None
    only = (0, 0)
    if not same:
        expected, actual = (np.concatenate([rows[side] for rows in run.kept]) for side in (0, 1))
        run.kept = None  # as large as what they were joined to
        only = multiset.count_unmatched(expected, actual, kind.parts[0].scalar, statistics.bound)
    return False, AnyOrderFigures(same or not any(only), *only)

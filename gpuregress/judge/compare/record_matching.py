"""Comparison of records in any order: by key columns, or by bipartite matching.

Complex numbers and vectors are compared in the same way. Sorting rows under a tolerance misses matchings that exist,
and sorting columns apart hides swaps: neither is done.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.numeric import row_hash
from gpuregress.foundation.numeric.decimals import word
from gpuregress.foundation.numeric.ordinals import Array
from gpuregress.foundation.records import AnyOrderFigures, Comparison, Element, InOrderFigures, OutlierCounts
from gpuregress.foundation.records.rules import Bound, rule_text
from gpuregress.gpu.records import replace
from gpuregress.judge.compare import bipartite_matching, bounds, error_norms, tolerance_use
from gpuregress.judge.compare.bipartite_matching import Indices, MatchCriterion, TooManyCandidates
from gpuregress.judge.compare.comparison_request import ComparisonRequest
from gpuregress.judge.compare.difference_statistics import (
    FIRST,
    DifferenceStatistics,
    outlier_counts,
    outlier_problems,
    ranking_measure,
)

_FREE = -1


def compare_any(request: ComparisonRequest, expected: Array, actual: Array) -> Comparison:
    """Compare rows in any order by a maximum matching.

    Args:
        request: the buffer and the rule.
        expected: one dimension, `request.element_type.storage`.
        actual: the same.
    """
    criterion = MatchCriterion(request.element_type, Bound.of_rule(request.rule))
    return _by_matching(request, criterion, expected, actual)


def compare_keyed(request: ComparisonRequest, expected: Array, actual: Array) -> Comparison:
    """Compare records of the same key; by a maximum matching if a key is not unique.

    Args:
        request: the buffer and the rule, whose `key` has the columns.
        expected: one dimension, `request.element_type.storage`.
        actual: the same.
    """
    kind = request.element_type
    try:
        keys = dtypes.key_parts(kind, request.rule.key)
    except ValueError as wrong:
        return request.result(
            same=False,
            rule=rule_text(request.rule),
            differing=request.total,
            message=f"cannot be compared: {wrong}",
        )
    criterion = MatchCriterion(kind, Bound.of_rule(request.rule), keys)
    merge = criterion.bound.signed_zero == "equal"
    hash_e = row_hash.rows(expected, kind, merge_zeros=merge, only=keys)
    hash_a = row_hash.rows(actual, kind, merge_zeros=merge, only=keys)
    if len(np.unique(hash_e)) < len(hash_e) or len(np.unique(hash_a)) < len(hash_a):
        return _by_matching(request, criterion, expected, actual)
    return _result(request, expected, actual, _join(hash_e, hash_a))


def _join(hash_e: row_hash.Hashes, hash_a: row_hash.Hashes) -> Indices:
    """For each actual row the expected row of the same hash, or -1; hashes are unique on each side."""
    order = np.argsort(hash_e)
    rows = order[np.minimum(np.searchsorted(hash_e[order], hash_a), len(hash_e) - 1)]
    return np.where(hash_e[rows] == hash_a, rows, _FREE).astype(np.int64)


def _by_matching(request: ComparisonRequest, criterion: MatchCriterion, expected: Array, actual: Array) -> Comparison:
    try:
        partner = bipartite_matching.match(criterion, expected, actual)
    except TooManyCandidates:
        return request.result(
            same=False,
            rule=rule_text(request.rule),
            differing=request.total,
            message="cannot be compared: under this tolerance too many rows are near to one another to match them "
            f"exactly (over {bipartite_matching.MOST_CANDIDATES:,} pairs); name key columns or tighten it",
        )
    beyond, outliers = None, request.rule.outliers
    if outliers is not None and (partner == _FREE).any():
        second = MatchCriterion(request.element_type, Bound.of_outliers(outliers, request.rule), criterion.keys)
        beyond = int(np.count_nonzero(bipartite_matching.match(second, expected, actual) == _FREE))
    return _result(request, expected, actual, partner, beyond)


def _result(
    request: ComparisonRequest, expected: Array, actual: Array, partner: Indices, beyond: int | None = None
) -> Comparison:
    """The comparison of matched rows, and of those without a partner.

    Args:
        request: the buffer and the rule.
        expected: one dimension, `request.element_type.storage`.
        actual: the same.
        partner: of each actual row, or -1.
        beyond: rows without a partner under the bound of outliers; None: as many as without one.
    """
    kind, rule = request.element_type, request.rule
    paired = np.flatnonzero(partner != _FREE)
    statistics = DifferenceStatistics.of_rule(kind, rule)
    if paired.size:
        statistics.add(partner[paired], expected[partner[paired]], actual[paired])
    only_a = np.flatnonzero(partner == _FREE)
    only_e = np.setdiff1d(np.arange(len(expected)), partner[paired], assume_unique=True)
    changed = count_changed(kind, expected, actual)
    unmatched = max(len(only_e), len(only_a))
    outliers = None
    if rule.outliers is not None:
        if beyond is None:
            beyond = unmatched
        outliers = outlier_counts(request, statistics.broken + unmatched, statistics.beyond + beyond)
    problems = _problems(request, statistics, (len(only_e), len(only_a)), outliers)
    metrics: dict[str, float] = {}
    if rule.metric:
        norms = error_norms.ExpectedNorms(kind)
        norms.add(expected[partner[paired]], actual[paired])
        metrics = error_norms.values(statistics.sums, norms)
    problems += error_norms.problems(rule.metric, metrics)
    same, listed = not problems, statistics.listed()
    facts: dict[str, Any] = {}
    if problems:
        facts["differing"] = statistics.broken + unmatched
        facts["first"] = _first(request, listed.first, expected[only_e], actual[only_a], only_e, only_a)
    use = None
    if not unmatched:
        use = statistics.use.share(is_broken=statistics.broken > 0, outliers=outliers)
    merge = rule.signed_zero == "equal"
    figures = replace(
        statistics.figures(listed),
        outliers=outliers,
        metrics=error_norms.figures(metrics),
        in_order=InOrderFigures(changed == 0, changed=changed),
        any_order=AnyOrderFigures(same, len(only_e), len(only_a)),
    )
    return request.result(
        same=same,
        rule=rule_text(rule),
        figures=figures,
        identical=changed == 0,
        changed=changed,
        multiset_same=row_hash.total(expected, kind, merge_zeros=merge)
        == row_hash.total(actual, kind, merge_zeros=merge),
        only_expected=len(only_e),
        only_actual=len(only_a),
        worst=listed.worst_by(ranking_measure(rule)),
        message="; ".join(problems),
        tolerance_share=tolerance_use.largest(use, tolerance_use.of_metrics(rule.metric, metrics)),
        **facts,
    )


def count_changed(element_type: ElementType, expected: Array, actual: Array) -> int:
    """Count the rows that hold other values, in order."""
    changed = np.zeros(len(expected), np.bool_)
    for part, e, a in element_type.column_pairs(expected, actual):
        changed |= bounds.changed(e, a, part.scalar)
    return int(np.count_nonzero(changed))


def _problems(
    request: ComparisonRequest,
    statistics: DifferenceStatistics,
    unmatched: tuple[int, int],
    outliers: OutlierCounts | None,
) -> list[str]:
    """Describe what breaks the rule: expected and actual rows without a partner, and partners that differ."""
    if outliers is not None:
        return outlier_problems(outliers, request.total)
    broken, problems = statistics.broken, []
    if request.rule.metric and statistics.bound.is_exact:
        broken = statistics.misplaced
    if broken:
        problems.append(f"{broken} of {request.total} differ")
    if any(unmatched):
        problems.append(f"{unmatched[0]} rows only in the {request.against}, {unmatched[1]} only here")
    return problems


def _first(
    request: ComparisonRequest,
    first: tuple[Element, ...],
    only_e: Array,
    only_a: Array,
    rows_e: Indices,
    rows_a: Indices,
) -> tuple[Element, ...]:
    """The first pairs that differ, the first rows only in the baseline, and the first only here: each has its share."""
    listed = list(first)[: max(FIRST // 3, FIRST - len(only_e) - len(only_a))]
    room = FIRST - len(listed)
    for row in range(min(max(room // 2, room - len(only_a)), len(only_e))):
        listed.append(Element(int(rows_e[row]), "", expected=_text(request, only_e, row), actual=""))
    for row in range(min(FIRST - len(listed), len(only_a))):
        listed.append(Element(int(rows_a[row]), "", expected="", actual=_text(request, only_a, row)))
    return tuple(listed)


def _text(request: ComparisonRequest, rows: Array, row: int) -> str:
    """The numbers of a row as a dump has them."""
    columns = request.element_type.part_columns(rows)
    return " ".join(word(column, row, part.scalar) for part, column in columns)

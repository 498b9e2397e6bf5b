"""Records (and complex numbers and vectors) in any order: by key columns, or by an exact matching of whole rows.

Sorting rows under a tolerance misses matchings that exist, and sorting columns apart hides swaps, so neither is done.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuregress.compare import row_hash
from gpuregress.compare.metrics import error_norms
from gpuregress.compare.metrics.difference_statistics import FIRST, DifferenceStatistics, finite, ranking_measure
from gpuregress.compare.request import ComparisonRequest
from gpuregress.compare.rules import description, elementwise
from gpuregress.compare.rules.bound import Bound
from gpuregress.compare.unordered import bipartite_matching
from gpuregress.compare.unordered.bipartite_matching import TooManyCandidates
from gpuregress.compare.unordered.candidates import MatchCriterion, Places
from gpuregress.decimals import word
from gpuregress.dtypes import ElementType
from gpuregress.ordinals import Array
from gpuregress.records import Comparison, Element

_FREE = -1


def key_parts(element_type: ElementType, key: tuple[str, ...]) -> tuple[int, ...]:
    """The positions of the parts that a rule's `key` names; `pos` names `pos.x`, `pos.y` and so on.

    Raises:
        ValueError: a column that is not there; the message names those that are.
    """
    found: list[int] = []
    for name in key:
        here = [
            at for at, part in enumerate(element_type.parts) if part.name == name or part.name.startswith(f"{name}.")
        ]
        if not here:
            names = ", ".join(part.name for part in element_type.parts if part.name) or "none"
            raise ValueError(f"{element_type.name} has no column {name!r}; it has {names}")
        found += here
    return tuple(found)


def compare_any(request: ComparisonRequest, expected: Array, actual: Array) -> Comparison:
    """Compares rows in any order by an exact matching.

    Args:
        request: what to compare and how.
        expected: one dimension, `request.element_type.storage`.
        actual: the same.
    """
    criterion = MatchCriterion(request.element_type, Bound.of_rule(request.rule))
    return _by_matching(request, criterion, expected, actual)


def compare_keyed(request: ComparisonRequest, expected: Array, actual: Array) -> Comparison:
    """Compares records with the partner that has the same key; where a key stands more than once, by matching.

    Args:
        request: what to compare and how; `request.rule.key` names columns.
        expected: one dimension, `request.element_type.storage`.
        actual: the same.
    """
    kind = request.element_type
    try:
        keys = key_parts(kind, request.rule.key)
    except ValueError as wrong:
        return request.result(
            same=False,
            rule=description.rule(request.rule),
            differing=request.total,
            message=f"cannot be compared: {wrong}",
        )
    criterion = MatchCriterion(kind, Bound.of_rule(request.rule), keys)
    merge = criterion.bound.signed_zero == "equal"
    hash_e = row_hash.rows(expected, kind, merge_zeros=merge, only=keys)
    hash_a = row_hash.rows(actual, kind, merge_zeros=merge, only=keys)
    if len(np.unique(hash_e)) < len(hash_e) or len(np.unique(hash_a)) < len(hash_a):
        return _by_matching(request, criterion, expected, actual)
    return _result(request, expected, actual, _join(hash_e, hash_a), {})


def _join(hash_e: row_hash.Hashes, hash_a: row_hash.Hashes) -> Places:
    """For each actual row the expected row of the same hash, or -1; no hash stands twice on a side."""
    order = np.argsort(hash_e)
    at = np.minimum(np.searchsorted(hash_e[order], hash_a), len(hash_e) - 1)
    places = order[at]
    return np.where(hash_e[places] == hash_a, places, _FREE).astype(np.int64)


def _by_matching(request: ComparisonRequest, criterion: MatchCriterion, expected: Array, actual: Array) -> Comparison:
    try:
        partner = bipartite_matching.match(criterion, expected, actual)
    except TooManyCandidates:
        return request.result(
            same=False,
            rule=description.rule(request.rule),
            differing=request.total,
            message="cannot be compared: under this tolerance too many rows are near to one another to match them "
            f"exactly (over {bipartite_matching.MOST_CANDIDATES:,} pairs); name key columns or tighten it",
        )
    numbers: dict[str, Any] = {}
    outliers = request.rule.outliers
    if outliers is not None and (partner == _FREE).any():
        second = MatchCriterion(request.element_type, Bound.of_outliers(outliers, request.rule), criterion.keys)
        beyond = int(np.count_nonzero(bipartite_matching.match(second, expected, actual) == _FREE))
        numbers["outliers"] = {"missed": int(np.count_nonzero(partner == _FREE)), "beyond": beyond}
    return _result(request, expected, actual, partner, numbers)


def _result(
    request: ComparisonRequest, expected: Array, actual: Array, partner: Places, numbers: dict[str, Any]
) -> Comparison:
    """The comparison of matched rows, and of those without a partner."""
    kind, rule = request.element_type, request.rule
    paired = np.flatnonzero(partner != _FREE)
    second = Bound.of_outliers(rule.outliers, rule) if rule.outliers else None
    tally = DifferenceStatistics(kind, Bound.of_rule(rule), second)
    if paired.size:
        tally.add(partner[paired], expected[partner[paired]], actual[paired])
    only_a = np.flatnonzero(partner == _FREE)
    only_e = np.setdiff1d(np.arange(len(expected)), partner[paired], assume_unique=True)
    changed = count_changed(kind, expected, actual)
    problems = _problems(request, tally, len(only_e), len(only_a), numbers)
    if rule.metric:
        problems += _metric_problems(request, tally, expected[partner[paired]], actual[paired], numbers)
    same = not problems
    merge = rule.signed_zero == "equal"
    listed = tally.listed()
    numbers = tally.numbers(listed) | numbers
    numbers["in_order"] = {"same": changed == 0, "changed": changed}
    numbers["any_order"] = {"same": same, "only_expected": len(only_e), "only_actual": len(only_a)}
    return request.result(
        same=same,
        rule=description.rule(rule),
        numbers=numbers,
        identical=changed == 0,
        changed=changed,
        differing=0 if same else tally.broken + max(len(only_e), len(only_a)),
        multiset_same=row_hash.total(expected, kind, merge_zeros=merge)
        == row_hash.total(actual, kind, merge_zeros=merge),
        only_expected=len(only_e),
        only_actual=len(only_a),
        worst=listed.worst_by(ranking_measure(rule)),
        first=() if same else _first(request, listed.first, expected[only_e], actual[only_a], only_e, only_a),
        message="; ".join(problems),
    )


def count_changed(element_type: ElementType, expected: Array, actual: Array) -> int:
    """How many rows hold other values, in order."""
    changed = np.zeros(len(expected), np.bool_)
    columns = zip(element_type.columns(expected), element_type.columns(actual), strict=True)
    for part, (e, a) in zip(element_type.parts, columns, strict=True):
        changed |= elementwise.changed(e, a, part.scalar)
    return int(np.count_nonzero(changed))


def _metric_problems(
    request: ComparisonRequest, tally: DifferenceStatistics, expected: Array, actual: Array, numbers: dict[str, Any]
) -> list[str]:
    baselines = error_norms.ExpectedNorms(request.element_type)
    baselines.add(expected, actual)
    found = error_norms.values(tally.sums, baselines)
    numbers["metrics"] = {name: finite(value) for name, value in found.items()}
    return error_norms.failures(request.rule.metric, found)


def _problems(
    request: ComparisonRequest, tally: DifferenceStatistics, only_e: int, only_a: int, numbers: dict[str, Any]
) -> list[str]:
    outliers, missed = request.rule.outliers, tally.broken + max(only_e, only_a)
    if outliers is not None:
        beyond = tally.beyond + int(numbers.get("outliers", {}).get("beyond", max(only_e, only_a)))
        allowed = math.floor(outliers.fraction * request.total + 1e-9)
        numbers["outliers"] = {"missed": missed, "allowed": allowed, "beyond": beyond}
        said = [f"{missed} of {request.total} miss the bound, {allowed} may"] if missed > allowed else []
        return said + ([f"{beyond} of {request.total} miss the outliers' bound too, none may"] if beyond else [])
    only_metric = request.rule.metric and tally.bound.is_exact
    broken = tally.misplaced if only_metric else tally.broken
    said = [f"{broken} of {request.total} differ"] if broken else []
    if only_e or only_a:
        said.append(f"{only_e} rows only in the {request.against}, {only_a} only here")
    return said


def _first(
    request: ComparisonRequest,
    first: tuple[Element, ...],
    only_e: Array,
    only_a: Array,
    places_e: Places,
    places_a: Places,
) -> tuple[Element, ...]:
    """The first pairs that differ, the first rows only in the baseline, and the first only here: each has its share."""
    found: list[Element] = []
    lonely = (len(only_e), len(only_a))
    pairs = list(first)[: max(FIRST // 3, FIRST - sum(lonely))]
    for which, (rows, places) in enumerate(((only_e, places_e), (only_a, places_a))):
        room = FIRST - len(pairs) - len(found)
        room = room if which else max(room // 2, room - lonely[1])
        for at in range(min(room, len(rows))):
            columns = request.element_type.columns(rows)
            parts = zip(request.element_type.parts, columns, strict=True)
            text = " ".join(word(column, at, part.scalar) for part, column in parts)
            said = (text, "") if which == 0 else ("", text)
            found.append(Element(int(places[at]), "", *said))
    return (*pairs, *found)

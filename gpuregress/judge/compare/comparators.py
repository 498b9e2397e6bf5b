"""Comparators by the kind of rule, and the entry point that chooses one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.numeric import float_environment
from gpuregress.foundation.numeric.ordinals import Array
from gpuregress.foundation.records import Comparison, Rule
from gpuregress.judge.compare import in_order, multiset, record_matching, sample_statistics, user_functions
from gpuregress.judge.compare.comparison_request import ComparisonRequest
from gpuregress.judge.compare.metadata import incomparable

Comparator = Callable[[ComparisonRequest, Array, Array], Comparison]

COMPARATORS: dict[str, Comparator] = {
    "indexed": in_order.compare,
    "any": multiset.compare,
    "match": record_matching.compare_any,
    "key": record_matching.compare_keyed,
    "statistics": sample_statistics.compare,
    "verify": user_functions.verify,
}


def comparator_name(rule: Rule, element_type: ElementType) -> str:
    """The name in `COMPARATORS` of the comparator for a rule and an element type."""
    if rule.verify:
        return "verify"
    if rule.statistics.given:
        return "statistics"
    if rule.key:
        return "key"
    if rule.order == "any":
        return "any" if len(element_type.parts) == 1 else "match"
    return "indexed"


@float_environment.default()
def compare(request: ComparisonRequest, expected: Array, actual: Array) -> Comparison:
    """Compare two whole buffers.

    Args:
        request: what to compare and how.
        expected: `request.element_type.storage`, of `request.shape` or flat: the baseline or the reference.
        actual: the same: this run's.
    """
    refused = _refuse(request, expected, actual)
    if refused is not None:
        return refused
    comparator = COMPARATORS[comparator_name(request.rule, request.element_type)]
    return comparator(request, np.asarray(expected).reshape(-1), np.asarray(actual).reshape(-1))


def _refuse(request: ComparisonRequest, expected: Array, actual: Array) -> Comparison | None:
    problems = [] if request.total else ["there is no element to compare"]
    for side, array in ((f"the {request.against}", expected), ("this run", actual)):
        if array.dtype != request.element_type.storage:
            problems.append(f"{side} holds {array.dtype}, not {request.element_type.name}")
        elif array.shape not in (request.shape, (request.total,)):
            problems.append(f"{side} has shape {list(array.shape)}, not {list(request.shape)}")
    return incomparable(request, problems) if problems else None

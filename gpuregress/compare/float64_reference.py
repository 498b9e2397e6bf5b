"""A buffer against a gold standard in float64, of which some value is between two numbers of the buffer's own dtype."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from gpuregress import conversion, dtypes
from gpuregress.compare import comparators, user_functions
from gpuregress.compare.in_order import InOrder
from gpuregress.compare.metrics.difference_statistics import Indices
from gpuregress.compare.request import ComparisonRequest
from gpuregress.compare.rules.bound import Bound
from gpuregress.compare.rules.elementwise import changed
from gpuregress.decimals import word
from gpuregress.ordinals import Array
from gpuregress.records import Comparison, Element, Rule


class InFloat64:
    """A comparison in order under way, in float64, where neither side is rounded.

    Args:
        request: what to compare and how; without `ulp`, which counts steps of the buffer's own dtype.
    """

    def __init__(self, request: ComparisonRequest) -> None:
        self._request, self._between = request, ""
        wide = dataclasses.replace(request, element_type=dtypes.widened(request.element_type))
        self._run = InOrder(wide, every=True)

    def add(self, indices: Indices, expected: Array, actual: Array) -> None:
        """Takes the next rows, all of them.

        Args:
            indices: their places in the buffer.
            expected: `dtypes.widened` of the request's element type, one dimension: the gold standard.
            actual: `request.element_type.storage`: this run's.
        """
        self._run.add(indices, expected, conversion.widened(actual, self._request.element_type))
        self._between = self._between or _between(self._request, expected, int(indices[0]))

    def finish(self) -> Comparison:
        """The comparison of all rows that were given."""
        return _told(self._request, self._run.finish(), self._between)


def compare(request: ComparisonRequest, expected: Array, actual: Array) -> Comparison:
    """Compares whole arrays in float64, where the rule does not do so in order.

    Args:
        request: as for `InFloat64`.
        expected: the gold standard, flat or shaped.
        actual: this run's, the same.
    """
    wide = dtypes.widened(request.element_type)
    expected, actual = expected.reshape(-1), actual.reshape(-1)
    in_float64 = conversion.widened(actual, request.element_type)
    as_wide = dataclasses.replace(request, element_type=wide)
    if request.rule.verify:
        return user_functions.verify(as_wide, expected, in_float64, seen=(actual, request.element_type))
    return _told(request, comparators.compare(as_wide, expected, in_float64), _between(request, expected, 0))


def _told(request: ComparisonRequest, compared: Comparison, between: str) -> Comparison:
    if not compared.same and _is_exact(request.rule):
        compared = dataclasses.replace(compared, message=f"{compared.message}; {between}")
    return _without_steps(compared)


def _is_exact(rule: Rule) -> bool:
    return Bound.of_rule(rule).is_exact and not (rule.metric or rule.statistics)


def _between(request: ComparisonRequest, expected: Array, start: int) -> str:
    """The first value that the buffer's dtype has not, and what to do about it; "" where all are its own.

    Args:
        request: what is compared.
        expected: some rows of the gold standard.
        start: the place of the first of them in the buffer.
    """
    wide, element = dtypes.widened(request.element_type), request.element_type
    back = conversion.widened(conversion.narrowed(expected, element), element)
    columns = zip(wide.parts, wide.columns(expected), wide.columns(back), element.parts, strict=True)
    found = [
        (int(rows[0]), word(before, int(rows[0]), wider.scalar), part.scalar.name)
        for wider, before, after, part in columns
        if (rows := np.flatnonzero(changed(before, after, wider.scalar))).size
    ]
    if not found:
        return ""
    row, value, dtype = min(found)
    where = f"[{start + row}] of the {request.against}"
    return f"{where}, {value}, is not exact in {dtype}: return {dtype}, or give a tolerance or ulp"


def _without_steps(compared: Comparison) -> Comparison:
    """Steps between float64s mean nothing to a buffer of another dtype."""
    numbers: dict[str, Any] = {
        name: value for name, value in compared.numbers.items() if name not in ("max_ulp", "ulp_histogram")
    }
    return dataclasses.replace(
        compared,
        numbers={**numbers, "compared_as": "float64"},
        worst=None if compared.worst is None else _stepless(compared.worst),
        first=tuple(_stepless(one) for one in compared.first),
    )


def _stepless(element: Element) -> Element:
    return dataclasses.replace(element, ulp=None)

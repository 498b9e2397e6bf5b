"""Comparison in float64 with a reference that the buffer's own dtype would round."""

from __future__ import annotations

import numpy as np

from gpuregress.foundation import dtypes
from gpuregress.foundation.numeric import conversion
from gpuregress.foundation.numeric.decimals import word
from gpuregress.foundation.numeric.ordinals import Array
from gpuregress.foundation.records import Comparison, Element, Rule, UlpFigures
from gpuregress.gpu.records import replace
from gpuregress.judge.compare import comparators, user_functions
from gpuregress.judge.compare.comparison_request import ComparisonRequest
from gpuregress.judge.compare.in_order import InOrder
from gpuregress.judge.compare.metrics.difference_statistics import Indices
from gpuregress.judge.compare.rules.bound import Bound
from gpuregress.judge.compare.rules.elementwise import changed


class InFloat64:
    """Streaming comparison in order, in float64, so that neither side is rounded.

    Args:
        request: the buffer and the rule; without `ulp`, which counts steps of the buffer's own dtype.
    """

    def __init__(self, request: ComparisonRequest) -> None:
        self._request, self._inexact = request, ""
        wide = replace(request, element_type=dtypes.widened(request.element_type))
        self._run = InOrder(wide, every=True)

    def add(self, indices: Indices, expected: Array, actual: Array) -> None:
        """Add the next rows, all of them.

        Args:
            indices: their indices in the buffer.
            expected: `dtypes.widened` of the request's element type, one dimension: the reference.
            actual: `request.element_type.storage`.
        """
        self._run.add(indices, expected, conversion.widened(actual, self._request.element_type))
        self._inexact = self._inexact or _first_inexact(self._request, expected, int(indices[0]))

    def finish(self) -> Comparison:
        """The comparison of all rows."""
        return _result(self._request, self._run.finish(), self._inexact)


def compare(request: ComparisonRequest, expected: Array, actual: Array) -> Comparison:
    """Compare whole arrays in float64, for rules that do not compare in order.

    Args:
        request: as for `InFloat64`.
        expected: the reference, flat or shaped.
        actual: the same.
    """
    wide = dtypes.widened(request.element_type)
    expected, actual = expected.reshape(-1), actual.reshape(-1)
    in_float64 = conversion.widened(actual, request.element_type)
    as_wide = replace(request, element_type=wide)
    if request.rule.verify:
        return user_functions.verify(as_wide, expected, in_float64, unconverted=(actual, request.element_type))
    return _result(request, comparators.compare(as_wide, expected, in_float64), _first_inexact(request, expected, 0))


def _result(request: ComparisonRequest, compared: Comparison, inexact: str) -> Comparison:
    if not compared.same and _is_exact(request.rule):
        compared = replace(compared, message=f"{compared.message}; {inexact}")
    return _without_steps(compared)


def _is_exact(rule: Rule) -> bool:
    return Bound.of_rule(rule).is_exact and not (rule.metric or rule.statistics.given)


def _first_inexact(request: ComparisonRequest, expected: Array, start: int) -> str:
    """Describe the first reference value that is not exact in the buffer's dtype; "" if all are.

    Args:
        request: the buffer and the rule.
        expected: some rows of the reference.
        start: the index of the first of them.
    """
    wide, element = dtypes.widened(request.element_type), request.element_type
    back = conversion.widened(conversion.narrowed(expected, element), element)
    columns = zip(wide.parts, wide.columns(expected), wide.columns(back), element.parts, strict=True)
    inexact = [
        (int(rows[0]), word(before, int(rows[0]), wider.scalar), part.scalar.name)
        for wider, before, after, part in columns
        if (rows := np.flatnonzero(changed(before, after, wider.scalar))).size
    ]
    if not inexact:
        return ""
    row, value, dtype = min(inexact)
    where = f"[{start + row}] of the {request.against}"
    return f"{where}, {value}, is not exact in {dtype}: return {dtype}, or give a tolerance or ulp"


def _without_steps(compared: Comparison) -> Comparison:
    """Remove ULPs: steps between float64s mean nothing to a buffer of another dtype."""
    figures = compared.figures.without_ulps() if isinstance(compared.figures, UlpFigures) else compared.figures
    return replace(
        compared,
        figures=replace(figures, compared_as="float64"),
        worst=None if compared.worst is None else _stepless(compared.worst),
        first=tuple(_stepless(one) for one in compared.first),
    )


def _stepless(element: Element) -> Element:
    return replace(element, ulp=None)

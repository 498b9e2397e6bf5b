"""A buffer against a gold standard in float64, of which some value is between two numbers of the buffer's own dtype."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from gpuregress import conversion, dtypes
from gpuregress.compare import custom, entry
from gpuregress.compare.bound import Bound
from gpuregress.compare.bounds import changed
from gpuregress.compare.request import Request
from gpuregress.compare.words import word
from gpuregress.ordinals import Array
from gpuregress.records import Comparison, Element, Rule


def compare(request: Request, expected: Array, actual: Array) -> Comparison:
    """Compares in float64, where neither side is rounded.

    Args:
        request: what to compare and how; without `ulp`, which counts steps of the buffer's own dtype.
        expected: `dtypes.widened` of the request's element type, flat or shaped: the gold standard.
        actual: `request.element_type.storage`: this run's.
    """
    wide = dtypes.widened(request.element_type)
    expected, actual = expected.reshape(-1), actual.reshape(-1)
    in_float64 = conversion.widened(actual, request.element_type)
    as_wide = dataclasses.replace(request, element_type=wide)
    if request.rule.verify:
        return custom.verify(as_wide, expected, in_float64, seen=(actual, request.element_type))
    compared = entry.compare(as_wide, expected, in_float64)
    if compared.same or not _is_exact(request.rule):
        return _without_steps(compared)
    message = f"{compared.message}; {_between(request, expected)}"
    return _without_steps(dataclasses.replace(compared, message=message))


def _is_exact(rule: Rule) -> bool:
    return Bound.of_rule(rule).is_exact and not (rule.metric or rule.statistics)


def _between(request: Request, expected: Array) -> str:
    """The first value that the buffer's dtype has not, and what to do about it."""
    wide, element = dtypes.widened(request.element_type), request.element_type
    back = conversion.widened(conversion.narrowed(expected, element), element)
    columns = zip(wide.parts, wide.columns(expected), wide.columns(back), element.parts, strict=True)
    index, value, dtype = min(
        (int(rows[0]), word(before, int(rows[0]), wider.scalar), part.scalar.name)
        for wider, before, after, part in columns
        if (rows := np.flatnonzero(changed(before, after, wider.scalar))).size
    )
    return f"[{index}] of the {request.against}, {value}, is no {dtype}: return {dtype}, or give a tolerance or ulp"


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

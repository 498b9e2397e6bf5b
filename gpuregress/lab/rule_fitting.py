"""Rule fitting: the tightest rule under which all results of one buffer are the same."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Literal

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.numeric import determinism, ordinals
from gpuregress.foundation.records import Rule
from gpuregress.gpu.records import Record
from gpuregress.judge import compare

Array = npt.NDArray[np.generic]
MARGIN = 2
"""Factor between a bound and the largest error that was seen."""
MOST_ULP = 4096
"""More ULPs than that are given as a relative error."""
WIDE = 1e-2
"""A larger relative error is no rounding error: another rule is needed, or there is a bug."""


class RuleFit(Record):
    """The rule for one buffer.

    Attributes:
        rule: the tightest that holds with its margin; None where none holds.
        text: the rule as YAML, `{ulp: 4}`; "" where every bit is equal, or no rule holds.
        evidence: the errors that were seen, in words.
    """

    rule: Rule | None
    text: str
    evidence: str


def fit(element: ElementType, shape: tuple[int, ...], results: Sequence[Array]) -> RuleFit:
    """RuleFit the tightest rule: every bit, then any order, then ULPs, then a tolerance.

    Args:
        element: of the buffer.
        shape: elements along each axis.
        results: of one type and shape; any of them may become the baseline, so each pair must be the same both ways.
    """
    flat = [np.asarray(result).reshape(-1) for result in results]
    variation = determinism.classify(element, flat)
    if variation == "bitwise":
        return RuleFit(Rule(), "", "every bit equal")
    if variation == "order varies":
        return RuleFit(Rule(order="any"), "{order: any}", "the same values in other places")
    for rule, text, evidence in _candidates(element, flat):
        if not compare.validate_rule(rule, element) and _holds(rule, element, shape, flat):
            return RuleFit(rule, text, evidence)
    return RuleFit(None, "", "no bound holds: the values differ by more than rounding; see statistics: and verify:")


def _candidates(element: ElementType, flat: Sequence[Array]) -> Iterator[tuple[Rule, str, str]]:
    yield from _bounds(element, flat, "indexed")
    if len(element.parts) == 1:
        scalar = element.parts[0].scalar
        ordered = [column[np.argsort(ordinals.keys(column, scalar), kind="stable")] for column in flat]
        yield from _bounds(element, ordered, "any")


def _bounds(
    element: ElementType, flat: Sequence[Array], order: Literal["indexed", "any"]
) -> Iterator[tuple[Rule, str, str]]:
    tail = ", order: any" if order == "any" else ""
    ulp, relative, absolute = _largest(element, flat)
    if element.is_float and ulp * MARGIN <= MOST_ULP:
        steps = _power_of_two(MARGIN * ulp)
        evidence = f"{ulp} ulp at most; the bound is twice that, up to a power of two"
        yield Rule(ulp=steps, order=order), f"{{ulp: {steps}{tail}}}", evidence
    if element.is_float and relative * MARGIN <= WIDE:
        limit = _one_digit(MARGIN * relative)
        evidence = f"a relative error of {relative:.3g} at most; the bound is twice that, rounded up"
        yield Rule(rtol=limit, atol=0.0, order=order), f"{{rtol: {_yaml(limit)}, atol: 0{tail}}}", evidence
    scale = max((_scale(element, column) for column in flat), default=0.0)
    if absolute * MARGIN <= WIDE * scale:
        limit = _one_digit(MARGIN * absolute)
        evidence = f"an absolute error of {absolute:.3g} at most, of values up to {scale:.3g}; the bound is twice that"
        yield Rule(rtol=0.0, atol=limit, order=order), f"{{rtol: 0, atol: {_yaml(limit)}{tail}}}", evidence


def _largest(element: ElementType, flat: Sequence[Array]) -> tuple[int, float, float]:
    """The largest error over all pairs: in ULPs, relative, and absolute."""
    ulp, relative, absolute = 0, 0.0, 0.0
    for first, second in permutations(flat, 2):
        columns = zip(element.columns(first), element.columns(second), strict=True)
        for part, (e, a) in zip(element.parts, columns, strict=True):
            differs = ordinals.keys(e, part.scalar) != ordinals.keys(a, part.scalar)
            if not differs.any():
                continue
            expected, actual = (dtypes.to_float(c[differs], part.scalar).astype(np.float64) for c in (e, a))
            with np.errstate(all="ignore"):
                error = np.abs(actual - expected)
                relative_error = error / np.abs(expected)
            absolute = max(absolute, _top(error))
            relative = max(relative, _top(relative_error))
            if part.scalar.is_float:
                ulp = max(ulp, int(ordinals.ulps(e[differs], a[differs], part.scalar).max()))
    return ulp, relative, absolute


def _top(errors: npt.NDArray[np.float64]) -> float:
    return math.inf if np.isnan(errors).any() else float(errors.max())


def _scale(element: ElementType, column: Array) -> float:
    sizes = [
        np.abs(dtypes.to_float(c, p.scalar).astype(np.float64))
        for p, c in zip(element.parts, element.columns(column), strict=True)
    ]
    finite = [size[np.isfinite(size)] for size in sizes]
    return max((float(size.max()) for size in finite if size.size), default=0.0)


def _holds(rule: Rule, element: ElementType, shape: tuple[int, ...], flat: Sequence[Array]) -> bool:
    request = compare.ComparisonRequest("", element, shape, rule)
    return all(compare.compare(request, first, second).same for first, second in permutations(flat, 2))


def _power_of_two(number: int) -> int:
    return 1 << max(0, number - 1).bit_length()


def _one_digit(number: float) -> float:
    """The next number of one digit that is not smaller: 1.2e-6 → 2e-6."""
    if number == 0:
        return 0.0
    exponent = math.floor(math.log10(number))
    return float(f"{math.ceil(number / 10.0**exponent * (1 - 1e-12))}e{exponent}")


def _yaml(number: float) -> str:
    """With a point and a signed exponent, which every YAML reader takes for a number: `2.0e-06`."""
    return f"{number:.1e}"

"""Detection of limits that are too loose to fail, or tighter than rounding or a sample can meet."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

from gpuregress.foundation.dtypes import ElementType, Part

Unsound = tuple[tuple[str, ...], str]
"""The keys below a rule, as `("outliers", "rtol")`, and the problem."""


def loose(
    element: ElementType,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    ulp: int | None = None,
    exact: Collection[str] = (),
) -> Iterator[Unsound]:
    """Find the limits of a bound that can hardly fail.

    Args:
        element: the buffer's element type.
        rtol: too loose from 1 on, when a result of 0 passes for everything.
        atol: too loose from the largest number of a part on.
        ulp: too loose from the steps between a number and its double on.
        exact: parts without this bound.
    """
    bounded = [part for part in element.parts if part.scalar.kind != "bool" and part.name not in exact]
    if rtol is not None and rtol >= 1:
        yield ("rtol",), f"is {rtol:g}: it must be below 1, or a result of 0 passes for everything"
    if atol is not None:
        yield from ((("atol",), text) for text in over_largest(atol, bounded))
    for part in bounded:
        if ulp is not None and part.scalar.is_float and ulp >= 1 << (part.scalar.digits - 1):
            steps = f"{1 << (part.scalar.digits - 1)} steps of {_name(part)} lie between a number and its double"
            yield ("ulp",), f"is {ulp}: {steps}, so it could hardly fail"
            return


def tight(element: ElementType, rtol: float | None, *, exact: Collection[str] = ()) -> Iterator[Unsound]:
    """Find a relative tolerance below the unit roundoff, half of the machine epsilon, which no rounding meets.

    Args:
        element: the buffer's element type; integers may have any tolerance, and of several floats the finest counts.
        rtol: the tolerance; 0 asks for equality, which is no tolerance.
        exact: parts without this bound.
    """
    bounded = [part for part in element.parts if part.scalar.kind != "bool" and part.name not in exact]
    if not rtol or not bounded or not all(part.scalar.is_float for part in bounded):
        return
    finest = max(bounded, key=lambda part: part.scalar.digits)
    roundoff = 2.0**-finest.scalar.digits
    if rtol < roundoff:
        text = f"is {rtol:g}, tighter than {_name(finest)} can hold: half its epsilon is {roundoff:.2g}"
        yield ("rtol",), f"{text}; give ulp: 0 for the nearest number, or a wider tolerance"


def over_largest(limit: float, parts: Collection[Part]) -> Iterator[str]:
    """Describe an absolute bound that reaches the largest number of a part."""
    for part in parts:
        if limit >= part.scalar.largest:
            largest = part.scalar.largest
            text = f"{largest:.8g}" if part.scalar.is_float else str(largest)
            yield f"is {limit:g}: the largest {_name(part)} is {text}, so it could hardly fail"
            return


def _name(part: Part) -> str:
    return f"{part.scalar.name} ({part.name})" if part.name else part.scalar.name


def ks_p_value(distance: float, expected: int, actual: int) -> float:
    """The asymptotic p-value of the two-sample Kolmogorov-Smirnov test.

    It is the probability of a distance at least this large between samples of one distribution.

    Args:
        distance: between the empirical distribution functions.
        expected: numbers in one sample.
        actual: numbers in the other.
    """
    effective = math.sqrt(expected * actual / (expected + actual))
    scaled = (effective + 0.12 + 0.11 / effective) * distance
    if scaled < 0.2:
        return 1.0  # 1 - 1e-12, where the series converges slowly
    terms = [(-1.0) ** (k - 1) * math.exp(-2 * (k * scaled) ** 2) for k in range(1, 101)]
    return min(1.0, max(0.0, 2 * math.fsum(terms)))

"""The decimal of the fewest digits that reads back to a number, and of those the nearest (Steele and White, 1990)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.intp]
ReadsBack = Callable[[list[str], Places], npt.NDArray[np.bool_]]
"""Decimals, and the places of the numbers they may stand for → which of them round to their number."""


def fewest(exact: npt.NDArray[np.float64], most: int, reads_back: ReadsBack) -> list[str]:
    """Each number's decimal, in Python's `1.5e-07`.

    Args:
        exact: the numbers of a narrower type, exactly; finite, not 0.
        most: digits that are always enough for that type.
        reads_back: rounds to that type, ties to even, once.
    """
    values = exact.tolist()
    found = [f"{value:.{most - 1}e}" for value in values]
    left: Places = np.arange(len(values))
    for digits in range(most - 1, 0, -1):
        candidates = [f"{values[at]:.{digits - 1}e}" for at in left.tolist()]
        good = reads_back(candidates, left)
        for at in np.flatnonzero(good).tolist():
            found[int(left[at])] = candidates[at]
        left = left[good]
        if left.size == 0:
            break
    mantissa, _ = np.frexp(np.abs(exact))
    for power in np.flatnonzero(mantissa == 0.5).tolist():
        found[power] = _of_power_of_two(found[power], Decimal(values[power]), reads_back, np.array([power]))
    return found


def _of_power_of_two(text: str, exact: Decimal, reads_back: ReadsBack, at: Places) -> str:
    """Below a power of two the numbers lie closer, so the nearest decimal can miss where the next one up hits."""
    have = len(Decimal(text).normalize().as_tuple().digits)
    for digits in range(1, have):
        sides = [Context(prec=digits, rounding=way).create_decimal(exact) for way in (ROUND_FLOOR, ROUND_CEILING)]
        good = [side for side in sides if reads_back([str(side)], at)[0]]
        if good:
            return f"{min(good, key=lambda side: abs(side - exact)):e}"
    return text

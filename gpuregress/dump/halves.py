"""The 65,536 numbers of float16 and of bfloat16 in their fewest digits, and the way back.

numpy knows no bfloat16 and polars prints neither in its own fewest digits, so each pattern gets the decimal with the
fewest digits that rounds to it, kept as the float32 whose own shortest text is that decimal.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gpuregress.dtypes import Scalar, to_float

Bits = npt.NDArray[np.uint16]
_FEW = 1 << 13
"""Elements up to which the table of all patterns is not worth making."""


def numbers(bits: Bits, scalar: Scalar) -> npt.NDArray[np.float32]:
    """For each element, a float32 that prints as its shortest decimal (NaN for NaNs).

    Args:
        bits: any shape.
        scalar: float16 or bfloat16.
    """
    if bits.size > _FEW:
        return shortest(scalar)[bits]
    codes, where = np.unique(bits, return_inverse=True)
    magnitudes = _of_codes(codes & np.uint16(0x7FFF), scalar)
    return np.where(codes >> np.uint16(15), -magnitudes, magnitudes)[where.reshape(bits.shape)]


@lru_cache(maxsize=2)
def shortest(scalar: Scalar) -> npt.NDArray[np.float32]:
    """For each bit pattern, a float32 that prints as the pattern's shortest decimal (NaN for NaNs).

    Args:
        scalar: float16 or bfloat16.
    """
    positive = _of_codes(np.arange(1 << 15, dtype="<u2"), scalar)
    return np.concatenate([positive, -positive])


def _of_codes(codes: Bits, scalar: Scalar) -> npt.NDArray[np.float32]:
    """The same for patterns without a sign."""
    with np.errstate(invalid="ignore"):  # signalling NaNs, made quiet
        exact = values(codes, scalar).astype("<f8")
    short = exact.copy()
    left = np.flatnonzero(np.isfinite(exact) & (exact != 0))
    for digits in range(1, 10):
        candidates = np.array([float(f"{value:.{digits - 1}e}") for value in exact[left].tolist()])
        good = round_to_bits(candidates, scalar) == codes[left]
        short[left[good]] = candidates[good]
        left = left[~good]
        if left.size == 0:
            break
    _mend_powers_of_two(short, exact, codes, scalar)
    return short.astype("<f4")


def values(bits: Bits, scalar: Scalar) -> npt.NDArray[np.float32]:
    """The numbers that bit patterns stand for, exactly."""
    if scalar.kind == "bfloat":
        return to_float(bits, scalar).astype("<f4", copy=False)
    with np.errstate(invalid="ignore"):  # a signalling NaN, made quiet
        return bits.view("<f2").astype("<f4")


def round_to_bits(numbers: npt.NDArray[np.float64], scalar: Scalar) -> Bits:
    """The bit patterns nearest to float64 numbers, ties to even, rounded once.

    Args:
        numbers: no NaN whose payload matters: a NaN gives some NaN.
        scalar: float16 or bfloat16.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if scalar.kind == "float":
            return numbers.astype("<f2").view("<u2")
        single = numbers.astype("<f4")
        bits = single.view("<u4").copy()
        # Rounding to odd keeps what a second rounding needs to know (Boldo and Melquiond, 2008): truncate, then set the
        # last bit where anything was cut off.
        away = np.abs(single.astype("<f8")) > np.abs(numbers)
        bits -= away
        bits |= single.astype("<f8") != numbers
    rounded = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)
    return np.where(np.isnan(numbers), np.uint32(0x7FFF), rounded).astype("<u2")


def _mend_powers_of_two(
    short: npt.NDArray[np.float64], exact: npt.NDArray[np.float64], codes: Bits, scalar: Scalar
) -> None:
    """Below a power of two the numbers lie closer, so the nearest decimal can miss where the next one up hits."""
    fraction, _ = np.frexp(exact)
    for at in np.flatnonzero(np.isfinite(exact) & (fraction == 0.5)).tolist():
        have = len(f"{float(short[at])!r}".partition("e")[0].replace(".", "").strip("0"))
        for digits in range(1, have):
            sides = [
                float(Context(prec=digits, rounding=way).create_decimal_from_float(float(exact[at])))
                for way in (ROUND_FLOOR, ROUND_CEILING)
            ]
            good = [side for side in sides if round_to_bits(np.array([side]), scalar)[0] == codes[at]]
            if good:
                short[at] = min(good, key=lambda side: abs(side - exact[at]))
                break

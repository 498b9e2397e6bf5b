"""The 65,536 numbers of float16 and of bfloat16 in their fewest digits, and the way back.

numpy knows no bfloat16 and polars prints neither in its own fewest digits, so each pattern gets the decimal with the
fewest digits that rounds to it, kept as the float32 whose own shortest text is that decimal.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gpuregress.dtypes import Scalar, to_float
from gpuregress.dump import digits

Bits = npt.NDArray[np.uint16]
_FEW = 1 << 13
"""Elements up to which the table of all patterns is not worth making."""
_MOST_DIGITS = 9


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
    finite = np.flatnonzero(np.isfinite(exact) & (exact != 0))

    def reads_back(texts: list[str], at: digits.Places) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = (
            round_to_bits(np.array([float(text) for text in texts]), scalar) == codes[finite[at]]
        )
        return found

    short[finite] = [float(text) for text in digits.fewest(exact[finite], _MOST_DIGITS, reads_back)]
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

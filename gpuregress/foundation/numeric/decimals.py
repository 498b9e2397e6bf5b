"""Shortest decimal text of numbers: the fewest digits that read back to the same bits.

The words are orjson's (`0.00001`, `1e-7`, `1e+16`). A 16-bit float is printed as the float32 whose own shortest decimal
is the shortest one of the 16 bits.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import orjson

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import CANONICAL_NAN, Scalar

Array = npt.NDArray[np.generic]
Bits = npt.NDArray[np.uint16]

_BFLOAT16_DIGITS = 4
"""Decimal digits that suffice for every bfloat16."""
_TABLE_FROM = 1 << 13
"""Elements above which the table of all 65,536 patterns is worth its cost."""


def word(column: Array, index: int, scalar: Scalar) -> str:
    """Format the number at an index."""
    return words(column[index : index + 1], scalar)[0]


def words(column: Array, scalar: Scalar) -> list[str]:
    """Format each number as a dump does, but any NaN as `nan`."""
    if column.size == 0:
        return []
    return text(column, scalar, nan_bits=False)[1:-1].decode("ascii").split(",")


def text(column: Array, scalar: Scalar, *, nan_bits: bool = True) -> bytes:
    """Format numbers as a dump does, in brackets and with a comma between two: `[1.0,nan]`.

    Args:
        column: one dimension, the scalar's storage dtype.
        scalar: how to read it.
        nan_bits: tell NaNs apart by `nan_word`; else each is `nan`.
    """
    column = np.ascontiguousarray(column)
    if scalar.kind == "bool":
        column = column.view(np.uint8)  # a byte that is neither 0 nor 1 prints as its number
    if not scalar.is_float:
        return orjson.dumps(column, option=orjson.OPT_SERIALIZE_NUMPY)
    bits = column.view(f"<u{scalar.size}")
    numbers = shortest(bits, scalar) if scalar.size == 2 else column
    json = orjson.dumps(numbers, option=orjson.OPT_SERIALIZE_NUMPY)
    special = np.flatnonzero(~np.isfinite(numbers))  # which are `null` in JSON
    if special.size == 0:
        return json
    patterns, inverse = np.unique(bits[special], return_inverse=True)
    spelled = [b"nan"] * patterns.size
    values = dtypes.to_float(patterns.view(scalar.storage), scalar).tolist()
    for index, (pattern, value) in enumerate(zip(patterns.tolist(), values, strict=True)):
        if math.isinf(value):
            spelled[index] = b"inf" if value > 0 else b"-inf"
        elif nan_bits:
            spelled[index] = nan_word(pattern, scalar).encode()
    if len(spelled) == 1:
        return json.replace(b"null", spelled[0])
    pieces = [b""] * (2 * special.size + 1)
    pieces[::2] = json.split(b"null")
    pieces[1::2] = np.array(spelled, object)[inverse].tolist()
    return b"".join(pieces)


def nan_word(bits: int, scalar: Scalar) -> str:
    """Format a NaN with its bits, which a dump keeps.

    `nan` is the one that NVIDIA's hardware makes (`CANONICAL_NAN`; for 32 bits PTX ISA, "Floating-Point Instructions":
    "NaN payloads are not preserved … 0x7fffffff"). Any other is `nan(0x7fc00000)`, as C's strtod and therefore
    `sort -g` and awk take it.

    Args:
        bits: the pattern.
        scalar: of which type.
    """
    return "nan" if bits == CANONICAL_NAN[scalar.name] else f"nan(0x{bits:0{2 * scalar.size}x})"


def shortest(bits: Bits, scalar: Scalar) -> npt.NDArray[np.float32]:
    """For each 16-bit float, the float32 that prints as its shortest decimal; NaN for NaNs.

    Args:
        bits: any shape.
        scalar: float16 or bfloat16.
    """
    if bits.size > _TABLE_FROM:
        return _table(scalar)[bits]
    patterns, inverse = np.unique(bits, return_inverse=True)
    magnitudes = _magnitudes(patterns & np.uint16(0x7FFF), scalar)
    return np.where(patterns >> np.uint16(15), -magnitudes, magnitudes)[inverse.reshape(bits.shape)]


@lru_cache(maxsize=2)
def _table(scalar: Scalar) -> npt.NDArray[np.float32]:
    """`shortest` of every bit pattern."""
    positive = _magnitudes(np.arange(1 << 15, dtype="<u2"), scalar)
    return np.concatenate([positive, -positive])


def _magnitudes(patterns: Bits, scalar: Scalar) -> npt.NDArray[np.float32]:
    """`shortest` of patterns without a sign bit."""
    if scalar.kind == "float":
        texts = [np.format_float_scientific(number) for number in patterns.view("<f2")]
        return np.array([float(text) for text in texts], "<f8").astype("<f4")
    steps = (np.maximum(patterns, 1) - np.uint16(1), patterns, patterns + np.uint16(1))
    with np.errstate(invalid="ignore"):  # signalling NaNs
        below, exact, above = (dtypes.to_float(step, scalar).astype("<f8") for step in steps)
    above[np.isinf(above)] = 2.0**128
    # All decimals in the rounding interval read back; its ends do where the pattern is even (ties to even).
    low, high, is_even = (below + exact) / 2, (exact + above) / 2, patterns % 2 == 0
    shortest_of, left = exact.copy(), np.flatnonzero(np.isfinite(exact) & (exact != 0))
    for digits in range(1, _BFLOAT16_DIGITS + 1):
        rounding_up = Context(prec=digits, rounding=ROUND_CEILING)
        # Below a power of two the numbers lie closer: the nearest decimal can miss where the next one up reads back.
        for is_power in (False, True):
            rows = left[np.frexp(exact[left])[0] == 0.5] if is_power else left
            texts = [f"{value:.{digits - 1}e}" for value in exact[rows].tolist()]
            if is_power:
                texts = [str(rounding_up.create_decimal_from_float(value)) for value in exact[rows].tolist()]
            decimals = np.array([float(text) for text in texts])
            at_end = (decimals == low[rows]) | (decimals == high[rows])
            good = (decimals > low[rows]) & (decimals < high[rows]) | is_even[rows] & at_end
            shortest_of[rows[good]] = decimals[good]
            left = np.setdiff1d(left, rows[good], assume_unique=True)
    return shortest_of.astype("<f4")

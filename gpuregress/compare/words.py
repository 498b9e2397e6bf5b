"""A few elements as the words that a dump writes for them: the fewest digits that read back to the same bits."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

import numpy as np

from gpuregress import dtypes, ordinals
from gpuregress.dtypes import Scalar
from gpuregress.ordinals import Array

_MOST_DIGITS = {"float16": 5, "bfloat16": 4}


def words(column: Array, scalar: Scalar) -> list[str]:
    """The dump's word for each element.

    Args:
        column: one dimension, the scalar's storage dtype; a few elements.
        scalar: how to read it.
    """
    if scalar.kind == "bool":
        column = ordinals.bits(column, scalar)  # a byte that is neither 0 nor 1 shows as its number
    if not scalar.is_float:
        return [str(value) for value in column.tolist()]
    nan = ordinals.is_nan(column, scalar)
    if scalar.name in _MOST_DIGITS:
        return ["nan" if bad else _narrow(column[at], scalar) for at, bad in enumerate(nan)]
    written = _polars_words(column)
    return ["nan" if bad else word for word, bad in zip(written, nan, strict=True)]


def word(column: Array, at: int, scalar: Scalar) -> str:
    """The dump's word for the element at one place."""
    return words(column[at : at + 1], scalar)[0]


def _polars_words(column: Array) -> list[str]:
    """Written by polars, as dumps are, so that the words agree to the last character."""
    import polars as pl  # noqa: PLC0415 - heavy, and only a difference needs it

    frame = pl.DataFrame({"value": np.ascontiguousarray(column)})
    return frame.write_csv(include_header=False).split()


def _narrow(value: np.generic, scalar: Scalar) -> str:
    """Fewest digits of a 16-bit float: the first precision that reads back to the same bits."""
    single = float(dtypes.to_float(np.array([value], scalar.storage), scalar)[0])
    if not np.isfinite(single):
        return "inf" if single > 0 else "-inf"
    for digits in range(1, _MOST_DIGITS[scalar.name] + 1):
        for number in _decimals(single, digits):
            if _reads_back(number, value, scalar):
                return _polars_words(np.array([number], np.float32))[0]
    return _polars_words(np.array([single], np.float32))[0]


def _decimals(single: float, digits: int) -> list[float]:
    """The nearest decimal, then, at a power of two, the ones on its sides: below it the numbers lie closer."""
    found = [float(f"{single:.{digits}g}")]
    if abs(math.frexp(single)[0]) == 0.5:
        found += [
            float(Context(prec=digits, rounding=way).create_decimal_from_float(single))
            for way in (ROUND_FLOOR, ROUND_CEILING)
        ]
    return found


def _reads_back(number: float, value: np.generic, scalar: Scalar) -> bool:
    if scalar.kind == "float":
        with np.errstate(over="ignore"):
            return bool(np.float16(number).view(np.uint16) == np.float16(value).view(np.uint16))
    return bool(dtypes.from_float32(np.array([number], np.float32))[0] == value)

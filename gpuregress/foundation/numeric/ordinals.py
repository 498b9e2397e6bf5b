"""Total-order keys of numbers: the integers for sorting and ULP distances.

A float's bits, read as sign and magnitude, count the floats along the number line. As two's complement they sort as
IEEE 754's totalOrder does: -inf … -0, 0 … inf. Every NaN becomes one value after all others, so that a sort never
depends on a float comparison, which mixes -0 with 0 and scatters NaNs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.dtypes import Scalar

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


def bits(column: Array, scalar: Scalar) -> Array:
    """Reinterpret a column as unsigned integers of the same width.

    Args:
        column: one dimension, the scalar's storage dtype; may be strided.
        scalar: how to read it.
    """
    return np.ascontiguousarray(column).view(f"<u{scalar.size}")


def magnitude_bits(column: Array, scalar: Scalar) -> Array:
    """The bits of a float column without the sign."""
    unsigned = f"<u{scalar.size}"
    mask = np.array((1 << (8 * scalar.size - 1)) - 1, unsigned)
    return np.asarray(bits(column, scalar) & mask)


def is_nan(column: Array, scalar: Scalar) -> Mask:
    """Mask of NaNs; all false for integers."""
    if not scalar.is_float:
        return np.zeros(column.shape, np.bool_)
    if scalar.kind == "float":
        return np.isnan(column)
    return np.asarray(magnitude_bits(column, scalar) > scalar.exponent_mask)


def is_finite(column: Array, scalar: Scalar) -> Mask:
    """Mask of numbers other than NaN and infinity."""
    if not scalar.is_float:
        return np.ones(column.shape, np.bool_)
    if scalar.kind == "float":
        return np.isfinite(column)
    return np.asarray(magnitude_bits(column, scalar) < scalar.exponent_mask)


def keys(column: Array, scalar: Scalar, *, merge_zeros: bool = False) -> Array:
    """Map a column to integers in its total order; equal integers mean the same value.

    Args:
        column: one dimension, the scalar's storage dtype.
        scalar: how to read it.
        merge_zeros: -0 gets the key of 0.

    Returns:
        A new array of the same length: signed integers of the same width for floats (NaN is the largest), else the
        integers themselves.
    """
    if scalar.kind == "bool":
        return bits(column, scalar)
    if not scalar.is_float:
        return np.array(column)
    width = 8 * scalar.size
    signed = bits(column, scalar).view(f"<i{scalar.size}")
    low = np.array((1 << (width - 1)) - 1, signed.dtype)
    ordered = signed ^ ((signed >> np.array(width - 1, signed.dtype)) & low)
    if merge_zeros:
        ordered[ordered == -1] = 0
    ordered[is_nan(column, scalar)] = low
    return np.asarray(ordered)


def distance(expected: Array, actual: Array) -> npt.NDArray[np.uint64]:
    """The exact distance of integers of any dtype.

    It is the difference modulo 2^64 of the larger and the smaller, as no two 64-bit integers are 2^64 apart.
    """
    high, low = np.maximum(expected, actual), np.minimum(expected, actual)
    return high.astype(np.uint64) - low.astype(np.uint64)


def ulps(expected: Array, actual: Array, scalar: Scalar) -> npt.NDArray[np.uint64]:
    """The distance in ULPs; -0 and 0 are one point of the line.

    Args:
        expected: one dimension, a float's storage dtype; results at NaN are meaningless.
        actual: the same.
        scalar: how to read them.
    """
    e, a = keys(expected, scalar), keys(actual, scalar)
    crosses = (e < 0) != (a < 0)
    steps: npt.NDArray[np.uint64] = distance(e, a) - crosses.astype(np.uint64)
    return steps


def splitmix64(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Mix integers by splitmix64 (Steele, Lea and Flood 2014), a bijection; in place."""
    state += np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        state ^= state >> np.uint64(shift)
        state *= np.uint64(factor)
    state ^= state >> np.uint64(31)
    return state


def values(ordered: Array, scalar: Scalar) -> Array:
    """The values of `keys`: the scalar's storage dtype, each NaN as one quiet NaN."""
    if scalar.kind == "bool":
        return ordered.view("?")
    if not scalar.is_float:
        return ordered
    width = 8 * scalar.size
    low = np.array((1 << (width - 1)) - 1, ordered.dtype)
    signed = ordered ^ ((ordered >> np.array(width - 1, ordered.dtype)) & low)
    return np.asarray(signed).view(scalar.storage)


def spacing(values: npt.NDArray[np.float64], scalar: Scalar) -> npt.NDArray[np.float64]:
    """Calculate ulp(x) of finite numbers, the distance of two neighbours at x.

    Args:
        values: x, float64.
        scalar: the floating-point type whose neighbours are meant.
    """
    _, exponents = np.frexp(values)
    units = np.ldexp(1.0, exponents - scalar.digits)
    return np.asarray(np.maximum(np.where(values == 0, 0.0, units), scalar.smallest))

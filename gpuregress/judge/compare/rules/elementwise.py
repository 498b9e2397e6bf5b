"""Elementwise errors and bound violations: exact, by tolerance, or by ULPs.

A tolerance allows |actual - expected| <= atol + rtol |expected|; `ulp` counts steps between floats of one sign.
Differences of integers are exact at any width. Floats up to 32 bits are subtracted in float64; float64 in float64,
which rounds the difference once, and at half scale where it would overflow. The right-hand side is calculated in
float64. An infinity is near nothing but itself, and a NaN near nothing but a NaN, under any tolerance.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import Scalar
from gpuregress.foundation.numeric import ordinals
from gpuregress.foundation.numeric.ordinals import Array, Mask
from gpuregress.judge.compare.rules.bound import Bound

Floats = npt.NDArray[np.float64]
_BELOW_2_64 = float(np.nextafter(2.0**64, 0.0))


def changed(expected: Array, actual: Array, scalar: Scalar) -> Mask:
    """Mask of elements with different values: other bits, except a NaN against a NaN."""
    different = np.asarray(ordinals.bits(expected, scalar) != ordinals.bits(actual, scalar))
    if scalar.is_float and different.any():
        rows = np.flatnonzero(different)
        both = ordinals.is_nan(expected[rows], scalar) & ordinals.is_nan(actual[rows], scalar)
        different[rows[both]] = False
    return different


def absolute(expected: Array, actual: Array, scalar: Scalar) -> Floats:
    """|actual - expected| as float64, for ranking; inf on overflow, NaN if either is not finite."""
    if not scalar.is_float:
        return ordinals.distance(ordinals.keys(expected, scalar), ordinals.keys(actual, scalar)).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.abs(_wide(actual, scalar) - _wide(expected, scalar))
    difference[~(ordinals.is_finite(expected, scalar) & ordinals.is_finite(actual, scalar))] = np.nan
    return difference


def magnitude(expected: Array, scalar: Scalar) -> Floats:
    """|expected| as float64."""
    if scalar.is_float:
        return np.abs(_wide(expected, scalar))
    return np.abs(expected.astype(np.float64))


def broken(expected: Array, actual: Array, scalar: Scalar, bound: Bound) -> Mask:
    """Mask of elements that break a bound.

    Args:
        expected: one dimension, the scalar's storage dtype.
        actual: the same.
        scalar: how to read them.
        bound: the bound.
    """
    out = changed(expected, actual, scalar)
    if not bound.is_exact:
        out &= ~_near(expected, actual, scalar, bound)
    if scalar.is_float:
        if bound.signed_zero == "equal":
            out &= ~_both_zero(expected, actual, scalar)
        if bound.nan == "never":
            out |= ordinals.is_nan(expected, scalar) | ordinals.is_nan(actual, scalar)
    return out


def _near(expected: Array, actual: Array, scalar: Scalar, bound: Bound) -> Mask:
    near = np.zeros(expected.shape, np.bool_)
    if bound.has_tolerance and scalar.kind != "bool":
        near |= _within_tolerance(expected, actual, scalar, bound.rtol or 0.0, bound.atol or 0.0)
    if bound.ulp is not None and scalar.is_float:
        near |= _within_ulp(expected, actual, scalar, bound.ulp)
    if scalar.is_float:
        near &= ordinals.is_finite(expected, scalar) & ordinals.is_finite(actual, scalar)
    return near


def _within_tolerance(expected: Array, actual: Array, scalar: Scalar, rtol: float, atol: float) -> Mask:
    if not scalar.is_float:
        off = ordinals.distance(ordinals.keys(expected, scalar), ordinals.keys(actual, scalar))
        return np.asarray(off <= whole_limit(expected, scalar, rtol, atol))
    with np.errstate(invalid="ignore", over="ignore"):
        limit = atol + rtol * magnitude(expected, scalar)
        difference = np.abs(_wide(actual, scalar) - _wide(expected, scalar))
        within = difference <= limit
        over = ~np.isfinite(difference)
        if over.any():
            half_e, half_a = _wide(expected, scalar) / 2, _wide(actual, scalar) / 2
            within = np.where(over, np.abs(half_a - half_e) <= atol / 2 + rtol * np.abs(half_e), within)
    return within


def whole_limit(expected: Array, scalar: Scalar, rtol: float, atol: float) -> npt.NDArray[np.uint64]:
    """The largest error of integers: atol + rtol |expected|, rounded down, at most 2^64 - 1."""
    with np.errstate(over="ignore"):
        limit = atol + rtol * magnitude(expected, scalar)
    whole = np.floor(np.minimum(limit, _BELOW_2_64)).astype(np.uint64)
    whole[limit > _BELOW_2_64] = np.iinfo(np.uint64).max
    return whole


def _within_ulp(expected: Array, actual: Array, scalar: Scalar, limit: int) -> Mask:
    first, second = ordinals.keys(expected, scalar), ordinals.keys(actual, scalar)
    same_sign = (first < 0) == (second < 0)
    return np.asarray(same_sign & (ordinals.distance(first, second) <= np.uint64(limit)))


def _both_zero(expected: Array, actual: Array, scalar: Scalar) -> Mask:
    zero = ordinals.magnitude_bits(expected, scalar) == 0
    return np.asarray(zero & (ordinals.magnitude_bits(actual, scalar) == 0))


def _wide(column: Array, scalar: Scalar) -> Floats:
    with np.errstate(invalid="ignore"):  # a signalling NaN, made quiet
        return dtypes.to_float(column, scalar).astype(np.float64)

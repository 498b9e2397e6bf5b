"""Bounds of one element's error, exact, by tolerance, or by ULPs, and their violations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import Scalar
from gpuregress.foundation.numeric import ordinals
from gpuregress.foundation.numeric.ordinals import Array, Mask
from gpuregress.foundation.records.rules import Bound

# --- elementwise errors and bound violations: exact, by tolerance, or by ULPs -----------------------------------------


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


# --- tolerance intervals: the range of total-order keys that a bound allows around each value -------------------------


def interval(keys: Array, scalar: Scalar, bound: Bound) -> tuple[Array, Array]:
    """Find the lowest and the highest key within the bound of each one.

    Args:
        keys: `ordinals.keys` of the expected values, one dimension.
        scalar: the type of the values.
        bound: with rtol below 1; its `nan` is ignored.
    """
    low, high = keys.copy(), keys.copy()
    if scalar.kind == "bool":
        return low, high
    if not scalar.is_float:
        return _of_integers(keys, scalar, bound) if bound.has_tolerance else (low, high)
    rows = np.flatnonzero(ordinals.is_finite(ordinals.values(keys, scalar), scalar))
    for ends, up, farther in ((low, False, np.minimum), (high, True, np.maximum)):
        if bound.ulp is not None:
            ends[rows] = _by_ulps(keys[rows], scalar, bound.ulp, up=up)
        if bound.has_tolerance:
            ends[rows] = farther(ends[rows], _by_tolerance(keys[rows], scalar, bound, up=up))
    return low, high


def _of_integers(keys: Array, scalar: Scalar, bound: Bound) -> tuple[Array, Array]:
    limit = whole_limit(keys, scalar, bound.rtol or 0.0, bound.atol or 0.0)
    down, up = (np.minimum(limit, ordinals.distance(keys, np.array(end, keys.dtype))) for end in scalar.bounds)
    wide = keys.astype(np.uint64)  # modulo 2^64, in which sums and differences come out right
    return (wide - down).astype(keys.dtype), (wide + up).astype(keys.dtype)


def _by_ulps(keys: Array, scalar: Scalar, ulp: int, *, up: bool) -> Array:
    """The keys at most `ulp` steps away, of the same sign and finite."""
    last = scalar.exponent_mask - 1
    ends = np.where(keys < 0, -1, last) if up else np.where(keys < 0, -last - 1, 0)
    steps = np.minimum(ordinals.distance(keys, ends.astype(keys.dtype)), np.uint64(ulp)).astype(keys.dtype)
    return np.asarray(keys + steps if up else keys - steps)


def _by_tolerance(keys: Array, scalar: Scalar, bound: Bound, *, up: bool) -> Array:
    """The farthest near keys. `inside` is near, `outside` is not, and both move until they are neighbours."""
    tolerance, values = Bound(bound.rtol, bound.atol), ordinals.values(keys, scalar)
    infinite = scalar.exponent_mask
    one, beyond = (np.array(end, keys.dtype) for end in ((1, infinite) if up else (-1, -infinite - 1)))
    inside, outside = keys.copy(), np.full_like(keys, beyond)
    nearer, farther = (np.minimum, np.maximum) if up else (np.maximum, np.minimum)
    probe = farther(nearer(_guess(values, scalar, bound, up=up), beyond - one), keys)
    rows, is_first = np.arange(len(keys)), True
    while rows.size:
        near = ~broken(values[rows], ordinals.values(probe, scalar), scalar, tolerance)
        inside[rows[near]], outside[rows[~near]] = probe[near], probe[~near]
        apart = inside[rows] + one != outside[rows]
        rows, near = rows[apart], near[apart]
        i, o = inside[rows], outside[rows]
        probe = np.where(near, i + one, o - one) if is_first else (i >> 1) + (o >> 1) + (i & o & 1)
        is_first = False
    return inside


def _guess(values: Array, scalar: Scalar, bound: Bound, *, up: bool) -> Array:
    """The keys of expected ± limit, rounded."""
    wide = dtypes.to_float(values, scalar).astype(np.float64)
    with np.errstate(over="ignore"):
        limit = (bound.atol or 0.0) + (bound.rtol or 0.0) * np.abs(wide)
        ends = wide + limit if up else wide - limit
        if scalar.kind == "bfloat":
            return ordinals.keys(dtypes.from_float32(ends.astype(np.float32)), scalar)
        return ordinals.keys(ends.astype(scalar.storage), scalar)

"""Tolerance intervals: the range of total-order keys that a bound allows around each value.

The ends are exact with respect to `elementwise.broken`. For ULPs and integers they are calculated. For floats under a
tolerance they are searched: first beside expected ± limit, where they are unless digits cancel, then by bisection.
"""

from __future__ import annotations

import numpy as np

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import Scalar
from gpuregress.foundation.numeric import ordinals
from gpuregress.foundation.numeric.ordinals import Array
from gpuregress.judge.compare.rules import elementwise
from gpuregress.judge.compare.rules.bound import Bound


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
    limit = elementwise.whole_limit(keys, scalar, bound.rtol or 0.0, bound.atol or 0.0)
    down, up = (np.minimum(limit, ordinals.distance(keys, np.array(end, keys.dtype))) for end in scalar.bounds)
    wide = keys.astype(np.uint64)  # modulo 2^64, in which sums and differences come out right
    return (wide - down).astype(keys.dtype), (wide + up).astype(keys.dtype)


def _by_ulps(keys: Array, scalar: Scalar, ulp: int, *, up: bool) -> Array:
    """The keys at most `ulp` steps away, of the same sign and finite."""
    last = ordinals.exponent_mask(scalar) - 1
    ends = np.where(keys < 0, -1, last) if up else np.where(keys < 0, -last - 1, 0)
    steps = np.minimum(ordinals.distance(keys, ends.astype(keys.dtype)), np.uint64(ulp)).astype(keys.dtype)
    return np.asarray(keys + steps if up else keys - steps)


def _by_tolerance(keys: Array, scalar: Scalar, bound: Bound, *, up: bool) -> Array:
    """The farthest near keys. `inside` is near, `outside` is not, and both move until they are neighbours."""
    tolerance, values = Bound(bound.rtol, bound.atol), ordinals.values(keys, scalar)
    infinite = ordinals.exponent_mask(scalar)
    one, beyond = (np.array(end, keys.dtype) for end in ((1, infinite) if up else (-1, -infinite - 1)))
    inside, outside = keys.copy(), np.full_like(keys, beyond)
    nearer, farther = (np.minimum, np.maximum) if up else (np.maximum, np.minimum)
    probe = farther(nearer(_guess(values, scalar, bound, up=up), beyond - one), keys)
    rows, is_first = np.arange(len(keys)), True
    while rows.size:
        near = ~elementwise.broken(values[rows], ordinals.values(probe, scalar), scalar, tolerance)
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

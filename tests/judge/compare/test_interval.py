"""The keys that a bound reaches: near up to the ends, and not beyond them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.numeric import ordinals
from gpuregress.foundation.records.rules import Bound
from gpuregress.judge.compare import bounds
from gpuregress.judge.compare.bounds import interval

BOUNDS = (
    Bound(atol=0.0),
    Bound(atol=1.0),
    Bound(rtol=1e-6),
    Bound(rtol=0.999999),
    Bound(rtol=0.25, atol=1e-3),
    Bound(ulp=0),
    Bound(ulp=3),
    Bound(ulp=1 << 20, atol=1e-30),
    Bound(atol=1e300),
    Bound(rtol=0.9, atol=1.7e308),
)
BITS = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "uint64", "int64", "bool")


def edges(dtype: str) -> list[int]:
    """Bits at which things change: zeros, the least and the largest numbers, infinities, NaN."""
    scalar = dtypes.parse(dtype).parts[0].scalar
    sign = 1 << (8 * scalar.size - 1)
    if scalar.kind == "bool":
        return [0, 1]
    if not scalar.is_float:
        return [0, 1, sign - 1, sign, sign + 1, 2 * sign - 1]
    top = scalar.exponent_mask
    return [side + one for side in (0, sign) for one in (0, 1, 2, top - 1, top, top + 1)]


@pytest.mark.parametrize("dtype", BITS)
@settings(max_examples=25)
@given(data=st.data())
def test_the_ends_are_near_and_the_keys_beyond_them_are_not(dtype: str, data: st.DataObject) -> None:
    scalar = dtypes.parse(dtype).parts[0].scalar
    most = 1 if scalar.kind == "bool" else (1 << (8 * scalar.size)) - 1
    raw = data.draw(st.lists(st.sampled_from(edges(dtype)) | st.integers(0, most), min_size=1, max_size=8))
    bound = data.draw(st.sampled_from(BOUNDS))
    keys = ordinals.keys(np.array(raw, f"<u{scalar.size}").view(scalar.storage), scalar)
    low, high = interval(keys, scalar, bound)
    assert low.dtype == high.dtype == keys.dtype
    least, most = key_range(scalar)
    for key, bottom, top in zip(keys.tolist(), low.tolist(), high.tolist(), strict=True):
        assert bottom <= key <= top
        for other, is_near in ((bottom, True), (top, True), (bottom - 1, False), (top + 1, False)):
            assert not least <= other <= most or near(key, other, keys.dtype, scalar, bound) == is_near, (key, other)


def key_range(scalar: dtypes.Scalar) -> tuple[int, int]:
    """The least and the largest key but for NaN's: infinities, or an integer's limits."""
    top = scalar.exponent_mask if scalar.is_float else 0
    return (-top - 1, top) if scalar.is_float else scalar.bounds


def near(first: int, second: int, dtype: Any, scalar: dtypes.Scalar, bound: Bound) -> bool:
    e, a = (ordinals.values(np.array([key], dtype), scalar) for key in (first, second))
    return not bounds.broken(e, a, scalar, bound)[0]

"""Keys sort as Python sorts the numbers; distances and ULPs are exact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import Scalar
from gpuregress.foundation.numeric import ordinals

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def scalar_of(name: str) -> Scalar:
    return dtypes.parse(name).parts[0].scalar


def column_of(patterns: list[int], scalar: Scalar) -> npt.NDArray[Any]:
    """Numbers by their bits."""
    mask = (1 << (8 * scalar.size)) - 1
    return np.array([pattern & mask for pattern in patterns], f"<u{scalar.size}").view(scalar.storage)


def total_order(value: float) -> tuple[bool, float, float]:
    """What IEEE 754's totalOrder sorts by, NaNs made one and last."""
    return (True, 0.0, 0.0) if math.isnan(value) else (False, value, math.copysign(1.0, value))


PATTERNS = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20)


@pytest.mark.parametrize("name", FLOATS)
@given(patterns=PATTERNS)
@example(patterns=[0, 1 << 63, 1 << 31, 1 << 15, 0x7C00, 0x7F80, 0x7F800000, 0x7FF0000000000000, 0xFFFF, 2**64 - 1])
def test_keys_order_floats_totally(name: str, patterns: list[int]) -> None:
    scalar = scalar_of(name)
    column = column_of(patterns, scalar)
    keys = ordinals.keys(column, scalar)
    numbers = [total_order(float(value)) for value in dtypes.to_float(column, scalar)]
    for i, key in enumerate(keys.tolist()):
        for j, other in enumerate(keys.tolist()):
            assert (key < other, key == other) == (numbers[i] < numbers[j], numbers[i] == numbers[j])
    merged = ordinals.keys(column, scalar, merge_zeros=True)
    zero = np.array([number[1] == 0 and not number[0] for number in numbers])
    assert np.array_equal(merged[~zero], keys[~zero])
    assert not merged[zero].any()


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS, "bool"])
@given(patterns=PATTERNS)
def test_values_are_what_the_keys_were_made_of(name: str, patterns: list[int]) -> None:
    scalar = scalar_of(name)
    column = np.array([pattern & 1 for pattern in patterns], bool) if name == "bool" else column_of(patterns, scalar)
    actual = ordinals.values(ordinals.keys(column, scalar), scalar)
    nan = ordinals.is_nan(column, scalar)
    assert np.array_equal(ordinals.bits(actual[~nan], scalar), ordinals.bits(column[~nan], scalar))
    assert ordinals.is_nan(actual[nan], scalar).all()


@pytest.mark.parametrize("name", INTEGERS)
@given(first=PATTERNS, second=st.integers(0, 2**64 - 1))
@example(first=[0, 2**63 - 1, 2**63, 2**64 - 1], second=2**63)
def test_distances_of_integers_are_exact(name: str, first: list[int], second: int) -> None:
    column = column_of(first, scalar_of(name))
    other = column_of([second] * len(first), scalar_of(name))
    exact = [abs(a - b) for a, b in zip(column.tolist(), other.tolist(), strict=True)]
    assert ordinals.distance(column, other).tolist() == exact


@pytest.mark.parametrize(("name", "kind"), [("float16", np.float16), ("float32", np.float32), ("float64", np.float64)])
@given(start=st.floats(-60000, 60000), steps=st.integers(0, 40))
@example(start=0.0, steps=1)
@example(start=-0.0, steps=1)
@example(start=-1e-7, steps=40)
def test_ulps_count_the_floats_on_the_way(name: str, kind: type[np.floating[Any]], start: float, steps: int) -> None:
    first = np.array([start], kind)
    second = first
    for _ in range(steps):
        second = np.nextafter(second, np.array([np.inf], kind))
    assert ordinals.ulps(first, second, scalar_of(name)).tolist() == [steps]
    assert ordinals.ulps(second, first, scalar_of(name)).tolist() == [steps]


def test_the_two_zeros_are_one_place() -> None:
    zeros = np.array([0.0, -0.0], np.float32)
    assert ordinals.ulps(zeros, zeros[::-1].copy(), scalar_of("float32")).tolist() == [0, 0]

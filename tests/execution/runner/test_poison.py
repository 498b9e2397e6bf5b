from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.execution.runner.poison import Survey, poison, survey
from gpuregress.foundation import dtypes
from gpuregress.foundation.records import UnwrittenElements


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_pattern_is_a_nan(dtype: str) -> None:
    array = poison(64).view(dtype)
    assert np.isnan(array).all()


def test_the_pattern_is_a_bfloat16_nan() -> None:
    assert np.isnan(dtypes.to_float(poison(64).view("<u2"), dtypes.parse("bfloat16").parts[0].scalar)).all()


@given(
    st.sampled_from(
        ["int8", "int16", "int32", "int64", "float32", "float64", "float3", "{a: int32, b: int8}", "uchar3"]
    ),
    st.lists(st.booleans(), min_size=1, max_size=60),
)
def test_exactly_the_elements_left_alone_are_found(dtype: str, written: list[bool]) -> None:
    element = dtypes.parse(dtype)
    raw = poison(element.size * len(written)).reshape(len(written), element.size)
    for row, is_written in zip(raw, written, strict=True):
        if is_written:
            row[0] ^= 0x80
    actual = survey([raw.reshape(-1).view(element.storage)], element).unwritten
    left = [number for number, is_written in enumerate(written) if not is_written]
    assert (actual is None) == (not left)
    assert left == ranges_to_list(actual)


def ranges_to_list(actual: UnwrittenElements | None) -> list[int]:
    return [] if actual is None else [index for start, stop in actual.ranges for index in range(start, stop)]


@pytest.mark.parametrize(
    ("dtype", "values", "nans"),
    [
        ("float32", [1.0, np.nan, np.inf, np.nan], 2),
        ("float16", [1.0, np.nan, 2.0, 3.0], 1),
        ("complex64", [1.0, complex(0, np.nan), complex(np.nan, np.nan), 0.0], 2),
        ("int32", [1, 2, 3, 4], 0),
    ],
)
def test_nans_are_counted_once_an_element_and_never_the_poison(dtype: str, values: list[Any], nans: int) -> None:
    element = dtypes.parse(dtype)
    written = np.array(values, element.storage)
    assert survey([written], element) == Survey(nans, 0, None)
    left = poison(3 * element.size).view(element.storage)
    actual = survey([written, left], element)
    assert actual.unwritten is not None
    assert (actual.nan, actual.unwritten.elements) == (nans, 3)
    poisoned_as_well = {"float32": 3, "float16": 3, "complex64": 3, "int32": 0}[dtype]
    assert survey([written, left], element, poisoned=False) == Survey(nans + poisoned_as_well, 0, None)


def test_bfloat16_nans_are_counted() -> None:
    assert survey([np.array([0x3F80, 0x7FC0, 0x7F80, 0xFFC1], "<u2")], dtypes.parse("bfloat16")).nan == 2


@pytest.mark.parametrize("dtype", ["float4", "int2", "{id: int32, score: float64}"])
def test_an_element_written_in_part_is_told_apart(dtype: str) -> None:
    element = dtypes.parse(dtype)
    array = poison(5 * element.size).view(element.storage)
    for part in element.parts:
        array[part.name][:2] = 1
    array[element.parts[0].name][2:4] = 1
    actual = survey([array], element)
    assert actual.unwritten is not None
    assert (actual.partly, actual.unwritten.ranges) == (2, ((4, 5),))

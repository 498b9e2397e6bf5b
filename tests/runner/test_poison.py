from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress import dtypes
from gpuregress.runner.poison import poison, unwritten


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
    found = unwritten(raw.reshape(-1).view(element.storage))
    left = [number for number, is_written in enumerate(written) if not is_written]
    assert (found is None) == (not left)
    assert left == ranges_to_list(found)


def ranges_to_list(found: dict[str, Any] | None) -> list[int]:
    return [] if found is None else [index for start, stop in found["ranges"] for index in range(start, stop)]

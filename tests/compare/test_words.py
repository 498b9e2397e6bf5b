"""Words are the dump's, to the last character."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress import dtypes
from gpuregress.compare.words import words
from gpuregress.dump import format as dump_format


def dumped(column: np.ndarray, dtype: str) -> list[str]:  # type: ignore[type-arg]
    return bytes(dump_format.lines(column, dtypes.parse(dtype))).decode().split()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_half(dtype: str) -> None:
    kind = dtypes.parse(dtype)
    codes = np.arange(0, 1 << 16, 7 if dtype == "float16" else 5, dtype="<u2")
    codes = np.union1d(codes, np.arange(0, 1 << 16, 1 << (10 if dtype == "float16" else 7)).astype("<u2"))
    column = codes.view(kind.storage)
    got, wanted = words(column, kind.parts[0].scalar), dumped(column, dtype)
    assert [
        (one, two) for one, two in zip(got, wanted, strict=True) if one != two and not two.startswith(("nan", "-nan"))
    ] == []


@given(st.lists(st.floats(width=32), min_size=1))
def test_singles(numbers: list[float]) -> None:
    column = np.array(numbers, np.float32)
    assert words(column, dtypes.parse("float32").parts[0].scalar) == [
        "nan" if "nan" in word else word for word in dumped(column, "float32")
    ]


@given(st.lists(st.floats(), min_size=1))
def test_doubles(numbers: list[float]) -> None:
    column = np.array(numbers)
    assert words(column, dtypes.parse("float64").parts[0].scalar) == [
        "nan" if "nan" in word else word for word in dumped(column, "float64")
    ]


@pytest.mark.parametrize(("dtype", "values"), [("int64", [-(2**63), 0]), ("uint64", [2**64 - 1]), ("uint8", [7])])
def test_integers(dtype: str, values: list[int]) -> None:
    column = np.array(values, dtype)
    assert words(column, dtypes.parse(dtype).parts[0].scalar) == dumped(column, dtype)


def test_a_boolean_that_is_neither() -> None:
    column = np.array([0, 1, 7], np.uint8).view(np.bool_)
    assert words(column, dtypes.parse("bool").parts[0].scalar) == dumped(column, "bool") == ["0", "1", "7"]

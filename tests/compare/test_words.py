"""Words are the dump's, to the last character."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress import dtypes
from gpuregress.compare.words import words
from gpuregress.dump import format as dump_format


def dumped(column: npt.NDArray[Any], dtype: str) -> list[str]:
    return bytes(dump_format.lines(column, dtypes.parse(dtype))).decode().split()


@pytest.mark.parametrize(("dtype", "fraction_bits"), [("float16", 10), ("bfloat16", 7)])
def test_halves(dtype: str, fraction_bits: int) -> None:
    kind = dtypes.parse(dtype)
    codes = np.arange(3, 1 << 16, 37, dtype="<u2")
    codes = codes[(codes & ((1 << fraction_bits) - 1)).astype(bool) & ((codes & 0x7FFF) > fraction_bits)]
    column = codes.view(kind.storage)
    pairs = zip(words(column, kind.parts[0].scalar), dumped(column, dtype), strict=True)
    assert [(one, two) for one, two in pairs if one != two and "nan" not in two] == []


@pytest.mark.parametrize(("dtype", "fraction_bits"), [("float16", 10), ("bfloat16", 7)])
def test_half_powers_of_two_read_back(dtype: str, fraction_bits: int) -> None:
    """Below a power of two the numbers lie closer, so its shortest decimal may not be the nearest one."""
    kind = dtypes.parse(dtype)
    column = np.arange(0, 0x7F00, 1 << fraction_bits, dtype="<u2").view(kind.storage)[:31]
    numbers = np.array([float(word) for word in words(column, kind.parts[0].scalar)], np.float32)
    back = dtypes.from_float32(numbers) if dtype == "bfloat16" else numbers.astype(np.float16)
    assert back.tolist() == column.tolist()


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

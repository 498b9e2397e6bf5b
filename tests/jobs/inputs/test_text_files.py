"""Text of numbers without a dump's header, as a fill reads it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import HarnessError
from gpuregress.jobs import inputs
from gpuregress.jobs.inputs import text_files
from tests.jobs.inputs.support import buffer, numbers


def read(path: Path, text: str, dtype: str) -> Any:
    path.write_text(text)
    return text_files.read(path, dtypes.parse(dtype)).tolist()


@pytest.mark.parametrize(
    ("text", "dtype", "values"),
    [
        ("1.5\n-2\n3e2\n", "float32", [1.5, -2.0, 300.0]),
        ("1, 2,3;4\t5", "int32", [1, 2, 3, 4, 5]),
        ("# a comment of numpy.savetxt\n1.0e+00\n2.0e+00\n", "int32", [1.0, 2.0]),
        ("18446744073709551615 0", "uint64", [2**64 - 1, 0]),
        ("9007199254740993.0 1e15", "int64", [2**53 + 1, 10**15]),
        ("18446744073709551615 1.0", "uint64", [2**64 - 1, 1]),
        ("# a_b\n-inf Infinity 0", "float32", [-math.inf, math.inf, 0.0]),
        ("1 2\n3 4\n", "float2", [[1.0, 2.0], [3.0, 4.0]]),
        ("1 2.5\n3 nan\n", "{id:int32,score:float32}", None),
    ],
)
def test_numbers(tmp_path: Path, text: str, dtype: str, values: Any) -> None:
    got = read(tmp_path / "x.txt", text, dtype)
    assert got == values or [first for first, _ in got] == [1, 3]


def test_a_fill_takes_it_if_the_count_fits(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("1,2\n3,4\n")
    for dtype, shape in (("float32", (2, 2)), ("float2", (2,)), ("int64", (4,))):
        made = buffer("file", dtype, *shape, path=str(path))
        assert inputs.fill_problem(made) is None
        assert numbers(inputs.fill(made), dtype).ravel().tolist() == [1.0, 2.0, 3.0, 4.0]
    problem = inputs.fill_problem(buffer("file", "float32", 3, path=str(path)))
    assert problem == f"{path} has no dump's header and holds 4 words of text; [3] of float32 needs 3 numbers"


@pytest.mark.parametrize(
    ("text", "dtype", "message"),
    [
        ("1\n2\nx,y\n", "float32", "line 3: 'x' is not a number"),
        ("1\n1_0", "int32", "line 2: '1_0' is not a number"),
        ("1_0.5", "float64", "line 1: '1_0.5' is not a number"),
        ("1\n-1e999", "float32", "line 2: -1e999 is too large for a number of 64 bits"),
        ("1e999", "int64", "line 1: 1e999 is too large"),
        ("9007199254740993.5", "int64", "9007199254740993.5 is not a whole number"),
        ("# y\n1 0x10", "int32", "line 2: '0x10' is not a number"),
        ("1 2 3", "float2", "it holds 3 numbers, and each float2 needs 2"),
        ("1 2.5", "int32", "element [1]: 2.5 is not a whole number"),
        ("1 300", "uint8", "element [1]: 300 does not fit uint8"),
        ("1e60 1", "float32", "element [0]: 1e+60 is too large for float32"),
    ],
)
def test_what_is_no_such_number(tmp_path: Path, text: str, dtype: str, message: str) -> None:
    path = tmp_path / "x.txt"
    path.write_text(text)
    with pytest.raises(HarnessError) as caught:
        inputs.fill(buffer("file", dtype, 2, path=str(path)))
    assert message in str(caught.value)


@given(values=st.lists(st.floats(width=64), min_size=1, max_size=8))
def test_float64_is_read_back_to_the_bit(values: list[float], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "numbers.txt"
    path.write_text("\n".join(map(repr, values)))
    got = text_files.read(path, dtypes.parse("float64"))
    assert np.array_equal(got, np.array(values), equal_nan=True)
    assert np.array_equal(np.signbit(got), np.signbit(values)) or np.isnan(values).any()


@given(data=st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.raw"
    path.write_bytes(data)
    for dtype in ("int32", "float32"):
        try:
            got = text_files.read(path, dtypes.parse(dtype))
        except ValueError:
            continue
        assert len(got) == text_files.count(path) or path.stat().st_size

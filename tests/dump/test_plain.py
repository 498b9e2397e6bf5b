from __future__ import annotations

import subprocess
import sys

import hypothesis.extra.numpy as hnp
import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpuregress import dtypes
from gpuregress.dump import format as by_polars
from gpuregress.dump import plain

assert pl  # loaded, so that `format` does not come here itself

TYPES = ("float32", "float64", "float16", "bfloat16", "int8", "uint16", "int32", "uint64", "bool")


def check(array: npt.NDArray[np.generic], name: str) -> None:
    element = dtypes.parse(name)
    assert plain.lines(array, element) == bytes(by_polars.lines(array, element))


@st.composite
def patterns(draw: st.DrawFn) -> tuple[str, npt.NDArray[np.generic]]:
    """Any bits of any type."""
    name = draw(st.sampled_from(TYPES))
    storage = dtypes.parse(name).storage
    raw = draw(hnp.arrays(f"<u{storage.itemsize}", st.integers(0, 20)))
    return name, raw.view(storage)


@given(patterns())
def test_any_bits_are_written_as_polars_writes_them(case: tuple[str, npt.NDArray[np.generic]]) -> None:
    name, array = case
    check(array, name)


@given(st.integers(0, 10**9), st.integers(-50, 38), st.sampled_from(["<f4", "<f8"]))
@example(123456789, 0, "<f4")
@example(1, 16, "<f8")
@example(1, 15, "<f8")
@example(1, -5, "<f8")
@example(1, -6, "<f4")
@example(1, 13, "<f4")
def test_decimals_are_written_as_polars_writes_them(digits: int, exponent: int, storage: str) -> None:
    with np.errstate(over="ignore"):
        number = np.array([float(f"{digits}e{exponent}")]).astype(storage)
    check(np.concatenate([number, -number, np.nextafter(number, 0)]), "float32" if storage == "<f4" else "float64")


def test_every_power_of_two_and_its_neighbours() -> None:
    """Below a power of two the numbers lie closer, and the least ones lie as far apart as they are large."""
    powers = np.arange(0, 255, dtype="<u4") << np.uint32(23)
    around = np.concatenate([powers, powers + np.uint32(1), np.maximum(powers, 1) - np.uint32(1), np.arange(1, 200)])
    check(around.astype("<u4").view("<f4"), "float32")
    powers64 = np.arange(0, 2047, dtype="<u8") << np.uint64(52)
    check(np.concatenate([powers64, powers64 + np.uint64(1)]).view("<f8"), "float64")


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_every_half(name: str) -> None:
    element = dtypes.parse(name)
    array = np.arange(1 << 16, dtype="<u2").view(element.storage)
    every = bytes(by_polars.lines(array, element)).splitlines()
    few = [line for start in range(0, 1 << 16, 1 << 13) for line in _lines(array[start : start + (1 << 13)], name)]
    assert few == every


def _lines(array: npt.NDArray[np.generic], name: str) -> list[bytes]:
    return plain.lines(array, dtypes.parse(name)).splitlines()


def test_records_have_a_space_between_their_parts() -> None:
    element = dtypes.parse("{id: int32, score: float32, ok: bool}")
    array = np.array([(1, 0.1, 1), (-2, np.nan, 0)], element.storage)
    check(array, "{id: int32, score: float32, ok: bool}")
    assert plain.lines(array[:1], element) == b"1 0.1 1\n"


def test_no_elements_are_no_lines() -> None:
    assert plain.lines(np.zeros(0, "<f4"), dtypes.parse("float32")) == b""


def test_polars_is_loaded_for_many_elements_only() -> None:
    code = (
        "import sys, numpy as np\n"
        "from gpuregress import dtypes\n"
        "from gpuregress.dump import format, plain\n"
        "element = dtypes.parse('float32')\n"
        "format.lines(np.zeros(plain.MOST, '<f4'), element)\n"
        "few = 'polars' in sys.modules\n"
        "format.lines(np.zeros(plain.MOST + 1, '<f4'), element)\n"
        "print(few, 'polars' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False True\n"

"""One conversion for all that becomes an element: exact, rounded where that is harmless, or refused by name."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.numeric import conversion
from gpuregress.foundation.numeric.conversion import NotRepresentable

SCALARS = ("bool", "int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64")
SOURCES = ("?", "i1", "u1", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">f4", ">i8")


def convert(values: Any, dtype: str, *, exact: bool = False) -> list[Any]:
    array, element = np.asarray(values), dtypes.parse(dtype)
    shape = array.shape if len(element.parts) == 1 or array.dtype.kind in "cV" else array.shape[:-1]
    actual = conversion.convert(array, element, shape, exact=exact)
    columns = zip(element.columns(actual), element.parts, strict=True)
    return [dtypes.to_float(column, part.scalar).tolist() for column, part in columns]


@pytest.mark.parametrize(
    ("values", "dtype", "message"),
    [
        (np.arange(3) + 2**32, "int32", r"element \[0\]: 4294967296 does not fit int32"),
        (np.arange(3) + 0.7, "int32", r"element \[0\]: 0.7 is not a whole number"),
        (np.arange(3) + 1j, "int32", r"element 0 is 1j, a complex number"),
        (np.array([0, 0, complex(1, math.nan)]), "float64", "a complex number"),
        ([[1.0, 2.0], [3.0, 1e43]], "float32", r"element \[1,1\]: 1e\+43 is too large for float32"),
        ([1e-60], "float32", "too small for float32: it would become 0"),
        ([70000.0], "float16", "too large for float16"),
        ([3.4e38], "float16", "too large for float16"),
        ([3.4e38], "bfloat16", "too large for bfloat16"),
        ([2**24 + 1], "float32", "whole numbers are exact"),
        ([2**53 + 1], "float64", "whole numbers are exact"),
        ([257], "bfloat16", "whole numbers are exact"),
        ([300], "uint8", "300 does not fit uint8"),
        ([-1], "uint64", "-1 does not fit uint64"),
        ([2.0**64], "uint64", "does not fit uint64"),
        ([2.0**63], "int64", "does not fit int64"),
        ([math.nan], "int32", "nan is not a whole number"),
        ([math.inf], "uint8", "inf is not a whole number"),
        ([2], "bool", "2 does not fit bool"),
        ([0.5], "bool", "0.5 is not a whole number"),
        (["1"], "int32", "<U1, and int32 is needed"),
        (np.array([1, None]), "int32", "object, and int32"),
        (np.array(["2026-11-20"], "M8[D]"), "int64", "datetime64"),
        (np.array([1], "m8[s]"), "int64", "timedelta64"),
        (np.array([1j]), "float2", "complex128, and float2 is needed"),
        ([[1.0, 2.0, 3.0]], "float2", "3 values and"),
        (np.array([(1, 2.0)], [("id", "i8"), ("rank", "f4")]), "{id:int32,score:float32}", "and {id:int32"),
        (np.array([(2**40, 2.0)], [("id", "i8"), ("score", "f4")]), "{id:int32,score:float32}", r"\]\.id: 1099"),
    ],
)
def test_refused(values: Any, dtype: str, message: str) -> None:
    with pytest.raises(NotRepresentable, match=message):
        convert(values, dtype)


@pytest.mark.parametrize(
    ("values", "dtype", "actual"),
    [
        ([1.0, -3.0, -0.0], "int32", [[1, -3, 0]]),
        ([2**63 - 1, -(2**63)], "int64", [[2**63 - 1, -(2**63)]]),
        ([2**64 - 1], "uint64", [[2**64 - 1]]),
        ([1 + 0j, -2 + 0j], "float32", [[1.0, -2.0]]),
        ([math.inf, -math.inf], "float16", [[math.inf, -math.inf]]),
        ([True, False], "float32", [[1.0, 0.0]]),
        ([1.0, 0.0], "bool", [[True, False]]),
        ([0.1], "float32", [[float(np.float32(0.1))]]),
        ([[1, 2], [3, 4]], "float2", [[1.0, 3.0], [2.0, 4.0]]),
        (np.array([(2.5, 7)], [("score", "f8"), ("id", "i8")]), "{id:int32,score:float32}", [[7], [2.5]]),
    ],
)
def test_stored(values: Any, dtype: str, actual: list[list[Any]]) -> None:
    assert convert(values, dtype) == actual


@given(
    source=st.sampled_from(SOURCES),
    target=st.sampled_from(SCALARS),
    number=st.one_of(st.integers(-(2**63), 2**64 - 1), st.floats(), st.integers(-300, 300).map(float)),
)
def test_exact_means_exact(source: str, target: str, number: float) -> None:
    with np.errstate(all="ignore"):
        try:
            array = np.array([number], source)
        except (OverflowError, ValueError):
            return
    value = array[0].item()
    try:
        ((actual,),) = convert(array, target, exact=True)
    except NotRepresentable as error:
        if "is not " in str(error) or "become 0" in str(error) or not math.isfinite(value):
            return
        scalar = dtypes.parse(target).parts[0].scalar
        assert value > scalar.largest or value < (-scalar.largest if scalar.is_float else scalar.bounds[0])
        return
    assert (math.isnan(value) and math.isnan(actual)) or actual == value
    assert not math.isfinite(value) or Fraction(actual) == Fraction(value)


@given(
    start=st.integers(-5000, 5000),
    step=st.integers(-40, 40),
    count=st.integers(1, 300),
    target=st.sampled_from(SCALARS),
)
def test_a_progression_is_judged_as_its_members_are(start: int, step: int, count: int, target: str) -> None:
    scalar = dtypes.parse(target).parts[0].scalar
    members = [start + at * step for at in range(count)]
    problem = conversion.numbers_problem(members, scalar)
    assert bool(conversion.progression_problem(start, step, count, scalar)) == bool(problem)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_what_rounds_to_infinity_is_too_large(dtype: str) -> None:
    scalar = dtypes.parse(dtype).parts[0].scalar
    below = np.nextafter(scalar.overflow, 0.0)
    assert np.isfinite(convert([below], dtype)[0][0])
    with pytest.raises(NotRepresentable, match="too large"):
        convert([scalar.overflow], dtype)


@pytest.mark.parametrize(
    "given",
    [
        [[-1], [2**63 + 1]],
        [0.5, np.int64(2**63 - 1)],
        [0.5j, 2**63 - 1],
        [np.array([0.5]), np.array([2**63 - 1])],
    ],
)
def test_a_list_that_numpy_would_round_is_refused(given: list[Any]) -> None:
    with pytest.raises(NotRepresentable, match="element 1 is 92233720368547758"):
        conversion.as_array(given)


def test_what_is_no_array_is_refused() -> None:
    class Tensor:
        def __array__(self, *_arguments: object, **_named: object) -> Any:
            raise RuntimeError

    with pytest.raises(NotRepresentable, match="no array: RuntimeError"):
        conversion.as_array(Tensor())
    with pytest.raises(NotRepresentable, match="masked"):
        conversion.as_array(np.ma.masked_array([1, 2], [False, True]))
    with pytest.raises(NotRepresentable, match="no array"):
        conversion.as_array([[1], [2, 3]])
    assert conversion.as_array([1, 2.5]).tolist() == [1.0, 2.5]
    assert conversion.as_array([np.array([0.5, 1.5]), [1, 2]]).tolist() == [[0.5, 1.5], [1.0, 2.0]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "half2", "complex64", "float3"])
def test_widened_and_narrowed_again_is_the_same(dtype: str) -> None:
    element = dtypes.parse(dtype)
    bits = np.random.default_rng(7).integers(0, 256, element.size * 64, np.uint8).view(element.storage)
    there = conversion.widened(bits, element)
    assert there.dtype == dtypes.widened(element).storage
    back = conversion.narrowed(there, element)
    for part, one, other in zip(element.parts, element.columns(back), element.columns(bits), strict=True):
        assert np.array_equal(dtypes.to_float(one, part.scalar), dtypes.to_float(other, part.scalar), equal_nan=True)


def test_a_real_number_is_a_complex_one() -> None:
    actual = conversion.convert(np.array([math.inf, 2.0]), dtypes.parse("complex64"), (2,))
    assert actual.tolist() == [complex(math.inf, 0), 2 + 0j]


def test_a_record_is_widened_field_by_field() -> None:
    wide = dtypes.widened(dtypes.parse("{id:int32,v:float2,h:bfloat16}"))
    assert wide.name == "{id:int32,v:double2,h:float64}"
    assert dtypes.widened(dtypes.parse("int32")) == dtypes.parse("int32")

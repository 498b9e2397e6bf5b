"""Signatures of kernels, and Python values as their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.api import arrays, signature
from gpuregress.api.signature import KernelParameter
from gpuregress.foundation.records import Entry, Parameter

TEXT = """
template <typename Real, int N>
__global__ void axpy(Real *__restrict__ y, const Real *x, Real a, unsigned char n, float2 pair, Params p) {}
"""
ENTRY = Entry(
    "_Z4axpy",
    (
        Parameter(8, 8, "pointer", "y"),
        Parameter(8, 8, "pointer", "x", const=True),
        Parameter(4, 4, "float", "a"),
        Parameter(1, 1, "integer", "n"),
        Parameter(8, 8, "struct", "pair"),
        Parameter(12, 4, "struct", "p"),
    ),
)


def made(name: str) -> KernelParameter:
    parameters = signature.of(ENTRY, "axpy<float, 3>", TEXT).parameters
    return next(one for one in parameters if one.name == name)


def compiled(size: int, kind: Any, *, const: bool = False) -> KernelParameter:
    """A parameter of PTX, whose C++ type is not known."""
    return KernelParameter(2, Parameter(size, size, kind, "", const))


def data(parameter: KernelParameter, value: Any) -> bytes:
    return bytes.fromhex(signature.scalar(parameter, value, "axpy").data)


def test_template_arguments_stand_in_for_the_parameters() -> None:
    text = str(signature.of(ENTRY, "axpy<float, 3>", TEXT))
    assert text == "axpy<float, 3>(float* y, const float* x, float a, unsigned char n, float2 pair, Params p)"
    assert made("x").is_input
    assert [made(name).dtype for name in ("y", "x", "a", "n", "p")] == ["float32", "float32", "float32", "uint8", ""]


def test_an_alias_is_what_it_stands_for() -> None:
    text = "typedef double real;\n" + TEXT.replace("Real *__restrict__ y", "real *y").replace(
        "const Real *x", "const T *x"
    )
    known = {one.name: one.dtype for one in signature.of(ENTRY, "axpy<float, 3>", text, {"T": "int"}).parameters}
    assert (known["y"], known["x"], known["a"]) == ("float64", "int32", "float32")


def test_without_a_source_the_compiled_code_tells() -> None:
    assert str(signature.of(ENTRY, "axpy", "")).startswith("axpy(y (pointer), x (pointer), a (float), n (integer)")


@given(st.integers(0, 255))
def test_integers_keep_their_value(value: int) -> None:
    assert data(made("n"), value) == data(made("n"), np.int64(value)) == bytes([value])


@given(st.floats(width=32, allow_nan=False))
def test_floats_keep_their_bits(value: float) -> None:
    assert data(made("a"), value) == np.float32(value).tobytes()


def test_values_of_all_kinds_are_encoded() -> None:
    assert data(made("a"), 3) == np.float32(3).tobytes()
    assert data(made("n"), True) == data(made("n"), np.True_) == b"\x01"
    pair = np.array((1.5, 2.5), [("x", "f4"), ("y", "f4")])[()]
    assert data(made("pair"), pair) == np.array([1.5, 2.5], np.float32).tobytes()
    assert data(made("p"), bytes(range(12))) == bytes(range(12))
    assert data(compiled(4, "struct"), np.float32(2)) == np.float32(2).tobytes()
    assert data(compiled(8, "word"), np.float64(2)) == np.float64(2).tobytes()
    assert data(compiled(8, "word"), -1) == b"\xff" * 8
    assert data(compiled(2, "float"), 1.5) == np.float16(1.5).tobytes()
    assert signature.scalar(made("y"), None, "axpy").kind == "null"


@pytest.mark.parametrize(
    ("parameter", "value", "error", "words"),
    [
        (made("n"), 256, OverflowError, "n is unsigned char, which cannot hold 256"),
        (made("n"), -1, OverflowError, "cannot hold -1"),
        (made("n"), 1.0, TypeError, "n is unsigned char, and 1.0 was given"),
        (made("a"), 1e300, OverflowError, "a is float, which cannot hold 1e\\+300"),
        (made("a"), "1", TypeError, "a is float, and '1' was given"),
        (made("a"), None, TypeError, "a is float, and None was given"),
        (made("y"), 7, TypeError, "y is a pointer, and 7 was given: pass an array, or None"),
        (made("pair"), 1.0, TypeError, "pair is float2 of 8 bytes: pass bytes, or a numpy scalar or structure"),
        (made("p"), b"1", TypeError, "p has 12 bytes; 1 were given"),
        (compiled(4, "struct"), 2.0, TypeError, "argument 2 is bits of 4 bytes: pass bytes, or a numpy scalar"),
        (compiled(8, "word"), 2.0, TypeError, r"may be a number of any type: pass numpy.float64"),
        (compiled(4, "integer"), 1 << 32, OverflowError, "an integer of 4 bytes, which cannot hold"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(parameter: Any, value: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        signature.scalar(parameter, value, "axpy")


@pytest.mark.parametrize(
    ("type_", "dtype", "given"),
    [
        ("float*", "float32", np.float32),
        ("float4*", "float4", np.float32),
        ("float*", "float32", np.complex64),
        ("char*", "int8", np.uint8),
        ("bool*", "bool", np.uint8),
        ("__nv_bfloat16*", "bfloat16", np.uint16),
        ("T*", "", np.float64),
    ],
)
def test_arrays_that_a_pointer_takes(type_: str, dtype: str, given: Any) -> None:
    parameter = KernelParameter(0, Parameter(8, 8, "pointer", "x"), type_, dtype)
    signature.check_array(parameter, arrays.view(np.zeros(4, given)), "k")


@pytest.mark.parametrize(
    ("type_", "dtype", "given"),
    [("float*", "float32", np.float64), ("int*", "int32", np.float32), ("half*", "float16", np.int16),
     ("int*", "int32", np.int64), ("float2*", "float2", np.float64)],
)  # fmt: skip
def test_arrays_of_another_type_are_refused(type_: str, dtype: str, given: Any) -> None:
    parameter = KernelParameter(0, Parameter(8, 8, "pointer", "x"), type_, dtype)
    with pytest.raises(TypeError, match=rf"k: x is {type_[:-1]}\*, and an array of {np.dtype(given).name} was given"):
        signature.check_array(parameter, arrays.view(np.zeros(4, given)), "k")


@pytest.mark.parametrize(
    ("dtype", "given", "fits"),
    [("float32", np.dtype([("x", "f4"), ("y", "f4")]), True), ("float4", np.dtype([("x", "f4")]), False),
     ("float32", np.dtype("V1"), False)],
)  # fmt: skip
def test_a_structure_is_laid_out_by_the_caller_in_whole_elements(dtype: str, given: Any, fits: object) -> None:
    parameter = KernelParameter(0, Parameter(8, 8, "pointer", "x"), f"{dtype}*", dtype)
    if fits:
        signature.check_array(parameter, arrays.view(np.zeros(4, given)), "k")
    else:
        with pytest.raises(TypeError, match=rf"an array of elements of {given.itemsize} bytes was given"):
            signature.check_array(parameter, arrays.view(np.zeros(4, given)), "k")


def test_a_variable_is_compared_with_its_declaration() -> None:
    text = "typedef float real;\nnamespace a { __constant__ real table[4]; }\n__device__ Pair pair; __device__ T t;"

    def check(symbol: str, dtype: Any) -> None:
        signature.check_variable(symbol, arrays.view(np.zeros(4, dtype)), "k", text, {"T": "int"})

    check("a::table", np.float32)
    check("pair", np.int8)
    check("t", np.uint32)
    check("elsewhere", np.int8)
    with pytest.raises(TypeError, match="k: the variable table is real, and an array of int32 was given; pass it as"):
        check("table", np.int32)
    with pytest.raises(TypeError, match="the variable t is T, and an array of float32"):
        check("t", np.float32)


def test_an_array_where_a_number_is_wanted_is_refused() -> None:
    with pytest.raises(TypeError, match="a is float, and an array was given"):
        signature.check_array(made("a"), arrays.view(np.zeros(1)), "axpy")


def test_the_number_of_arguments_is_compared() -> None:
    with pytest.raises(TypeError, match="takes 6 arguments; 1 were given"):
        signature.of(ENTRY, "axpy<float, 3>", TEXT).check_count([1])

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.toolchain.functions import declarations, overloads
from gpuregress.toolchain.functions.overloads import FunctionName, NoFunction

FUNCTIONS = declarations.device_functions(
    [
        """
namespace g {
template <typename T> __device__ T clampz(T x, T lo, T hi);
__device__ float two(float x);
__device__ int two(int x);
template <typename T> __device__ T two(const T* x, int n);
}
__device__ float scaled(float x, float by = 2.0f);
__device__ void put(g::real x, float& out);
template <int N> __device__ float nth(float x);
template <typename T, int N = 3> __device__ T cube(T x);
namespace h { __device__ float put(float x); }
"""
    ]
)


def choose(text: str, *numbers: str, **given: str) -> str:
    return str(overloads.choose(overloads.parse(text), FUNCTIONS, "k.cu", given, numbers))


@pytest.mark.parametrize(
    ("text", "given", "chosen"),
    [
        (
            "g::clampz<float>",
            {"x": "float32", "lo": "float32", "hi": "float32"},
            "g::clampz<float>(float, float, float)",
        ),
        (
            "clampz",
            {"x": "int8", "lo": "int8", "hi": "int8"},
            "g::clampz<signed char>(signed char, signed char, signed char)",
        ),
        ("clampz", {"x": "float4", "lo": "float4", "hi": "float4"}, "g::clampz<float4>(float4, float4, float4)"),
        ("two(float)", {"x": "float32"}, "g::two(float)"),
        ("two", {"x": "int32"}, "g::two(int)"),
        ("two(const double *, int)", {"x": "float64", "n": "int32"}, "g::two<double>(const double*, int)"),
        ("scaled", {"x": "float32"}, "scaled(float, float)"),
        ("::put", {"x": "float64", "out": "float32"}, "put(g::real, float&)"),
        ("h::put", {"x": "float32"}, "h::put(float)"),
        ("nth<2 * 3>", {"x": "float32"}, "nth<2* 3>(float)"),
        ("cube", {"x": "float32"}, "cube<float>(float)"),
    ],
)
def test_the_function_that_is_meant(text: str, given: dict[str, str], chosen: str) -> None:
    assert choose(text, **given) == chosen


def test_a_parameter_of_the_job_fits_any_type() -> None:
    assert choose("clampz<float>", "lo", "hi", x="float32") == "g::clampz<float>(float, float, float)"


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        ("clampy", {}, "k.cu has no device function 'clampy'; it has g::clampz<T>(T, T, T), g::two(float), "),
        ("clampy", {}, "; did you mean 'g::clampz'?"),
        ("two(double)", {"x": "float64"}, "two(double) is asked for, and the source has g::two(float)"),
        (
            "clampz",
            {"x": "int32", "lo": "float32", "hi": "int32"},
            "T of g::clampz<T>(T, T, T) would be int for x, float for lo",
        ),
        ("clampz<float>", {"x": "float32", "low": "float32", "hi": "float32"}, "no buffer for parameter 'lo' (float)"),
        ("clampz<float>", {"x": "float32", "lo": "float64", "hi": "float32"}, "lo is float64, and parameter 'lo' of"),
        ("nth", {"x": "float32"}, "name it, as in nth<4>"),
        ("nth<1, 2>", {"x": "float32"}, "nth<N>(float) takes 1 template arguments, not 2"),
        ("scaled<float>", {"x": "float32"}, "scaled(float, float) is not a template"),
        ("scaled(", {}, "invalid name 'scaled(': a ')' is missing"),
        ("scaled x", {}, "invalid name 'scaled x': 'x' is left over after it"),
        ("3d", {}, "invalid name '3d'; expected a function such as clampz"),
    ],
)
def test_what_is_wrong_is_said(text: str, given: dict[str, str], message: str) -> None:
    with pytest.raises(NoFunction) as caught:
        choose(text, **given)
    assert message in str(caught.value)


def test_a_wrong_dtype_is_at_its_buffer() -> None:
    with pytest.raises(NoFunction) as caught:
        choose("scaled", x="int32")
    assert caught.value.key == ("buffers", "x", "dtype")


def test_several_that_fit_are_listed_with_a_way_out() -> None:
    functions = declarations.device_functions(["__device__ float f(real x); __device__ double f(wide x);"])
    with pytest.raises(
        NoFunction, match=r"'f' is ambiguous: f\(real\); f\(wide\); name one with its types, such as 'f\(real\)'"
    ):
        overloads.choose(FunctionName("f"), functions, "k.cu", {"x": "float32"}, ())


@pytest.mark.parametrize(
    ("type_", "each", "written"),
    [
        ("float", True, False),
        ("const T&", True, False),
        ("T&", True, True),
        ("T*", False, False),
        ("int (&)[3]", True, True),
    ],
)
def test_passing(type_: str, *, each: bool, written: bool) -> None:
    assert (overloads.is_passed_each(type_), overloads.is_written(type_)) == (each, written)


@given(st.text(st.sampled_from("ab:<>(), 3*&"), max_size=30))
def test_any_name_is_read_or_refused(text: str) -> None:
    try:
        read = overloads.parse(text)
    except NoFunction:
        return
    assert read.name

from __future__ import annotations

import pytest

from gpuregress.foundation.records import Source
from gpuregress.toolchain import unknown_names

TEXT = """\
#ifndef GUARD_H
#define GUARD_H
__global__ void saxpy();
template<class T> __global__ void reduce(T*);
template <typename T, int N = 4> __global__ void tile(T*);
#if 0
__global__ void old();
#endif
#ifdef WIDE
__global__ void wide();
#endif
__device__ float square(float x) { return x * x; }
int main() { saxpy<<<1, 1>>>(); }
__constant__ int limit;
#endif
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sacpy", "has no kernel 'sacpy'; it has saxpy, reduce<T>, tile<T, N>, old, wide (did you mean 'saxpy'?)"),
        ("reduce", "reduce<T> is a template; name one of its instances, as `reduce<float>`"),
        ("reduce<foo>", "'reduce<foo>' names no instance of reduce<T>; its template arguments are <class T>"),
        ("reduce<float, 3>", "reduce<T> takes 1 template argument, not 2, in 'reduce<float, 3>'"),
        ("tile<a<b, c>, 3, 4>", "tile<T, N> takes 1 or more template arguments, not 3"),
        ("saxpy<float>", "saxpy is not a template: name it without <…>"),
        ("old", "old is not compiled: it is between `#if 0` (line 6) and its #endif"),
        ("wide", "wide is not compiled: it depends on `#ifdef WIDE` (line 9); compile.defines gives macros"),
        ("square", "square is not a kernel but a __device__ function (line 12): test it by `function:`"),
        ("main", "main is not a kernel but a host function (line 13)"),
        ("limit", "limit is not a kernel but a variable (line 14)"),
        ("saxpy", "'saxpy' is declared in line 3, but the compiler finds no kernel of this name"),
    ],
)
def test_unknown_kernels(name: str, expected: str) -> None:
    assert expected in unknown_names.explain((name,), Source("/x/k.cu", kernels=(name,)), TEXT)[name]


def test_a_source_without_kernels() -> None:
    assert "it has no __global__ function" in unknown_names.explain(("k",), Source("/x/k.cu", kernels=("k",)), "")["k"]


def test_unknown_variables() -> None:
    text = "__constant__ float d_taps[17]; __device__ int a = 3;\n__device__ int f(int x) { return x; }"
    message = unknown_names.explain(("d_tap",), Source("/x/k.cu", symbols=("d_tap",)), text)["d_tap"]
    assert "no variable 'd_tap'; it has d_taps, a (did you mean 'd_taps'?)" in message

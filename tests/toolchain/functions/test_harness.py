from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.errors import UnknownNames
from gpuregress.foundation.records import HARNESS_KERNEL, FunctionArgument, Program, Source
from gpuregress.toolchain import programs
from gpuregress.toolchain.functions import declarations, harness, overloads
from gpuregress.toolchain.functions.harness import CompiledType, KernelSettings

TEXT = """\
namespace g {
typedef double real;
struct P { float a; int b; };
enum E : short { one, two };
template <typename T> __host__ __device__ constexpr
T clampz(T x, const T& lo, T hi) noexcept { return x < lo ? lo : hi; }
__device__ void put(real x, P& out, const float* p, bool n) { out.a = x + p[0]; out.b = n; }
__device__ E flip(E e) { return e; }
__device__ float twice(float x) { return 2 * x; }
__device__ real twice(real x) { return 2 * x; }
}
"""


def call(tmp_path: Path, name: str, options: tuple[str, ...] = (), text: str = TEXT, **given: str) -> Program:
    path = tmp_path / "k.cu"
    path.write_text(text)
    functions = declarations.device_functions([text])
    instance = overloads.choose(overloads.parse(name), functions, "k.cu", given, ())
    arguments = [
        FunctionArgument(parameter, type_, "buffer", overloads.is_passed_each(type_))
        for parameter, type_ in instance.parameters
    ]
    written = harness.kernel_text(instance, arguments, KernelSettings())
    return programs.compile(Source(str(path), options, kernels=(instance.name,), harness=written))


def types(program: Program) -> tuple[CompiledType, ...]:
    found = harness.signature(Path(program.ptx).read_text())
    assert found is not None
    return found


FLOAT = CompiledType("value", "float", 4, const=False)


@pytest.mark.parametrize("standard", ["--std=c++11", "--std=c++20"])
def test_the_types_of_a_template(tmp_path: Path, standard: str) -> None:
    text = TEXT.replace("constexpr", "")  # C++11 knows no such constexpr
    program = call(tmp_path, "clampz", (standard,), text, x="float32", lo="float32", hi="float32")
    assert types(program) == (FLOAT, FLOAT, CompiledType("reference", "float", 4, const=True), FLOAT)
    assert program.entries["g::clampz<float>"].mangled == HARNESS_KERNEL


def test_references_structs_pointers_and_no_result(tmp_path: Path) -> None:
    given: Any = {"x": "float64", "out": "{a:float32,b:int32}", "p": "float32", "n": "bool"}
    assert types(call(tmp_path, "put", **given)) == (
        CompiledType("value", "void", 0, const=False),
        CompiledType("value", "float", 8, const=False),
        CompiledType("reference", "class", 8, const=False),
        CompiledType("pointer", "float", 4, const=True),
        CompiledType("value", "bool", 1, const=False),
    )


def test_an_enumeration(tmp_path: Path) -> None:
    enum = CompiledType("value", "enum", 2, const=False)
    assert types(call(tmp_path, "flip", e="int16")) == (enum, enum)


def test_an_overload_is_the_one_of_the_types(tmp_path: Path) -> None:
    double = CompiledType("value", "float", 8, const=False)
    assert types(call(tmp_path, "twice(real)", x="float64")) == (double, double)
    assert types(call(tmp_path, "twice(float)", x="float32")) == (FLOAT, FLOAT)


def test_a_call_that_does_not_compile_is_said_of_the_function(tmp_path: Path) -> None:
    with pytest.raises(UnknownNames, match='cannot be called: identifier "Q" is undefined'):
        call(tmp_path, "clampz<Q>", x="float32", lo="float32", hi="float32")


def test_the_table_is_read_in_both_forms() -> None:
    row = CompiledType("value", "float", 4, const=False)
    words = ".global .align 4 .u32 gpuregress_signature[4] = {0, 4, 4, 0};"
    cut = ".global .align 4 .b8 gpuregress_signature[16] = {0, 0, 0, 0, 4, 0, 0, 0, 4};"
    assert harness.signature(words) == harness.signature(cut) == (row,)
    assert harness.signature(".global .u32 other[1] = {1};") is None

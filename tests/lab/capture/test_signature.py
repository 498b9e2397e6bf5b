"""Types of parameters from mangled names, declarations, and Triton's intermediate code."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.lab.capture import signature
from gpuregress.lab.capture.signature import ParameterType
from gpuregress.toolchain import cxx_declarations

INTEGER = ParameterType("", "int64")
FLOATS, CONST_FLOATS = ParameterType("", "float32", True), ParameterType("", "float32", True, True)


@pytest.mark.parametrize(
    ("mangled", "name", "types"),
    [
        (
            "_Z5saxpyIfEvT_PKS0_PS0_i",
            "saxpy<float>",
            (ParameterType("", "float32"), CONST_FLOATS, FLOATS, ParameterType("", "int32")),
        ),
        ("_Z6packed4Args", "packed", (ParameterType(),)),
        ("_Z1kv", "k", ()),
        ("_Z1kPPf", "k", (ParameterType("", "uint64", True),)),
        ("_ZN1a1kEPK6__halfPv", "a::k", (ParameterType("", "float16", True, True), ParameterType("", "uint8", True))),
        (
            "_Z1kILi4ESt5arrayIPcLm3EEEviT0_",
            "k<4, std::array<char*, 3ul> >",
            (ParameterType("", "int32"), ParameterType()),
        ),
        ("add_kernel", "add_kernel", ()),
        (
            "_ZN8__main__5scaleB2v1B3cw5E5ArrayIfLi1E1C7mutable7alignedEx",
            "__main__::scale",
            (*4 * [INTEGER], ParameterType("array0", "float32", True), *3 * [INTEGER]),
        ),
    ],
)
def test_a_mangled_name_tells_types(mangled: str, name: str, types: tuple[ParameterType, ...]) -> None:
    assert signature.short_name(mangled) == name
    assert signature.of_name(mangled) == types


def test_a_declaration_gives_names() -> None:
    (declared,) = cxx_declarations.declarations("__global__ void saxpy(float a, const float *x, float *y, int n) {}")
    types = signature.of_name("_Z5saxpyfPKfPfi")
    assert [one.name for one in signature.of_declaration(declared, types)] == ["a", "x", "y", "n"]
    assert signature.of_declaration(declared, ()) == signature.of_declaration(declared, types)
    assert signature.of_declaration(declared, types[:2]) == types[:2]


def test_triton_keeps_names_and_types(tmp_path: Path) -> None:
    path = tmp_path / "add.ttir"
    path.write_text(
        '#loc = loc("a.py":1:0)\nmodule {\n  tt.func public @add(%x_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32} '
        'loc("x_ptr"(#loc)), %h: !tt.ptr<bf16> loc(#loc), %n: i32 loc(#loc)) attributes {noinline = false} {\n  }\n}\n'
    )
    assert signature.of_triton(path, "add") == (
        ParameterType("x_ptr", "float32", True),
        ParameterType("h", "bfloat16", True),
        ParameterType("n", "int32"),
    )
    assert signature.of_triton(path, "other") == signature.of_triton(tmp_path / "gone", "add") == ()

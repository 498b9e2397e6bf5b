"""Operands, and the scopes of their names."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.ptx.operands import Scopes
from gpuregress.virtual_gpu.ptx.tree import (
    Address,
    Float,
    Integer,
    Negated,
    Pair,
    Register,
    Selected,
    Sink,
    Symbol,
    Vector,
)
from tests.virtual_gpu.ptx.printing import only

R1, R2 = Register("%r1"), Register("%r2")
_SELECTED = Selected(Register("%r2"), "b0")


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("mov.u32 %r1, 0x1F;", (R1, Integer(31))),
        ("mov.u32 %r1, -7;", (R1, Integer(-7))),
        ("mov.u32 %r1, 017U;", (R1, Integer(15))),
        ("mov.u32 %r1, 0b101;", (R1, Integer(5))),
        ("mov.u32 %r1, WARP_SZ;", (R1, Integer(32))),
        ("mov.f32 %f1, 0f3F800000;", (Register("%f1"), Float(0x3F800000, 32))),
        ("mov.f64 %f1, 0dBFF0000000000000;", (Register("%f1"), Float(0xBFF0000000000000, 64))),
        ("mov.f64 %f1, 1.5;", (Register("%f1"), Float(0x3FF8000000000000, 64))),
        ("mov.f64 %f1, -1.5e0;", (Register("%f1"), Float(0xBFF8000000000000, 64))),
        ("mov.u32 %r1, %tid.x;", (R1, Register("%tid.x"))),
        ("mov.b64 {%r1, %r2}, %rd1;", (Vector((R1, R2)), Register("%rd1"))),
        ("ld.global.v2.f32 {%r1, _}, [%rd1+-4];", (Vector((R1, Sink())), Address(Register("%rd1"), -4))),
        ("st.shared.u32 [tile+8], %r1;", (Address(Symbol("tile"), 8), R1)),
        ("ld.global.u32 %r1, [1024];", (R1, Address(Integer(1024)))),
        ("setp.lt.s32 %p1|%p2, %r1, 5;", (Pair(Register("%p1"), Register("%p2")), R1, Integer(5))),
        ("vmax.s32.s32.s32 %r1, %r2.b0, %r3.h1;", (Register("%r1"), _SELECTED, Selected(Register("%r3"), "h1"))),
        ("and.pred %p1, %p2, !%p3;", (Register("%p1"), Register("%p2"), Negated(Register("%p3")))),
        ("mov.u64 %rd1, table+16;", (Register("%rd1"), Symbol("table", 16))),
    ],
)
def test_operands(text: str, operands: tuple[object, ...]) -> None:
    assert only(text).operands == operands


def test_an_inner_declaration_hides_the_outer_one_until_its_scope_is_left() -> None:
    scopes = Scopes()
    assert scopes.declare("x", is_register=True) == "x"
    scopes.enter(set())
    assert scopes.declare("x", is_register=False) == "x@2"
    assert scopes.resolve("x") == "x@2"
    assert not scopes.is_register("x@2")
    scopes.leave()
    assert scopes.resolve("x") == "x"
    assert scopes.is_register("x")


def test_labels_are_known_before_their_definition_and_apart_from_names() -> None:
    scopes = Scopes()
    scopes.enter({"L"})
    scopes.declare("L", is_register=True)
    assert (scopes.label("L"), scopes.resolve("L")) == ("L", "L@2")
    scopes.leave()
    scopes.enter({"L"})
    assert scopes.label("L") == "L@3"


def test_names_of_the_module_and_special_registers_need_no_declaration() -> None:
    scopes = Scopes()
    assert scopes.resolve("table") == "table"
    assert scopes.is_register("%tid.x")
    assert not scopes.is_register("table")

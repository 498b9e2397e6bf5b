"""Divisors that are constants, and those that are not."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.isa.arithmetic.integer import with_constant_divisors
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Float, Instruction, Register

TEXT = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k()
{{ .reg .f32 %f<9>; .reg .b32 %r<9>; .reg .pred %p<2>; {code} ret; }}
"""
CONSTANT = "mov.f32 %f1, 0f42140000;"


def _divisor(code: str) -> object:
    (function,) = with_constant_divisors(parse(TEXT.format(code=code))).functions
    *_, last, _ret = (item for item in function.body or () if isinstance(item, Instruction))
    return last.operands[-1]


@pytest.mark.parametrize(
    "code",
    [
        f"{CONSTANT} div.approx.f32 %f2, %f3, %f1;",
        f"{CONSTANT} div.full.ftz.f32 %f2, %f3, %f1;",
        f"{CONSTANT} mov.f32 %f4, %f1; rcp.approx.ftz.f32 %f2, %f4;",
        "mov.b32 %r1, 0x42140000; mov.b32 %f1, %r1; rcp.approx.f32 %f2, %f1;",
        "div.approx.f32 %f2, %f3, 0f42140000;",
    ],
)
def test_constants_are_propagated(code: str) -> None:
    assert _divisor(code) == Float(0x42140000, 32)


@pytest.mark.parametrize(
    "code",
    [
        f"{CONSTANT} @%p1 mov.f32 %f1, %f5; div.approx.f32 %f2, %f3, %f1;",
        f"@%p1 {CONSTANT} div.approx.f32 %f2, %f3, %f1;",
        f"{CONSTANT} add.f32 %f1, %f1, %f1; div.approx.f32 %f2, %f3, %f1;",
        f"{CONSTANT} div.approx.f32 %f2, %f1, %f3;",
        f"{CONSTANT} div.rn.f32 %f2, %f3, %f1;",
        "mov.f32 %f1, %f4; mov.f32 %f4, %f1; rcp.approx.f32 %f2, %f1;",
    ],
)
def test_registers_stay(code: str) -> None:
    assert isinstance(_divisor(code), Register)

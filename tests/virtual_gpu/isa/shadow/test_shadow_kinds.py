"""Kinds of registers: by the instructions that use them, and through copies."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.isa.shadow_pass import conversion, find_kinds, is_arithmetic
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Function, Instruction, Sink
from tests.virtual_gpu.isa.shadow.shadowed import kernel


def function(body: str) -> Function:
    return next(iter(parse(kernel(body), ["k"]).functions))


def test_bits_are_floats_where_a_copy_of_them_is() -> None:
    kinds = find_kinds(
        function(
            "ld.global.b32 %r2, [%rd1]; mov.b32 %r3, %r2; add.rn.f32 %f1, %r3, %r3; add.s32 %r4, %r1, 1;"
            "ld.global.b16 %h1, [%rd1]; cvt.f32.bf16 %f2, %h1; ld.global.b64 %rd5, [%rd1]; st.global.b64 [%rd2], %rd5;"
        )
    )
    assert kinds == {"%r2": "f32", "%r3": "f32", "%f1": "f32", "%h1": "bf16", "%f2": "f32", "%rd5": "f64"}


@pytest.mark.parametrize(
    ("mnemonic", "count", "wanted"),
    [
        ("add.rn.ftz.f32", 3, True),
        ("fma.rn.f64", 4, True),
        ("add.s32", 3, False),
        ("add.f16x2", 3, False),
        ("min.xorsign.abs.f32", 3, False),
        ("sin.approx.f64", 2, False),
        ("add.f32.bf16", 3, False),
    ],
)
def test_arithmetic_that_has_a_shadow(mnemonic: str, count: int, *, wanted: bool) -> None:
    opcode, *modifiers = mnemonic.split(".")
    made = Instruction(opcode, tuple(modifiers), (Sink(),) * count)
    assert is_arithmetic(made) is wanted


def test_conversions_between_floats() -> None:
    def of(mnemonic: str, count: int = 2) -> tuple[str, str] | None:
        opcode, *modifiers = mnemonic.split(".")
        return conversion(Instruction(opcode, tuple(modifiers), (Sink(),) * count))

    assert of("cvt.rn.f16.f32") == ("f16", "f32")
    assert of("cvt.f64.f32") == ("f64", "f32")
    assert of("cvt.rn.f32.s32") is None
    assert of("cvt.rn.f16x2.f32", 3) is None

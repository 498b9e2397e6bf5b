"""The pass that adds shadow values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.virtual_gpu.isa.shadow_pass import conversion, find_kinds, is_arithmetic, with_shadows
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Function, Instruction, Sink
from tests.virtual_gpu.isa.shadow.shadowed import Shadowed, kernel


def mnemonics(body: str) -> list[str]:
    (function,) = with_shadows(parse(kernel(body), ["k"])).functions
    return [item.mnemonic for item in function.body or () if isinstance(item, Instruction)][4:-1]


def test_an_overwritten_source_is_kept_for_the_error_of_the_instruction() -> None:
    assert mnemonics("add.rn.f32 %f1, %f1, %f2;") == ["mov.b32", "add.rn.f32", "%shadow.add.f32"]


def test_integers_have_no_shadow() -> None:
    assert mnemonics("add.s32 %r2, %r1, 1; st.global.u32 [%rd2], %r2;") == ["add.s32", "st.global.u32"]


def test_a_shadow_begins_anew_at_bits_and_is_told() -> None:
    found = mnemonics(
        "shl.b32 %r2, %r1, 23; mul.rn.f32 %f1, %r2, %f2; cvt.rn.f32.s32 %f3, %r1; add.rn.f32 %f1, %f3, %f2;"
    )
    assert found == [
        "shl.b32",
        "%shadow.restart.f32.shl.b32",
        "mul.rn.f32",
        "%shadow.mul.f32",
        "cvt.rn.f32.s32",
        "%shadow.value.f32.cvt.rn.f32.s32",
        "add.rn.f32",
        "%shadow.add.f32",
    ]


@pytest.mark.parametrize(
    "body",
    [
        "fma.rn.f16x2 %r2, %r3, %r4, %r5; st.global.b32 [%rd2], %r2;",
        "cvt.rn.f16x2.f32 %r2, %f1, %f2; st.global.b32 [%rd2], %r2;",
        "add.rn.f16 %h1, %h2, %h3; mov.b32 %r2, {%h1, %h4}; st.global.b32 [%rd2], %r2;",
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r2, %r3}, {%r4, %r5}, {%r6}, {%r2, %r3};",
    ],
)
def test_packed_halves_that_have_no_shadow_are_told(body: str) -> None:
    told = [name for name in mnemonics(body) if name.startswith("%shadow.lost")]
    (instruction,) = [part.split()[0] for part in body.split(";") if "{" in part or "x2" in part]
    assert told == [f"%shadow.lost.{instruction}"]


@pytest.mark.parametrize("body", ["mov.b32 %r2, {%h1, %h4};", "add.s32 %r2, %r3, %r4;", "mov.b32 {%h1, %h2}, %r2;"])
def test_bits_without_floats_are_not_told(body: str) -> None:
    assert not [name for name in mnemonics(body) if "lost" in name]


def test_packed_halves_are_counted_with_their_line(tmp_path: Path) -> None:
    body = "cvt.rn.f16x2.f32 %r2, 0f3F800000, 0f40000000; st.global.b32 [%rd2], %r2;"
    run = Shadowed(tmp_path, body, np.zeros(2, np.float32), np.zeros(2, np.float16))
    (lost,) = run.report.roundings
    assert (lost.kind, lost.count, lost.instruction) == ("restart", 1, "cvt.rn.f16x2.f32")
    assert not run.shadow.known.any()


def test_rounding_to_an_integer_follows_the_original() -> None:
    assert mnemonics("cvt.rni.f32.f32 %f1, %f2;") == ["cvt.rni.f32.f32", "%shadow.value.f32"]
    assert mnemonics("add.rn.f32 %f1, %f2, 0f4B400000;") == ["add.rn.f32", "%shadow.value.f32"]


def test_a_guard_holds_for_the_shadow_too(tmp_path: Path) -> None:
    body = """
    add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3; ld.global.f32 %f1, [%rd4];
    setp.eq.u32 %p1, %r1, 1; @%p1 div.rn.f32 %f1, %f1, 0f40400000; selp.f32 %f2, %f1, 0f3F000000, %p1;
    add.rn.f32 %f3, %f1, %f2; st.global.f32 [%rd5], %f3;
    """
    run = Shadowed(tmp_path, body, np.ones(2, np.float32), np.zeros(2, np.float32), threads=2)
    assert list(run.shadow.high) == [1.5, 2 / 3]


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

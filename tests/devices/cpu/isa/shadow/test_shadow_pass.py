"""Insertion of shadow values: where they begin anew, and what stays as it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpuregress.devices.cpu.isa.shadow.shadow_pass import with_shadows
from gpuregress.devices.cpu.ptx.parser import parse
from gpuregress.devices.cpu.ptx.tree import Instruction
from tests.devices.cpu.isa.shadow.shadowed import Shadowed, kernel


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

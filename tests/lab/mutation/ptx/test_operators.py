"""Each operator on PTX makes the changes that its name says, and no other."""

from __future__ import annotations

import pytest

from gpuregress.lab.mutating import mutants, ptx_mutants
from gpuregress.lab.mutating.mutants import OPERATORS
from gpuregress.lab.mutating.ptx_mutants import TABLE

HEAD, TAIL = ".visible .entry k()\n{\n", "\n}\n"


def changed(operator: str, body: str) -> list[str]:
    text = HEAD + body + TAIL
    found = [one for one in ptx_mutants.find_mutants(text, "k.ptx", ["k"]) if one.operator == operator]
    return [mutants.apply(text, one.edits).removeprefix(HEAD).removesuffix(TAIL) for one in found]


@pytest.mark.parametrize(
    ("operator", "body", "after"),
    [
        ("boundary", "setp.ge.s32 %p1, %r1, %r2;", ["setp.gt.s32 %p1, %r1, %r2;"]),
        ("boundary", "setp.ltu.f32 %p1, %f1, %f2;", ["setp.leu.f32 %p1, %f1, %f2;"]),
        ("boundary", "setp.eq.s32 %p1, %r1, %r2;", []),
        ("barrier-removed", "bar.sync 0;", ["/* removed */"]),
        ("barrier-removed", "barrier.cluster.wait.aligned;", ["/* removed */"]),
        ("barrier-removed", "fence.acq_rel.gpu;", ["/* removed */"]),
        ("barrier-removed", "bar.red.popc.u32 %r1, 0, %p1;", []),
        ("index-off-by-one", "ld.global.v2.f32 {%f1, %f2}, [%rd1+8];", ["ld.global.v2.f32 {%f1, %f2}, [%rd1+16];"]),
        ("index-off-by-one", "st.shared.b16 [%r1], %rs1;", ["st.shared.b16 [%r1+2], %rs1;"]),
        ("index-off-by-one", "ld.param.u64 %rd1, [k_param_0];", []),
        ("thread-block-swapped", "mov.u32 %r1, %tid.y;", ["mov.u32 %r1, %ctaid.y;"]),
        ("plus-minus", "add.rn.f32 %f1, %f2, %f3;", ["sub.rn.f32 %f1, %f2, %f3;"]),
        ("plus-minus", "add.cc.u32 %r1, %r2, %r3;", []),
        ("constant", "mul.f32 %f1, %f2, 0f3F800000;", ["mul.f32 %f1, %f2, 0f40000000;"]),
        ("constant", "mov.f64 %fd1, 0d0000000000000000;", ["mov.f64 %fd1, 0d3FF0000000000000;"]),
        ("constant", "mov.b32 %r1, 0fFF800000;", ["mov.b32 %r1, 0f00000000;"]),
        ("constant", "shl.b32 %r1, %r2, 2;", ["shl.b32 %r1, %r2, 3;"]),
        ("atomic-plain", "atom.global.add.u32 %r1, [%rd1], %r2;", [
            ("{ .reg .u32 %was, %was_new; ld.global.u32 %was, [%rd1]; add.u32 %was_new, %was, %r2; "
            "st.global.u32 [%rd1], %was_new; mov.b32 %r1, %was; }"),
        ]),
        ("atomic-plain", "@%p1 red.shared.max.s32 [%r1], 7;", [
            ("{ .reg .s32 %was, %was_new; @!%p1 bra $was_end; ld.shared.s32 %was, [%r1]; "
            "max.s32 %was_new, %was, 7; st.shared.s32 [%r1], %was_new; $was_end: }"),
        ]),
        ("atomic-plain", "atom.global.cas.b32 %r1, [%rd1], %r2, %r3;", []),
        ("guard-dropped", "@!%p1 st.global.u32 [%rd1], %r1;", ["st.global.u32 [%rd1], %r1;"]),
        ("guard-dropped", "@%p1 bra $L2; $L2: ret;", ["/* removed */ $L2: ret;"]),
        ("guard-dropped", "$L1: @%p1 bra $L1; ret;", []),
        ("constant", "mov.b32 %r1, 017; mov.b32 %r1, 4294967295;", [
            "mov.b32 %r1, 16; mov.b32 %r1, 4294967295;",
            "mov.b32 %r1, 017; mov.b32 %r1, 4294967294;",
        ]),
        ("atomic-plain", "red.shared::cluster.add.u32 [%r1], 1;", []),
        ("atomic-plain", "red.global.add.f32 [%rd1], %f1;", [
            ("{ .reg .f32 %was, %was_new; ld.global.f32 %was, [%rd1]; add.rn.f32 %was_new, %was, %f1; "
            "st.global.f32 [%rd1], %was_new; }"),
        ]),
        ("shared-array-small", ".shared .align 4 .b8 t[128];", [".shared .align 4 .b8 t[124];"]),
        ("shared-array-small", ".shared .b8 t[128]; mov.u32 %r1, t;", [".shared .b8 t[124]; mov.u32 %r1, t;"]),
        ("unsigned-signed", "setp.ne.u32 %p1, %r1, %r2; ld.global.u8 %rs1, [%rd1];", [
            "setp.ne.u32 %p1, %r1, %r2; ld.global.s8 %rs1, [%rd1];",
        ]),
        ("unsigned-signed", "atom.global.max.u32 %r1, [%rd1], %r2; red.global.add.u32 [%rd1], 1;", [
            "atom.global.max.s32 %r1, [%rd1], %r2; red.global.add.u32 [%rd1], 1;",
        ]),
        ("double-float", "fma.rn.f64 %fd1, %fd2, %fd3, %fd4;", [
            ("fma.rn.f64 %fd1, %fd2, %fd3, %fd4; { .reg .f32 %single; cvt.rn.f32.f64 %single, %fd1; "
            "cvt.f64.f32 %fd1, %single; }"),
        ]),
        ("transposed", "mad.lo.s32 %r1, %r2, %r3, %r4;", ["mad.lo.s32 %r1, %r4, %r3, %r2;"]),
        ("mask-narrowed", "shfl.sync.down.b32 %r1|%p1, %r2, 1, 31, -1;", [
            "shfl.sync.down.b32 %r1|%p1, %r2, 1, 31, 65535;",
        ]),
        ("mask-narrowed", "bar.warp.sync 0xffffffff;", ["bar.warp.sync 65535;"]),
        ("unsigned-signed", "setp.lo.u32 %p1, %r1, %r2;", ["setp.lt.s32 %p1, %r1, %r2;"]),
        ("unsigned-signed", "mul.wide.u32 %rd1, %r1, 4;", ["mul.wide.s32 %rd1, %r1, 4;"]),
        ("unsigned-signed", "mul.lo.u32 %r1, %r2, %r3; add.u32 %r1, %r2, %r3;", []),
    ],
)  # fmt: skip
def test_changes(operator: str, body: str, after: list[str]) -> None:
    assert changed(operator, body) == after


def test_every_operator_has_its_entry_and_its_description() -> None:
    assert {*TABLE, "shared-array-small"} == OPERATORS.keys()

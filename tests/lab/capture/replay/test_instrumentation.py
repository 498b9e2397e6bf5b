"""Instrumented PTX: accesses to global memory are noted, and no others."""

from __future__ import annotations

import pytest

from gpuregress.foundation.errors import UnsupportedError
from gpuregress.lab.capture.replay.instrumentation import instrument

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n.global .align 4 .b8 own[16];\n"


def noted(statement: str) -> str:
    """What is put before a statement."""
    text = instrument(f"{HEAD}.visible .entry k() {{\n{statement}\nret;\n}}\n", "k", 1)
    return text.split(".entry k() {")[1].split(statement)[0]


@pytest.mark.parametrize(
    ("statement", "address", "size", "kind"),
    [
        ("ld.global.nc.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1+16];", "%rd1, 16", 16, 1),
        ("st.global.u8 [%rd2], %rs1;", "%rd2, 0", 1, 2),
        ("atom.global.add.f64 %fd1, [%rd3+-8], %fd2;", "%rd3, -8", 8, 3),
        ("red.add.noftz.f16x2 [%rd3], %r1;", "%rd3, 0", 4, 3),
        ("ld.u64 %rd5, [ %rd4 + 8 ];", "%rd4, 8", 8, 1),
        ("cp.async.cg.shared.global [%r1], [%rd9+32], 16;", "%rd9, 32", 16, 1),
    ],
)
def test_an_access_is_noted_with_its_bytes(statement: str, address: str, size: int, kind: int) -> None:
    text = noted(statement)
    assert f"add.s64 %gpuregress_at, {address};" in text
    assert f"st.param.b32 [gpuregress_b], {size};" in text
    assert f"st.param.b32 [gpuregress_c], {kind};" in text


def test_a_guard_guards_the_note_too() -> None:
    assert "@!%p3 call gpuregress_note" in noted("@!%p3 ld.global.f32 %f1, [%rd1];")


@pytest.mark.parametrize(
    "statement",
    [
        "ld.shared.f32 %f1, [%r1];",
        "ld.param.u64 %rd1, [k_param_0];",
        "st.local.v2.f32 [%rd1], {%f1, %f2};",
        "ld.const.f32 %f1, [table+4];",
        "ld.global.u32 %r1, [own+4];",
        "cp.async.commit_group;",
        "// ld.global.f32 %f1, [%rd1];",
    ],
)
def test_other_statements_stay_as_they_are(statement: str) -> None:
    text = instrument(f"{HEAD}.visible .entry k() {{\n{statement}\nret;\n}}\n", "k", 1).split(".entry k() {")[1]
    assert "gpuregress" not in text


@pytest.mark.parametrize(
    "statement",
    [
        "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5,%f6}];",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1}, [%rd1], %r2;",
    ],
)
def test_what_cannot_be_noted_is_refused_by_name(statement: str) -> None:
    with pytest.raises(UnsupportedError, match=statement.split(".", 1)[0]):
        noted(statement)


def test_what_other_kernels_access_is_no_obstacle() -> None:
    other = ".visible .entry tex() {\ntex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1}];\nret;\n}\n"
    text = instrument(f"{HEAD}{other}.visible .entry k() {{\nld.global.f32 %f1, [%rd1];\nret;\n}}\n", "k", 1)
    assert "call gpuregress_note" in text

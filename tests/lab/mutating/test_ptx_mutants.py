"""Each operator on PTX makes the changes that its name says, and no other."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault
from gpuregress.lab.mutating import mutants, ptx_mutants
from gpuregress.lab.mutating.mutants import OPERATORS, Mutant
from gpuregress.lab.mutating.ptx_mutants import TABLE
from tests.virtual_gpu.running import Running, ints

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


TEXT = """\
.version 8.0
.func (.reg .b32 r) helper(.reg .b32 a) { add.s32 r, a, 1; ret; }
.visible .entry first()
{
	.reg .pred %p<2>;
	.loc 1 2 3
	@%p1 bra $L__BB0_2;
	add.s32 %r1, %r2, %r3; // a + b;
$L__BB0_2:
	ret;
}
.visible .entry second() { sub.s32 %r1, %r2, %r3; }
"""


def test_the_lines_of_launched_kernels() -> None:
    found = ptx_mutants.find_mutants(TEXT, "k.ptx", ["first"])
    assert [(one.operator, one.line) for one in found] == [
        ("plus-minus", 2),
        ("constant", 2),
        ("guard-dropped", 7),
        ("plus-minus", 8),
    ]


def test_a_probe_traps_under_the_guard_of_the_instruction() -> None:
    (one,) = [one for one in ptx_mutants.find_mutants(TEXT, "k.ptx", ["first"]) if one.operator == "guard-dropped"]
    assert "@%p1 trap;\n\t@%p1 bra $L__BB0_2;" in mutants.apply(TEXT, one.probes[0])


UNROLLED = """\
.visible .entry k()
{
	.loc	1 7 5 // k.py:7:5
	setp.lt.s32 %p1, %r1, 64;
	setp.lt.s32 %p2, %r2, 128;
	setp.lt.u32 %p3, %r2, 128;
	bar.sync 0;
	bar.sync 0;
	.loc	1 7 9
	@%p1 ld.global.b32 { %r3 }, [ %rd1 + 0 ];
	.loc	2 7 5, function_name $L__info_string0, inlined_at 1 7 5
	setp.lt.s32 %p4, %r1, %r2;
	.loc	1 7 5
	setp.lt.s32 %p5, %r3, 192;
	.loc	1 8 0
	add.s32 %r5, %r1, %r2;
	add.s32 %r6, %r1, %r2;
}
"""


def changed_source(operator: str) -> list[tuple[int, int, int]]:
    """Line, copies and edits of each mutant."""
    found = ptx_mutants.find_mutants(UNROLLED, "k.ptx", ["k"])
    return [(one.line, one.copies, len(one.edits)) for one in found if one.operator == operator]


def test_copies_of_an_expression_are_changed_together() -> None:
    assert changed_source("boundary") == [(4, 3, 3), (6, 1, 1), (12, 1, 1)]
    (three,) = [
        one
        for one in ptx_mutants.find_mutants(UNROLLED, "k.ptx", ["k"])
        if one.operator == "boundary" and one.copies == 3
    ]
    assert three.what == "`setp.lt.s32 %p1, %r1, 64;` → `setp.le.s32 %p1, %r1, 64;` (3 copies)"
    text = mutants.apply(UNROLLED, three.edits)
    assert (text.count("setp.le.s32"), text.count("setp.lt.s32")) == (3, 1)
    assert mutants.apply(UNROLLED, three.probes[0]).count("trap;") == 3


def test_a_line_without_a_column_is_no_expression() -> None:
    assert changed_source("plus-minus") == [(16, 1, 1), (17, 1, 1)]


def test_each_barrier_is_a_mutant() -> None:
    assert changed_source("barrier-removed") == [(7, 1, 1), (8, 1, 1)]


PTX = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)
{
	.reg .pred %p<4>;
	.reg .b16 %rs<3>;
	.reg .b32 %r<9>;
	.reg .f32 %f<3>;
	.reg .b64 %rd<9>;
	ld.param.u64 %rd1, [k_param_0];
	ld.param.u32 %r1, [k_param_1];
	mov.u32 %r2, %tid.x;
	setp.lt.s32 %p1, %r2, %r1;
	mov.u32 %r3, 7;
	add.s32 %r3, %r3, 1;
	mov.f32 %f1, 0f3F800000;
	mov.u32 %r5, 64;
	shr.u32 %r5, %r5, 1;
	add.cc.u32 %r6, %r5, 1;
	@%p1 mov.u32 %r3, 8;
	mul.wide.u32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	@%p1 st.global.u32 [%rd3], %r3;
	@!%p1 bra $L_end;
	bar.sync 0;
	ld.global.u32 %r4, [%rd3];
$L_end:
	ret;
}
"""


def found(operator: str, text: str) -> Mutant:
    """The mutant of this operator whose instruction has this text."""
    (one,) = [
        one for one in ptx_mutants.find_mutants(PTX, "k.ptx", ["k"]) if one.operator == operator and text in one.before
    ]
    return one


def infects(folder: Path, one: Mutant, n: int) -> bool:
    """Whether the probe of a mutant traps with 8 threads and this n; else the results are right."""
    running = Running(folder, mutants.apply(PTX, one.infection), "k")
    y = running.put("y", np.zeros(8, np.int32))
    with contextlib.suppress(KernelFault):
        running.launch("k", 1, 8, y, np.int32(n))
        assert ints(y) == [8] * min(n, 8) + [0] * max(0, 8 - n)
        return False
    return True


@pytest.mark.parametrize(
    ("operator", "text", "n", "expected"),
    [
        ("boundary", "setp.lt.s32 %p1", 8, False),
        ("boundary", "setp.lt.s32 %p1", 7, True),
        ("unsigned-signed", "mul.wide.u32", 8, False),
        ("plus-minus", "add.s32 %r3, %r3, 1", 8, True),
        ("constant", "mov.f32 %f1", 8, True),
        ("unsigned-signed", "shr.u32 %r5, %r5, 1", 8, False),
        ("constant", "@%p1 mov.u32 %r3, 8", 0, False),
        ("constant", "@%p1 mov.u32 %r3, 8", 1, True),
        ("guard-dropped", "@%p1 mov.u32 %r3, 8", 0, False),
        ("guard-dropped", "@%p1 st.global.u32", 8, False),
        ("guard-dropped", "@%p1 st.global.u32", 7, True),
        ("guard-dropped", "@!%p1 bra", 8, False),
        ("guard-dropped", "@!%p1 bra", 7, True),
        ("index-off-by-one", "ld.global.u32", 8, True),
        ("thread-block-swapped", "mov.u32 %r2, %tid.x", 0, True),
    ],
)
def test_a_probe_traps_where_the_effect_is_another(
    tmp_path: Path, operator: str, text: str, n: int, *, expected: bool
) -> None:
    assert infects(tmp_path, found(operator, text), n) is expected


@pytest.mark.parametrize(
    ("operator", "text"),
    [("index-off-by-one", "st.global.u32"), ("barrier-removed", "bar.sync"), ("constant", "add.cc.u32")],
)
def test_an_effect_on_memory_the_carry_or_order_is_not_compared(operator: str, text: str) -> None:
    assert not found(operator, text).infection


def test_a_register_of_an_unknown_type_is_not_compared() -> None:
    text = PTX.replace(".reg .b32 %r<9>;", ".reg .b32 %r<9>; { .reg .f32 %r7; }")
    compared = {
        one.before: bool(one.infection)
        for one in ptx_mutants.find_mutants(text, "k.ptx", ["k"])
        if one.operator == "plus-minus"
    }
    assert compared == {"add.s32 %r3, %r3, 1;": False, "add.s64 %rd3, %rd1, %rd2;": True}


@pytest.mark.parametrize(("operator", "is_reached"), [("guard-dropped", True), ("index-off-by-one", False)])
def test_the_place_of_a_dropped_guard_is_reached_without_it(tmp_path: Path, operator: str, *, is_reached: bool) -> None:
    """No thread runs the store with n = 0, and each would without its guard."""
    (probe,) = found(operator, "@%p1 st.global.u32").probes
    running = Running(tmp_path, mutants.apply(PTX, probe), "k")
    y = running.put("y", np.zeros(8, np.int32))
    with pytest.raises(KernelFault) if is_reached else contextlib.nullcontext():
        running.launch("k", 1, 8, y, np.int32(0))

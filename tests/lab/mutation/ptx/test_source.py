"""Mutants of PTX: of the launched kernels and of device functions."""

from __future__ import annotations

from gpuregress.lab.mutating import mutants, ptx_mutants

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


def changed(operator: str) -> list[tuple[int, int, int]]:
    """Line, copies and edits of each mutant."""
    found = ptx_mutants.find_mutants(UNROLLED, "k.ptx", ["k"])
    return [(one.line, one.copies, len(one.edits)) for one in found if one.operator == operator]


def test_copies_of_an_expression_are_changed_together() -> None:
    assert changed("boundary") == [(4, 3, 3), (6, 1, 1), (12, 1, 1)]
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
    assert changed("plus-minus") == [(16, 1, 1), (17, 1, 1)]


def test_each_barrier_is_a_mutant() -> None:
    assert changed("barrier-removed") == [(7, 1, 1), (8, 1, 1)]

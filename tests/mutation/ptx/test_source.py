"""Mutants of PTX: of the launched kernels and of device functions."""

from __future__ import annotations

from gpuregress.mutation import mutants
from gpuregress.mutation.ptx import source

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
    found = source.find(TEXT, "k.ptx", ["first"])
    assert [(one.operator, one.line) for one in found] == [
        ("plus-minus", 2),
        ("constant", 2),
        ("guard-dropped", 7),
        ("plus-minus", 8),
    ]


def test_a_probe_traps_under_the_guard_of_the_instruction() -> None:
    (one,) = [one for one in source.find(TEXT, "k.ptx", ["first"]) if one.operator == "guard-dropped"]
    assert "@%p1 trap;\n\t@%p1 bra $L__BB0_2;" in mutants.apply(TEXT, one.probes[0])

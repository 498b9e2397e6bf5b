"""Fused and fast instructions by source line, and the lines in which two builds differ."""

from __future__ import annotations

from gpuregress.execution.runner import float_instructions
from gpuregress.foundation.records import HARNESS_FILE, InstructionChange

FUSED = """
.version 9.0
.target sm_90
.visible .entry axpy(
	.param .u64 axpy_param_0
)
{
	.loc	1 3 1
	ld.global.f32 	%f1, [%rd1];
	.loc	1 4 5
	fma.rn.f32 	%f3, %f1, %f2, %f0;
	@%p1 fma.rn.f32 	%f4, %f1, %f2, %f0;
	ret;
}
.visible .entry other(
)
{
	.loc	1 9 5
	add.f32 	%f3, %f1, %f2;
	ret;
}
	.file	1 "axpy.cu"
	.file	2 "math.hpp"
"""
FUSED_80 = FUSED.replace("sm_90", "sm_80")
SPLIT = FUSED.replace("\tfma.rn.f32 \t%f3, %f1, %f2, %f0;", "\tmul.f32 \t%f3, %f1, %f2;\n\tadd.f32 \t%f3, %f3, %f0;")


def test_a_line_is_named_with_what_it_loses_and_gets() -> None:
    assert float_instructions.changes(FUSED, SPLIT, {"axpy"}) == (
        InstructionChange("axpy.cu", 4, ("fma.rn.f32",), ("add.f32", "mul.f32")),
    )
    assert float_instructions.changes(FUSED, FUSED, {"axpy"}) == ()


def test_kernels_that_are_not_launched_are_left_out() -> None:
    other = FUSED.replace("add.f32", "sub.f32")
    assert float_instructions.changes(FUSED, other, {"axpy"}) == ()
    assert float_instructions.changes(FUSED, other, {"other"})[0].line == 9


def test_an_inlined_instruction_is_of_the_innermost_line_in_the_kernels_file() -> None:
    chain = (
        "\t.loc\t1 2 5, function_name $L__info_string0, inlined_at 1 4 5\n"
        "\t.loc\t2 77 9, function_name $L__info_string1, inlined_at 1 2 5\n"
    )
    counts = float_instructions.by_line(FUSED.replace("\t.loc\t1 4 5\n", chain), {"axpy"})
    assert counts == {("axpy.cu", 2): {"fma.rn.f32": 2}}


def test_an_instruction_of_a_function_under_test_is_of_its_own_file() -> None:
    chain = (
        "\t.loc\t3 2 5, function_name $L__info_string0, inlined_at 1 4 5\n"
        "\t.loc\t2 77 9, function_name $L__info_string1, inlined_at 3 2 5\n"
    )
    text = FUSED.replace("axpy.cu", HARNESS_FILE) + '\t.file\t3 "clamp.cuh"\n'
    counts = float_instructions.by_line(text.replace("\t.loc\t1 4 5\n", chain), {"axpy"})
    assert counts == {("clamp.cuh", 2): {"fma.rn.f32": 2}}


def test_line_0_belongs_to_the_line_before() -> None:
    counts = float_instructions.by_line(FUSED.replace(".loc\t1 4 5", ".loc\t1 0 5"), {"axpy"})
    assert list(counts) == [("axpy.cu", 3)]


def test_several_are_counted_and_fast_ones_come_first() -> None:
    fast = FUSED.replace("%f0;", "%f0;\n\tabs.f32 \t%f5, %f4;\n\tex2.approx.ftz.f32 \t%f5, %f4;")
    (change,) = float_instructions.changes(FUSED, fast, {"axpy"})
    assert change.after == ("2 ex2.approx.ftz.f32", "2 abs.f32")


def test_fused_and_fast_instructions() -> None:
    for name in ("fma.rn.f32", "ex2.approx.f32", "div.full.f32", "mul.ftz.f32"):
        assert float_instructions.is_fused_or_fast(name)
    assert not float_instructions.is_fused_or_fast("mul.rn.f32")


def test_programs_that_differ_in_their_target_only_are_the_same() -> None:
    first, same, other = (float_instructions.without_target(text) for text in (FUSED, FUSED_80, SPLIT))
    assert first == same != other

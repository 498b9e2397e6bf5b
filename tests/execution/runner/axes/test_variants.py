from __future__ import annotations

from pathlib import Path
from typing import Any

from gpuregress.execution.runner.axes import variants
from gpuregress.execution.runner.execution import run_case
from gpuregress.foundation.errors import DeviceError
from gpuregress.foundation.records import HARNESS_FILE, Dump, InstructionChange, Outcome, Program, Variants
from gpuregress.gpu.base import DeviceModule, LaunchReport
from gpuregress.gpu.records import replace
from gpuregress.store import launch_log
from tests import fakes


def run(folder: Path, kernel: str, device: fakes.FakeDevice | None = None, **programs: str) -> Outcome:
    """Run a case with its variants; each program is told apart by the text of its PTX."""
    case = fakes.case(kernel)
    case = replace(case, variants=Variants("first", dict.fromkeys(programs, case.sources)))

    def program(name: str, text: str) -> Program:
        path = folder / f"{name}.ptx"
        path.write_text(text)
        return replace(fakes.program(), ptx=str(path))

    task = fakes.task(case, folder, variants={name: (program(name, text),) for name, text in programs.items()})
    return run_case(device or fakes.FakeDevice(), replace(task, program=program("own", "own")))


def text_of(dump: Dump) -> list[str]:
    return Path(dump.path).read_text().splitlines()[1:3]


def test_only_results_that_differ_are_dumped(tmp_path: Path) -> None:
    first, second = run(tmp_path, "twice", a="a", b="b").observations.along("variant")
    assert (first.dumps, second.dumps, first.facts.same_as) == ({}, {}, "")
    (changed,) = run(tmp_path, "count", a="a").observations.along("variant")
    assert text_of(changed.dumps["out"]) == ["2.0", "2.0"]
    assert Path(changed.dumps["out"].path).is_relative_to(tmp_path / "dumps/variant-a")


def test_the_same_program_is_not_run(tmp_path: Path) -> None:
    (same,) = run(tmp_path, "count", a="// another comment\nown").observations.along("variant")
    assert (same.facts.same_as, same.dumps) == ("first", {})
    assert len(launch_log.read(tmp_path / "launch.log").events) == 2
    runs = run(tmp_path, "count", a="a", b=".target sm_80\na").observations.along("variant")
    assert [(one.name, one.facts.same_as) for one in runs] == [("a", ""), ("b", "a")]


class FaultsLater(fakes.FakeDevice):
    """Every launch but the first one ends with a fault that loses the device."""

    def launch(self, module: DeviceModule, kernel: str, *rest: Any) -> LaunchReport:
        return super().launch(module, "fault" if self.launched else kernel, *rest)


def test_after_a_lost_device_no_variant_runs(tmp_path: Path) -> None:
    outcome = run(tmp_path, "double", FaultsLater(), a="a", b="b")
    assert outcome.observations.sticky
    first, second = outcome.observations.along("variant")
    assert first.fault.startswith("out-of-bounds: out-of-bounds read")
    assert second.left_out == "an earlier variant lost the device"


def test_what_cannot_be_loaded_is_told(tmp_path: Path) -> None:
    class Old(fakes.FakeDevice):
        def load(self, program: Program, *rest: object) -> fakes.FakeModule:
            if Path(program.ptx).stem == "a":
                raise DeviceError("too new")
            return super().load(program)

    (left_out,) = run(tmp_path, "count", Old(), a="a").observations.along("variant")
    assert left_out.left_out == "too new"


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
    assert variants.changes(FUSED, SPLIT, {"axpy"}) == (
        InstructionChange("axpy.cu", 4, ("fma.rn.f32",), ("add.f32", "mul.f32")),
    )
    assert variants.changes(FUSED, FUSED, {"axpy"}) == ()


def test_kernels_that_are_not_launched_are_left_out() -> None:
    other = FUSED.replace("add.f32", "sub.f32")
    assert variants.changes(FUSED, other, {"axpy"}) == ()
    assert variants.changes(FUSED, other, {"other"})[0].line == 9


def test_an_inlined_instruction_is_of_the_innermost_line_in_the_kernels_file() -> None:
    chain = (
        "\t.loc\t1 2 5, function_name $L__info_string0, inlined_at 1 4 5\n"
        "\t.loc\t2 77 9, function_name $L__info_string1, inlined_at 1 2 5\n"
    )
    counts = variants.by_line(FUSED.replace("\t.loc\t1 4 5\n", chain), {"axpy"})
    assert counts == {("axpy.cu", 2): {"fma.rn.f32": 2}}


def test_an_instruction_of_a_function_under_test_is_of_its_own_file() -> None:
    chain = (
        "\t.loc\t3 2 5, function_name $L__info_string0, inlined_at 1 4 5\n"
        "\t.loc\t2 77 9, function_name $L__info_string1, inlined_at 3 2 5\n"
    )
    text = FUSED.replace("axpy.cu", HARNESS_FILE) + '\t.file\t3 "clamp.cuh"\n'
    counts = variants.by_line(text.replace("\t.loc\t1 4 5\n", chain), {"axpy"})
    assert counts == {("clamp.cuh", 2): {"fma.rn.f32": 2}}


def test_line_0_belongs_to_the_line_before() -> None:
    counts = variants.by_line(FUSED.replace(".loc\t1 4 5", ".loc\t1 0 5"), {"axpy"})
    assert list(counts) == [("axpy.cu", 3)]


def test_several_are_counted_and_fast_ones_come_first() -> None:
    fast = FUSED.replace("%f0;", "%f0;\n\tabs.f32 \t%f5, %f4;\n\tex2.approx.ftz.f32 \t%f5, %f4;")
    (change,) = variants.changes(FUSED, fast, {"axpy"})
    assert change.after == ("2 ex2.approx.ftz.f32", "2 abs.f32")


def test_fused_and_fast_instructions() -> None:
    for name in ("fma.rn.f32", "ex2.approx.f32", "div.full.f32", "mul.ftz.f32"):
        assert variants.is_fused_or_fast(name)
    assert not variants.is_fused_or_fast("mul.rn.f32")


def test_programs_that_differ_in_their_target_only_are_the_same() -> None:
    first, same, other = (variants.without_target(text) for text in (FUSED, FUSED_80, SPLIT))
    assert first == same != other

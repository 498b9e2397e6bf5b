from __future__ import annotations

from gpuregress.foundation.records import Comparison, Element, InstructionChange, UlpFigures, VariantVerdict, Verdict
from gpuregress.report import case_lines

CHANGED = Comparison(
    "out",
    "variant",
    "",
    same=False,
    identical=False,
    of=100,
    changed=37,
    worst=Element(17, "", "0.5", "0.75"),
    figures=UlpFigures(max_abs=0.25, max_rel=0.5, misplaced_nan_or_inf=0, worst={}, max_ulp=2.0, ulp_histogram=()),
)
FMA = InstructionChange("gp.cu", 12, ("fma.rn.f32",), ("mul.rn.f32", "add.rn.f32"))
FIRST = "fmad=on,fast_math=off"


def lines(*variants: VariantVerdict) -> list[str]:
    return list(case_lines.lines(Verdict("j", "j/c", "pass", variants=variants)))


HEAD = f"variants, compared with {FIRST}:"


def test_a_changed_buffer_is_told_with_its_ulp_and_source_lines() -> None:
    assert lines(VariantVerdict("fmad=off", FIRST, buffers=(CHANGED,), instructions=(FMA,))) == [
        HEAD,
        "fmad=off: out: 37 of 100 changed, by 2 ulp at most, at worst [17] from 0.5 to 0.75; not equal under its rule",
        "fmad=off: gp.cu:12: mul.rn.f32, add.rn.f32 in place of fma.rn.f32",
    ]


def test_those_that_change_nothing_share_a_line() -> None:
    quiet = [VariantVerdict(name, FIRST) for name in ("fmad=off", "fast_math=on")]
    alike = VariantVerdict("arch=sm_80", FIRST, FIRST)
    assert lines(*quiet, alike) == [
        HEAD,
        "fmad=off; fast_math=on: no bit changes",
        f"arch=sm_80: the same program as {FIRST}",
    ]
    assert lines() == []


def test_a_fault_and_instructions_on_one_side_only() -> None:
    added = InstructionChange("a.cu", 1, (), ("div.full.f32",))
    gone = InstructionChange("a.cu", 2, ("sqrt.rn.f32",), ())
    many = tuple(InstructionChange("a.cu", line, (), ("x.f32",)) for line in range(3, 12))
    variant = VariantVerdict("fast_math=on", FIRST, message="trap: it stopped", instructions=(added, gone, *many))
    told = lines(variant)
    assert told[:4] == [
        HEAD,
        "fast_math=on: trap: it stopped",
        "fast_math=on: a.cu:1: div.full.f32 is added",
        "fast_math=on: a.cu:2: sqrt.rn.f32 is gone",
    ]
    assert told[-1] == "fast_math=on: … and 3 more source lines are in results.json"

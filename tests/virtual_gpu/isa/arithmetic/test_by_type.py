"""Forms that are not there are refused by name, never taken for one that is; and a few bits worth seeing in print."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.foundation.errors import UnsupportedError
from tests.virtual_gpu.isa.harness import Lanes, run


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("add.rn.f32x2 %d, %a, %a", "b64"),
        ("add.rn.f32.bf16 %d, %a, %a", "f32"),
        ("min.f32 %d, %a, %a, %a", "f32"),
        ("fma.rn.oob.f16 %d, %a, %a, %a", "f16"),
        ("rem.f32 %d, %a, %a", "f32"),
        ("mul.u32 %d, %a, %a", "u32"),
        ("add.q32 %d, %a, %a", "b32"),
        ("sin.f32 %d, %a", "f32"),
        ("cvt.s32.f32 %d, %a", "f32"),
        ("slct.b32.u32 %d, %a, %a, %a", "b32"),
        ("lop3.b32 %d, %a, %a, %a, %a", "b32"),
    ],
)
def test_a_form_that_is_not_there_is_refused_by_name(line: str, kind: str) -> None:
    with pytest.raises(UnsupportedError, match=line.split(maxsplit=1)[0].replace(".", r"\.")):
        Lanes({"f": (line, {"%a": kind}, {"%d": kind})})


@pytest.mark.parametrize(
    ("line", "operands", "expected"),
    [
        ("add.rn.f32 %d, %a, %b", (0x7F800000, 0xFF800000), 0x7FFFFFFF),  # inf - inf: the one NaN
        ("min.f32 %d, %a, %b", (0x7FC00000, 0x40000000), 0x40000000),  # a NaN loses
        ("min.f32 %d, %a, %b", (0x80000000, 0x00000000), 0x80000000),  # -0 is below +0
        ("max.f32 %d, %a, %b", (0x80000000, 0x00000000), 0x00000000),
        ("mul.rn.ftz.f32 %d, %a, %b", (0x00800000, 0x3F7FFFFF), 0x00000000),  # tiny before rounding
        ("mul.rn.f32 %d, %a, %b", (0x00800000, 0x3F7FFFFF), 0x00800000),
        ("mul.rn.ftz.f32 %d, %a, %b", (0x00FFFFFF, 0x3F000000), 0x00000000),
    ],
)
def test_single_precision_as_measured_on_an_h200(line: str, operands: tuple[int, int], expected: int) -> None:
    arrays = [np.array([value], np.uint32) for value in operands]
    (result,) = run(line, {"%a": "f32", "%b": "f32"}, {"%d": "f32"}, arrays)
    assert hex(result[0]) == hex(expected)


@pytest.mark.parametrize(
    ("line", "source", "target", "operand", "expected"),
    [
        ("cvt.rzi.s32.f32 %d, %a", "f32", "s32", 0x7FC00000, 0),
        ("cvt.rzi.s64.f32 %d, %a", "f32", "s64", 0x7FC00000, 1 << 63),
        ("cvt.rzi.s32.f64 %d, %a", "f64", "s32", 0x7FF8000000000000, 1 << 31),
        ("cvt.rzi.s32.f32 %d, %a", "f32", "s32", 0x4F32D05E, 0x7FFFFFFF),  # 3e9
        ("cvt.rzi.u32.f32 %d, %a", "f32", "u32", 0xC0400000, 0),  # -3
        ("add.rn.f64 %d, %a, 0d3FF0000000000000", "f64", "f64", 0x7FF4000012345678, 0x7FFC000012345678),
        ("div.s32 %d, %a, 0", "s32", "s32", 7, 0xFFFFFFFF),
        ("rem.s32 %d, %a, 0", "s32", "s32", 7, 0xFFFFFFFF),
        ("div.s32 %d, %a, -1", "s32", "s32", 1 << 31, 1 << 31),
    ],
)
def test_conversions_and_divisions_as_measured_on_an_h200(
    line: str, source: str, target: str, operand: int, expected: int
) -> None:
    (result,) = run(line, {"%a": source}, {"%d": target}, [np.array([operand], np.uint64)])
    assert hex(result[0]) == hex(expected)

from __future__ import annotations

import numpy as np
import pytest

from tests.virtual_gpu.isa.harness import run

_FIRST, _SECOND, _THIRD = 0x7FF4000000000001, 0xFFF8000000000002, 0x7FF8000000000003
_ONE = 0x3FF0000000000000


@pytest.mark.parametrize(
    ("line", "operands", "expected"),
    [
        ("add.rn.f64 %d, %a, %b", (_FIRST, _SECOND, _ONE), _SECOND),
        ("add.rn.f64 %d, %a, %b", (_FIRST, _ONE, _ONE), 0x7FFC000000000001),  # made quiet
        ("div.rn.f64 %d, %a, %b", (_FIRST, _SECOND, _ONE), 0x7FFC000000000001),
        ("fma.rn.f64 %d, %a, %b, %c", (_ONE, _ONE, _THIRD), _THIRD),
        ("sub.rn.f64 %d, %a, %b", (0x7FF0000000000000, 0x7FF0000000000000, _ONE), 0xFFF8000000000000),  # a new one
    ],
)
def test_nan_operands_of_double_precision_are_propagated(line: str, operands: tuple[int, ...], expected: int) -> None:
    arrays = [np.array([value], np.uint64) for value in operands]
    (result,) = run(line, dict.fromkeys(("%a", "%b", "%c"), "f64"), {"%d": "f64"}, arrays)
    assert hex(result[0]) == hex(expected)


@pytest.mark.parametrize(("word", "expected"), [("rz", 0x3F800000), ("rm", 0x3F800000), ("rp", 0x3F800001)])
def test_single_precision_is_rounded_in_a_direction_by_way_of_double(word: str, expected: int) -> None:
    arrays = [np.array([value], np.uint32) for value in (0x3F800000, 0x0DA24260)]  # 1 + 1e-30: beyond a double
    (result,) = run(f"add.{word}.f32 %d, %a, %b", {"%a": "f32", "%b": "f32"}, {"%d": "f32"}, arrays)
    assert hex(result[0]) == hex(expected)


def test_flushing_keeps_the_sign_of_a_subnormal() -> None:
    arrays = [np.array([value], np.uint32) for value in (0x80000001, 0x3F800000)]
    (result,) = run("mul.rn.ftz.f32 %d, %a, %b", {"%a": "f32", "%b": "f32"}, {"%d": "f32"}, arrays)
    assert hex(result[0]) == "0x80000000"

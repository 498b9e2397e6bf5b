"""Formats of IEEE 754 and narrower ones."""

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


def _single(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


@pytest.mark.parametrize("value", [1.0, 1 + 2**-11, 65504.0, 65519.99, 65520.0, 2**-24, 2**-25, 2**-25 * 1.001, -0.0])
def test_rounding_to_f16_is_numpys(value: float) -> None:
    (result,) = run("cvt.rn.f16.f32 %d, %a", {"%a": "f32"}, {"%d": "b16"}, [np.array([_single(value)], np.uint32)])
    with np.errstate(over="ignore"):
        assert int(result[0]) == int(np.float16(np.float32(value)).view(np.uint16))


@pytest.mark.parametrize("bits", [0x0001, 0x03FF, 0x0400, 0x7BFF, 0x7C00, 0xFC00, 0x8000])
def test_widening_of_f16_is_exact(bits: int) -> None:
    (result,) = run("cvt.f32.f16 %d, %a", {"%a": "b16"}, {"%d": "f32"}, [np.array([bits], np.uint16)])
    assert int(result[0]) == _single(float(np.uint16(bits).view(np.float16)))


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [("e4m3x2", 1000.0, 0x7E), ("e5m2x2", 1e6, 0x7B), ("e4m3x2", 2**-9, 0x01), ("e4m3x2", 1.0, 0x38)],
)
def test_eight_bit_floats_saturate_at_the_largest_finite_number(kind: str, value: float, expected: int) -> None:
    arrays = [np.array([_single(operand)], np.uint32) for operand in (0.0, value)]
    text = f"cvt.rn.satfinite.{kind}.f32 %d, %a, %b"
    (result,) = run(text, {"%a": "f32", "%b": "f32"}, {"%d": "b16"}, arrays)
    assert hex(result[0]) == hex(expected)

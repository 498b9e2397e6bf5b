from __future__ import annotations

import pytest

from gpuregress.devices.cpu.ptx.constants import number
from gpuregress.devices.cpu.ptx.tree import Float, Integer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", Integer(12)),
        ("0x1FU", Integer(31)),
        ("017", Integer(15)),
        ("0", Integer(0)),
        ("0b101", Integer(5)),
        ("18446744073709551615U", Integer(2**64 - 1)),
        ("0f3F800000", Float(0x3F800000, 32)),
        ("0d3FF0000000000000", Float(0x3FF0000000000000, 64)),
        ("1.5", Float(0x3FF8000000000000, 64)),
        ("2e1", Float(0x4034000000000000, 64)),
    ],
)
def test_numeric_literals(text: str, expected: Integer | Float) -> None:
    assert number(text) == expected


def test_a_minus_sign_negates_integers_and_flips_the_sign_bit_of_floats() -> None:
    assert number("7", negative=True) == Integer(-7)
    assert number("0f00000000", negative=True) == Float(0x80000000, 32)
    assert number("0d7FF0000000000000", negative=True) == Float(0xFFF0000000000000, 64)
    assert number("1.5", negative=True) == Float(0xBFF8000000000000, 64)

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.ptx.declarations import expression, number, starts_constant
from gpuregress.virtual_gpu.ptx.lexer import Cursor, PtxError, tokens
from gpuregress.virtual_gpu.ptx.tree import Float, Integer


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-7", Integer(-7)),
        ("-0f00000000", Float(0x80000000, 32)),
        ("(1 << 4) | 3", Integer(19)),
        ("1 + 2 * 3 - 8 / 3 - 7 % 4", Integer(2)),
        ("-7 / 2", Integer(-3)),
        ("-7 % 4", Integer(-3)),
        ("~5 & 0xF", Integer(10)),
        ("0xFFFFFFFFFFFFFFFF >> 60", Integer(15)),
        ("-1 >> 1", Integer(-1)),
        ("(.u64)-1 >> 63", Integer(1)),
        ("1 << 64", Integer(0)),
        ("!0 && 2 != 3 ? 4 <= 4 : 9", Integer(1)),
        ("WARP_SZ * 2 ^ 1", Integer(65)),
        ("1.5 + 2.0", Float(0x400C000000000000, 64)),
    ],
)
def test_constant_expressions(text: str, expected: Integer | Float) -> None:
    cursor = Cursor(tokens(text))
    assert starts_constant(cursor)
    assert expression(cursor) == expected
    assert cursor.here.kind == "end"


@pytest.mark.parametrize("text", ["1 / 0", "7 % (2 - 2)", "1.5 << 2", "1 << -1", "(1", "1 + x", "-"])
def test_an_expression_without_a_value_names_its_line(text: str) -> None:
    with pytest.raises(PtxError, match="PTX line 2"):
        expression(Cursor(tokens("\n" + text)))

"""Declarations, and the constant expressions in them."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.ptx.declarations import expression, number, starts_constant
from gpuregress.virtual_gpu.ptx.lexer import Cursor, PtxError, tokens
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Float, Integer, MaskedSymbol, Symbol
from tests.virtual_gpu.ptx.printing import HEAD


def test_variables_of_every_form() -> None:
    module = parse(
        HEAD
        + """
    .const .align 4 .b8 taps[8] = {0, 0, 128, 63};
    .visible .global .align 8 .u64 where = generic(table)+4;
    .global .align 8 .u64 both[2] = {f, table};
    .global .align 1 .b8 bytes[2] = {0xFF(table), 0xFF00(table+4)};
    .global .f32 half = 0f3F000000;
    .global .s32 grid[2][3] = {{1, 2, 3}, {-4, 5, 6}};
    .extern .shared .align 16 .b8 tail[];
    .weak .global .v4 .f32 four;
    .global .attribute(.managed) .align 4 .u32 managed;
    .shared .b32 a, b[3];
    """,
    )
    actual = {item.name: item for item in module.variables}
    assert (actual["taps"].count, actual["taps"].initializer[2], actual["taps"].space) == (8, Integer(128), "const")
    assert (actual["where"].initializer, actual["where"].linkage) == ((Symbol("table", 4),), "visible")
    assert actual["both"].initializer == (Symbol("f"), Symbol("table"))
    assert actual["bytes"].initializer == (
        MaskedSymbol(Symbol("table"), 0xFF),
        MaskedSymbol(Symbol("table", 4), 0xFF00),
    )
    assert actual["half"].initializer == (Float(0x3F000000, 32),)
    assert (actual["grid"].count, actual["grid"].initializer[3]) == (6, Integer(-4))
    assert (actual["tail"].count, actual["tail"].alignment) == (None, 16)
    assert (actual["four"].count, actual["four"].alignment) == (4, 16)
    assert actual["managed"].type == "u32"
    assert (actual["a"].count, actual["b"].count) == (1, 3)


def test_a_body_declares_several_parameters_of_a_call_at_once() -> None:
    (kernel,) = parse(f"{HEAD}\n.visible .entry k() {{ {{ .param .align 8 .b8 in[8], out[4]; }} ret; }}").functions
    declared = [(item.space, item.count, item.alignment) for item in kernel.variables]
    assert declared == [("param", 8, 8), ("param", 4, 8)]


def test_an_alignment_behind_ptr_is_that_of_what_the_pointer_points_to() -> None:
    parameters = ".param .u32 n, .param .u64 .ptr .global .align 1 a, .param .u64 .ptr .align 32 b, .param .u64 .ptr c"
    (kernel,) = parse(f"{HEAD}\n.visible .entry k({parameters}) {{ ret; }}").functions
    assert [(item.name, item.alignment, item.pointer) for item in kernel.parameters] == [
        ("n", 4, None),
        ("a", 8, "global"),
        ("b", 8, "generic"),
        ("c", 8, "generic"),
    ]


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

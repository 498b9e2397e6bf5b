"""Tokens of PTX, and the cursor in them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.virtual_gpu.ptx.lexer import Cursor, PtxError, tokens


def test_kinds_of_tokens() -> None:
    text = '@%p1 ld.global.f32 %f1, [%rd1+-4]; // to the end\n.reg /* two\nlines */ 0x1FU "s"'
    words = [(item.kind, item.text, item.line) for item in tokens(text)]
    assert words == [
        ("mark", "@", 1),
        ("word", "%p1", 1),
        ("word", "ld.global.f32", 1),
        ("word", "%f1", 1),
        ("mark", ",", 1),
        ("mark", "[", 1),
        ("word", "%rd1", 1),
        ("mark", "+", 1),
        ("mark", "-", 1),
        ("number", "4", 1),
        ("mark", "]", 1),
        ("mark", ";", 1),
        ("directive", ".reg", 2),
        ("number", "0x1FU", 3),
        ("string", '"s"', 3),
        ("end", "end of text", 3),
    ]


def test_a_character_that_starts_no_token_is_an_error_with_its_line() -> None:
    with pytest.raises(PtxError, match="PTX line 2: '§' starts no token"):
        tokens("ret;\n§")


@given(st.text(max_size=60))
def test_any_text_is_tokens_or_a_clear_error(text: str) -> None:
    with contextlib.suppress(PtxError):
        items = tokens(text)
        assert items[-1].kind == "end"
        assert all(item.line >= 1 for item in items)


def _cursor(text: str) -> Cursor:
    return Cursor(tokens(text))


def test_tokens_are_consumed_in_order() -> None:
    cursor = _cursor("a , -4 { { } } z")
    assert cursor.word("a name") == "a"
    assert not cursor.accept(";")
    assert cursor.accept(",")
    assert cursor.ahead().text == "4"
    assert cursor.integer("a number") == -4
    cursor.skip_braces()
    assert cursor.take().text == "z"
    assert cursor.here.kind == cursor.ahead(9).kind == "end"


@pytest.mark.parametrize(
    ("text", "method", "message"),
    [
        ("\n;", "word", "PTX line 2: expected a name, found ';'"),
        ("x", "integer", "PTX line 1: expected a name, found 'x'"),
        ("1.5", "integer", "PTX line 1: expected a name, found '1.5'"),
        ("", "word", "PTX line 1: the text ends in the middle of a statement"),
        ("x", "expect", "PTX line 1: expected 'a name', found 'x'"),
    ],
)
def test_an_unexpected_token_is_an_error_with_its_line(text: str, method: str, message: str) -> None:
    with pytest.raises(PtxError) as error:
        getattr(_cursor(text), method)("a name")
    assert str(error.value) == message


def test_the_end_of_the_text_cannot_be_consumed() -> None:
    with pytest.raises(PtxError, match="ends in the middle"):
        _cursor("{ {").skip_braces()

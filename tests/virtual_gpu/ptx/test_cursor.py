from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.ptx.lexer import Cursor, PtxError, tokens


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

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation import escapes


@given(st.text(st.characters(codec=None, exclude_categories=[])))
def test_what_is_visible_holds_no_control_character(text: str) -> None:
    shown = escapes.visible(text)
    assert not [sign for sign in shown if unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") and sign not in "\n\t"]
    assert not [sign for sign in shown if unicodedata.bidirectional(sign) in ("RLE", "LRE", "RLO", "LRO", "PDF", "RLI")]
    assert "\n" not in escapes.one_line(text)
    shown.encode()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("\x9b2J\x7f\r\n\tx", "\\x9b2J\\x7f\\x0d\n\tx"),
        ("\u202egnp.\u2066\u2028", r"\u202egnp.\u2066\u2028"),
        (b"caf\xe9.cu".decode(errors="surrogateescape"), r"caf\xe9.cu"),
        ("\ud83d", r"\ud83d"),
        ("naïve 数 😀", "naïve 数 😀"),
    ],
)
def test_how_they_are_shown(text: str, shown: str) -> None:
    assert escapes.visible(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\r\n\nc", "a\n| b\\x0d\n| \n| c"),
        ("::error::x", "| ::error::x"),
        ("a\n \u00a0::error::x", "a\n|  \u00a0::error::x"),
        ("a ##[error]x ###[group] ##vso[task.x]", r"a #\x23[error]x ##\x23[group] #\x23vso[task.x]"),
        ("## a [b], std::x", "## a [b], std::x"),
    ],
)
def test_an_entry_forges_no_line_and_no_command(text: str, shown: str) -> None:
    assert escapes.entry(text) == shown
    assert escapes.inert(shown) == shown


def test_html_is_text_also_in_an_attribute() -> None:
    assert escapes.visible_html("\"><script>'\x1b") == "&quot;&gt;&lt;script&gt;&#x27;\\x1b"
    assert escapes.visible_html("x\n ::a::\n##[b]") == "x\n &#58;:a::\n#&#35;[b]"


@given(st.text())
def test_json_is_ascii_and_reads_back(text: str) -> None:
    written = escapes.json_text({text: [text]}, indent=1)
    assert json.loads(written) == {text: [text]}
    assert escapes.visible(written) == written
    assert written.isascii()

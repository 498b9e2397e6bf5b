"""Escaping of text from outside: control characters, line breaks, commands to CI servers.

Outside are kernels' printf, compilers' and exceptions' messages, names of files, keys and jobs, and what users write.
Where such a text has further lines, each begins with a mark, `| `, so that none is taken for a line of ours.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from typing import Any

# C0 but for newline and tab, DEL, C1; marks of direction and their embeddings and isolates; line and paragraph
# separators; halves of surrogate pairs.
_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_BREAKS = re.compile("[\t\n]")
_COMMANDS = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)
_OLD_COMMANDS = re.compile(r"##(?=[\w-]*\[)")
_UNDECODED = range(0xDC80, 0xDD00)
"""How Python holds a byte of a file's name that is no UTF-8."""


def visible(text: str) -> str:
    r"""The text with every control character as `\x1b` or `\u202e`; newlines and tabs stay."""
    return _CONTROLS.sub(_escape, text)


def one_line(text: str) -> str:
    r"""Escape as `visible`, with newlines as `\x0a` and tabs as `\x09`."""
    return _BREAKS.sub(_escape, visible(text))


def entry(text: str) -> str:
    """The text as one entry of a report: escaped as by `visible`, further lines marked, and inert."""
    return inert(visible(text).replace("\n", "\n| "))


def inert(text: str) -> str:
    r"""The text without commands to CI servers, which read what a step prints.

    GitHub takes `::error::x` at the start of a line, after any spaces, and its old form `##[error]x` anywhere in a
    line; Azure and TeamCity take `##vso[…]` and `##teamcity[…]`.
    """
    return _OLD_COMMANDS.sub(r"#\\x23", _COMMANDS.sub(r"| \1:", text))


def visible_html(text: str) -> str:
    """Escape as `visible`, for an HTML page: as text, or between an attribute's quotes."""
    # A page may go to a step's output: see `inert`. A browser shows the signs all the same.
    return _OLD_COMMANDS.sub("#&#35;", _COMMANDS.sub(r"\1&#58;", html.escape(visible(text))))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    code = code - 0xDC00 if code in _UNDECODED else code
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def json_text(value: Any, indent: int) -> str:
    """Format plain JSON values as printable ASCII characters and newlines.

    Raises:
        ValueError: a NaN or infinity, which JSON does not know.
    """
    text = json.dumps(value, indent=indent, allow_nan=False).replace("\x7f", "\\u007f")
    return _OLD_COMMANDS.sub(r"#\\u0023", text)


def first_names(names: Sequence[str], most: int = 3) -> str:
    """Name the first of several things in one line: `a, b, c and 2 more`."""
    text = ", ".join(names[:most])
    return f"{text} and {len(names) - most} more" if len(names) > most else text

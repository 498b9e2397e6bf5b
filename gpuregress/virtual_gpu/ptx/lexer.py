"""Lexer of PTX.

PTX ISA manual, chapter 4, "Syntax".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gpuregress.gpu.errors import CompileError


class PtxError(CompileError):
    """Syntax error in PTX text.

    Args:
        message: the expected and the actual token.
        line: the line of the PTX text, from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"PTX line {line}: {message}")
        self.line = line


class Token(NamedTuple):
    """One token: its kind, its text, its line from 1.

    Kinds: `word` (an opcode with its modifiers, a name, `%tid.x`), `directive` (`.reg`), `number`, `string`,
    `mark` (punctuation), `end`.
    """

    kind: str
    text: str
    line: int


_TOKEN = re.compile(
    r"""(?P<skip>[ \t\r\f]+|//[^\n]*)
      |(?P<newline>\n+)
      |(?P<comment>/\*.*?\*/)
      |(?P<number>0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?
                 |(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+U?)
      |(?P<word>%[\w$]+(?:\.[xyzwrgba]\b)?|[A-Za-z_$][\w$]*(?:(?:\.|::)\w+)*)
      |(?P<directive>\.[A-Za-z_]\w*(?:::\w+)*)
      |(?P<string>"(?:[^"\\\n]|\\.)*")
      |(?P<mark>[][(){}<>,;:=+|!@~*&^/?%-])
    """,
    re.VERBOSE | re.DOTALL,
)


def tokens(text: str) -> list[Token]:
    """Split PTX text into tokens; the last one is of kind `end`.

    Raises:
        PtxError: a character that starts no token.
    """
    items: list[Token] = []
    position, line = 0, 1
    match = _TOKEN.match
    while position < len(text):
        item = match(text, position)
        if item is None:
            raise PtxError(f"{text[position]!r} starts no token", line)
        kind = item.lastgroup or ""
        position = item.end()
        if kind == "newline":
            line += position - item.start()
        elif kind == "comment":
            line += item.group().count("\n")
        elif kind != "skip":
            items.append(Token(kind, item.group(), line))
    items.append(Token("end", "end of text", line))
    return items

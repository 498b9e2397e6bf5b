"""Lexer of PTX, and the cursor with which the parts of the parser read its tokens.

PTX ISA manual, chapter 4, "Syntax".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gpuregress.gpu.errors import CodeLine, CompileError

# --- tokens -----------------------------------------------------------------------------------------------------------


class PtxError(CompileError):
    """Syntax error in PTX text.

    Args:
        message: the expected and the actual token.
        line: the line of the PTX text, from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"PTX line {line}: {message}", source_line=CodeLine("", line))


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


# --- cursor -----------------------------------------------------------------------------------------------------------
# Cursor into the tokens of a PTX text, shared by the parts of the parser.


class Cursor:
    """Sequential reader of tokens.

    Args:
        items: the tokens, the last of kind `end`.
    """

    def __init__(self, items: list[Token]) -> None:
        self._items = items
        self.position = 0

    @property
    def here(self) -> Token:
        """The next token."""
        return self._items[self.position]

    def ahead(self, count: int = 1) -> Token:
        """The token `count` positions after the next one."""
        return self._items[min(self.position + count, len(self._items) - 1)]

    def take(self) -> Token:
        """Consume the next token."""
        token = self._items[self.position]
        if token.kind == "end":
            raise PtxError("the text ends in the middle of a statement", token.line)
        self.position += 1
        return token

    def accept(self, text: str) -> bool:
        """Consume the next token if it has this text."""
        if self._items[self.position].text != text:
            return False
        self.position += 1
        return True

    def expect(self, text: str) -> Token:
        """Consume the next token, which must have this text."""
        token = self.here
        if token.text != text:
            raise PtxError(f"expected {text!r}, found {token.text!r}", token.line)
        self.position += 1
        return token

    def word(self, what: str) -> str:
        """Consume a name."""
        token = self.here
        if token.kind == "end":
            raise PtxError("the text ends in the middle of a statement", token.line)
        if token.kind != "word":
            raise PtxError(f"expected {what}, found {token.text!r}", token.line)
        self.position += 1
        return token.text

    def integer(self, what: str) -> int:
        """Consume an integer with an optional sign."""
        negative = self.accept("-")
        token = self.here
        if token.kind != "number":
            raise PtxError(f"expected {what}, found {token.text!r}", token.line)
        self.position += 1
        try:
            value = int(token.text.rstrip("Uu"), 0)
        except ValueError as error:
            raise PtxError(f"expected {what}, found {token.text!r}", token.line) from error
        return -value if negative else value

    def skip_braces(self) -> None:
        """Skip `{ … }` with nested braces."""
        self.expect("{")
        depth = 1
        while depth:
            text = self.take().text
            depth += (text == "{") - (text == "}")

"""Cursor into the tokens of a PTX text, shared by the parts of the parser."""

from __future__ import annotations

from gpuregress.virtual_gpu.ptx.lexer import PtxError, Token


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

"""A place in the tokens: what the parser's parts share."""

from __future__ import annotations

from gpuregress.devices.cpu.ptx.lexer import PtxError, Token


class Cursor:
    """Reads tokens one after the other.

    Args:
        items: the tokens, the last of kind `end`.
    """

    def __init__(self, items: list[Token]) -> None:
        self._items = items
        self.position = 0

    @property
    def here(self) -> Token:
        """The next token, not yet taken."""
        return self._items[self.position]

    def ahead(self, count: int = 1) -> Token:
        """The token so many places after the next one."""
        return self._items[min(self.position + count, len(self._items) - 1)]

    def take(self) -> Token:
        """Takes the next token."""
        token = self._items[self.position]
        if token.kind == "end":
            raise PtxError("the text ends in the middle of a statement", token.line)
        self.position += 1
        return token

    def accept(self, text: str) -> bool:
        """Takes the next token if it reads so."""
        if self._items[self.position].text != text:
            return False
        self.position += 1
        return True

    def expect(self, text: str) -> Token:
        """Takes the next token, which must read so."""
        token = self.here
        if token.text != text:
            raise PtxError(f"expected {text!r}, found {token.text!r}", token.line)
        self.position += 1
        return token

    def word(self, what: str) -> str:
        """Takes a name."""
        token = self.here
        if token.kind == "end":
            raise PtxError("the text ends in the middle of a statement", token.line)
        if token.kind != "word":
            raise PtxError(f"expected {what}, found {token.text!r}", token.line)
        self.position += 1
        return token.text

    def integer(self, what: str) -> int:
        """Takes a plain integer, with an optional sign."""
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
        """Skips `{ … }`, nested ones too."""
        self.expect("{")
        depth = 1
        while depth:
            text = self.take().text
            depth += (text == "{") - (text == "}")

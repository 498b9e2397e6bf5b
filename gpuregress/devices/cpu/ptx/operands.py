"""Parser of operands.

PTX ISA manual, chapter 6, "Instruction Operands".
"""

from __future__ import annotations

from gpuregress.devices.cpu.ptx.constants import number
from gpuregress.devices.cpu.ptx.cursor import Cursor
from gpuregress.devices.cpu.ptx.lexer import PtxError
from gpuregress.devices.cpu.ptx.scopes import Scopes
from gpuregress.devices.cpu.ptx.tree import (
    Address,
    Integer,
    Minus,
    Negated,
    Operand,
    Pair,
    Register,
    Selected,
    Sink,
    Symbol,
    TextureAddress,
    Vector,
)


class OperandParser:
    """Parser of the operands at a cursor.

    Args:
        cursor: shared with the body's parser.
        scopes: the visible names.
    """

    def __init__(self, cursor: Cursor, scopes: Scopes) -> None:
        self._cursor = cursor
        self._scopes = scopes

    def read(self) -> Operand:
        """Parse one operand."""
        first = self._single()
        return Pair(first, self._single()) if self._cursor.accept("|") else first

    def _single(self) -> Operand:
        cursor = self._cursor
        token = cursor.take()
        if token.text == "[":
            return self._address()
        if token.text == "{":
            return Vector(self._elements())
        if token.text in ("!", "-", "~", "+"):
            return self._signed(token.text)
        if token.kind == "number":
            return number(token.text)
        if token.kind == "word":
            return self._named(token.text)
        raise PtxError(f"{token.text!r} starts no operand", token.line)

    def _signed(self, sign: str) -> Operand:
        token = self._cursor.take()
        if token.kind == "number":
            value = number(token.text, negative=sign == "-")
            return Integer(~value.value) if sign == "~" and isinstance(value, Integer) else value
        name = self._scopes.resolve(token.text)
        if sign == "!" and token.kind == "word" and self._scopes.is_register(name):
            return Negated(Register(name))
        if sign == "-" and token.kind == "word" and self._scopes.is_register(name):
            return Minus(self._register(name))
        raise PtxError(f"{sign + token.text!r} is not an operand", token.line)

    def _named(self, text: str) -> Operand:
        if text == "_":
            return Sink()
        if text == "WARP_SZ":
            return Integer(32)
        name = self._scopes.resolve(text)
        if self._scopes.is_register(name):
            return self._register(name)
        return Symbol(name, self._offset())

    def _register(self, name: str) -> Register | Selected:
        register = Register(name)
        selects = self._cursor.here.kind == "directive"
        return Selected(register, self._cursor.take().text[1:]) if selects else register

    def _offset(self) -> int:
        cursor = self._cursor
        if cursor.accept("+"):
            return cursor.integer("an offset")
        return -cursor.integer("an offset") if cursor.accept("-") else 0

    def _elements(self) -> tuple[Operand, ...]:
        operands = [self.read()]
        while self._cursor.accept(","):
            operands.append(self.read())
        self._cursor.expect("}")
        return tuple(operands)

    def _address(self) -> Operand:
        cursor = self._cursor
        token = cursor.take()
        if token.kind == "number":
            value = number(token.text)
            if not isinstance(value, Integer):
                raise PtxError(f"{token.text!r} is not an address", token.line)
            cursor.expect("]")
            return Address(value)
        if token.kind != "word":
            raise PtxError(f"{token.text!r} is not an address", token.line)
        name = self._scopes.resolve(token.text)
        base: Register | Symbol = Register(name) if self._scopes.is_register(name) else Symbol(name)
        if cursor.accept(","):
            coordinates = self.read()
            while cursor.accept(","):
                self.read()
            cursor.expect("]")
            return TextureAddress(base, coordinates)
        address = Address(base, self._offset())
        cursor.expect("]")
        return address

"""Parser of operands.

PTX ISA manual, chapter 6, "Instruction Operands".
"""

from __future__ import annotations

from collections.abc import Callable

from gpuregress.virtual_gpu.ptx.constants import expression, number, offset, starts_constant, whole
from gpuregress.virtual_gpu.ptx.cursor import Cursor
from gpuregress.virtual_gpu.ptx.lexer import PtxError, Token
from gpuregress.virtual_gpu.ptx.scopes import ELEMENTS, Scopes
from gpuregress.virtual_gpu.ptx.tree import (
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

_ENDS = frozenset(",;]})")
_COLORS = str.maketrans("rgba", ELEMENTS)


class OperandParser:
    """Parser of the operands at a cursor.

    Args:
        cursor: shared with the body's parser.
        scopes: the visible names.
        add: makes the register that holds the sum of a register and a constant, for the instruction at this line.
    """

    def __init__(self, cursor: Cursor, scopes: Scopes, add: Callable[[Register, Integer, int], Register]) -> None:
        self._cursor = cursor
        self._scopes = scopes
        self._add = add

    def read(self) -> Operand:
        """Parse one operand."""
        first = self._single()
        return Pair(first, self._single()) if self._cursor.accept("|") else first

    def _single(self) -> Operand:
        cursor = self._cursor
        token = cursor.here
        if token.kind == "number" and cursor.ahead().text in _ENDS:
            return number(cursor.take().text)
        if token.kind in ("number", "mark") and starts_constant(cursor):
            return expression(cursor)
        cursor.take()
        if token.kind == "word":
            return self._named(token)
        if token.text == "[":
            return self._address()
        if token.text == "{":
            return Vector(self._elements())
        if token.text in ("!", "-"):
            return self._signed(token.text)
        raise PtxError(f"{token.text!r} starts no operand", token.line)

    def _signed(self, sign: str) -> Operand:
        token = self._cursor.take()
        if token.kind == "word":
            register = self._register(token.text)
            if sign == "!" and isinstance(register, Register):
                return Negated(register)
            if sign == "-" and isinstance(register, Register | Selected):
                return Minus(register)
        raise PtxError(f"{sign + token.text!r} is not an operand", token.line)

    def _named(self, token: Token) -> Operand:
        if token.text == "_":
            return Sink()
        if token.text == "WARP_SZ":
            return Integer(32)
        register = self._register(token.text)
        if register is None:
            return Symbol(self._scopes.resolve(token.text), offset(self._cursor))
        if isinstance(register, Register) and self._cursor.accept("+"):
            return self._add(register, Integer(whole(self._cursor, "a constant")), token.line)
        return register

    def _register(self, text: str) -> Register | Selected | Vector | None:
        """`%r1`, `v`, `v.x`, `%r1.b0`: a register, a vector register or a part of one; None: another name."""
        name = self._scopes.resolve(text)
        if name == text and "." in text:
            whole_name, _, part = text.partition(".")
            name = self._scopes.resolve(whole_name)
            letter = ELEMENTS.find(part.translate(_COLORS)) if len(part) == 1 else -1
            elements = self._scopes.elements(name)
            if 0 <= letter < len(elements):
                return Register(elements[letter])
            if self._scopes.is_declared(name) and not elements:
                return Selected(Register(name), part)
            name = text
        if not self._scopes.is_register(name):
            return None
        if elements := self._scopes.elements(name):
            return Vector(tuple(map(Register, elements)))
        register = Register(name)
        selects = self._cursor.here.kind == "directive"
        return Selected(register, self._cursor.take().text[1:]) if selects else register

    def _elements(self) -> tuple[Operand, ...]:
        operands = [self.read()]
        while self._cursor.accept(","):
            operands.append(self.read())
        self._cursor.expect("}")
        return tuple(operands)

    def _address(self) -> Operand:
        cursor = self._cursor
        if cursor.here.kind != "word" and starts_constant(cursor):
            address = Address(Integer(whole(cursor, "an address")))
            cursor.expect("]")
            return address
        text = cursor.word("an address")
        base = self._register(text) or Symbol(self._scopes.resolve(text))
        if not isinstance(base, Register | Symbol):
            raise PtxError(f"{text!r} is not an address", cursor.here.line)
        if cursor.accept(","):
            coordinates = self.read()
            while cursor.accept(","):
                self.read()
            cursor.expect("]")
            return TextureAddress(base, coordinates)
        address = Address(base, offset(cursor))
        cursor.expect("]")
        return address

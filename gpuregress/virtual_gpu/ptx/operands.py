"""Parser of operands, with the scopes of the names in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gpuregress.virtual_gpu.ptx.declarations import expression, number, offset, starts_constant, whole
from gpuregress.virtual_gpu.ptx.lexer import Cursor, PtxError, Token
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

# --- scopes -----------------------------------------------------------------------------------------------------------


ELEMENTS = "xyzw"
"""The names of a vector register's elements; `r`, `g`, `b`, `a` are the same."""

_SPECIAL_VECTORS = dict.fromkeys(
    ("%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"), 4
)


@dataclass
class _Scope:
    names: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


class Scopes:
    """Names of registers, variables and labels, made unique within their function."""

    def __init__(self) -> None:
        self._stack = [_Scope()]
        self._used: set[str] = set()
        self._registers: set[str] = set()
        self._vectors: dict[str, int] = {}

    def enter(self, labels: set[str]) -> None:
        """Open a scope with these labels."""
        self._stack.append(_Scope(labels={name: self._unique(name) for name in sorted(labels)}))

    def leave(self) -> None:
        """Close the innermost scope."""
        self._stack.pop()

    def declare(self, name: str, *, is_register: bool, suffix: str = "") -> str:
        """Declare a name in the innermost scope; return the unique name, which has the suffix."""
        unique = self._unique(name + suffix)
        self._stack[-1].names[name] = unique
        if is_register:
            self._registers.add(unique)
        return unique

    def declare_register(self, name: str, lanes: int) -> tuple[str, ...]:
        """Declare a register in the innermost scope; return its unique name, or those of a vector's elements."""
        unique = self.declare(name, is_register=True)
        if lanes == 1:
            return (unique,)
        self._vectors[unique] = lanes
        return self.elements(unique)

    def elements(self, unique: str) -> tuple[str, ...]:
        """The registers that are the elements of a vector register; none: it is no such register."""
        lanes = self._vectors.get(unique) or _SPECIAL_VECTORS.get(unique) or 0
        return tuple(f"{unique}.{letter}" for letter in ELEMENTS[:lanes])

    def resolve(self, name: str) -> str:
        """The unique name of a visible name; names of the module are unique already."""
        for scope in reversed(self._stack):
            if name in scope.names:
                return scope.names[name]
        return name

    def label(self, name: str) -> str:
        """The unique name of a label."""
        for scope in reversed(self._stack):
            if name in scope.labels:
                return scope.labels[name]
        return name

    def has_label(self, name: str) -> bool:
        """Whether a label of this name is visible."""
        return any(name in scope.labels for scope in self._stack)

    def is_register(self, unique: str) -> bool:
        """Whether a unique name is a register: a declared one, or a special one (`%tid.x`)."""
        return unique in self._registers or unique.startswith("%")

    def is_declared(self, unique: str) -> bool:
        """Whether a unique name is a register that the function declares."""
        return unique in self._registers

    def _unique(self, name: str) -> str:
        unique, count = name, 1
        while unique in self._used:
            count += 1
            unique = f"{name}@{count}"
        self._used.add(unique)
        return unique


# --- operands ---------------------------------------------------------------------------------------------------------
# Parser of operands.
#
# PTX ISA manual, chapter 6, "Instruction Operands".


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
        elements = self._scopes.elements(name)
        if elements:
            return Vector(tuple(map(Register, elements)))
        register = Register(name)
        if self._cursor.here.kind == "directive":
            return Selected(register, self._cursor.take().text[1:])
        return register

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

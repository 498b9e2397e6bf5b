"""Parser of variable, parameter and register declarations.

PTX ISA manual, 5.4 "Variables".
"""

from __future__ import annotations

from typing import get_args

from gpuregress.virtual_gpu.ptx.constants import expression, number, offset, starts_constant, whole
from gpuregress.virtual_gpu.ptx.cursor import Cursor
from gpuregress.virtual_gpu.ptx.lexer import PtxError
from gpuregress.virtual_gpu.ptx.tree import Initializer, MaskedSymbol, RegisterDeclaration, Space, Symbol, Variable
from gpuregress.virtual_gpu.ptx.types import is_type, size

LINKAGE = (".extern", ".visible", ".weak", ".common")
_SPACES: frozenset[str] = frozenset(get_args(Space))

_MOST_REGISTERS = 1 << 20


def is_space(text: str) -> bool:
    """Whether a directive names a state space."""
    return text[1:] in _SPACES


def variable(cursor: Cursor, linkage: str = "") -> tuple[Variable, ...]:
    """Parse `.shared .align 4 .b8 name[16] = {…}`; several names may follow, separated by commas."""
    first = cursor.take()
    if not is_space(first.text):
        raise PtxError(f"expected a state space, found {first.text!r}", first.line)
    space: Space = first.text[1:]  # type: ignore[assignment]  # is_space has just checked it
    alignment, lanes, type_name, pointer = _attributes(cursor)
    natural = size(type_name) * lanes
    variables = [_named(cursor, space, type_name, lanes, alignment or natural, linkage, pointer)]
    while space != "param" and cursor.accept(","):
        variables.append(_named(cursor, space, type_name, lanes, alignment or natural, linkage, pointer))
    return tuple(variables)


def _attributes(cursor: Cursor) -> tuple[int, int, str, str | None]:
    alignment, lanes, type_name, pointer = 0, 1, "", None
    while cursor.here.kind == "directive":
        text = cursor.take().text[1:]
        if text == "align":
            given = whole(cursor, "an alignment")
            if given <= 0 or given & (given - 1):
                raise PtxError(f"the alignment {given} is not a power of two", cursor.here.line)
            alignment = given if pointer is None else alignment  # behind `.ptr`: of what it points to
        elif text == "attribute":
            while cursor.take().text != ")":
                pass
        elif text == "ptr":
            pointer = cursor.take().text[1:] if is_space(cursor.here.text) else "generic"
        elif text in ("v2", "v4", "v8"):
            lanes = int(text[1:])
        elif text != "unified":
            type_name = text
    _check_type(cursor, type_name)
    return alignment, lanes, type_name, pointer


def _check_type(cursor: Cursor, type_name: str) -> None:
    if not is_type(type_name):
        raise PtxError(f"{'.' + type_name!r} is not a type", cursor.here.line)


def _named(
    cursor: Cursor, space: Space, type_name: str, lanes: int, alignment: int, linkage: str, pointer: str | None
) -> Variable:
    name = cursor.word("a variable's name")
    count = _dimensions(cursor)
    values: list[Initializer] = []
    if cursor.accept("="):
        _initializer(cursor, values)
    if count is None and values:
        count = len(values)
    total = None if count is None else count * lanes
    return Variable(name, space, type_name, total, alignment, tuple(values), linkage, pointer)


def _dimensions(cursor: Cursor) -> int | None:
    count: int | None = 1
    while cursor.accept("["):
        if cursor.accept("]"):
            count = None
            continue
        size = whole(cursor, "an array's size")
        if size < 0:
            raise PtxError(f"an array of {size} elements", cursor.here.line)
        count = size if count is None else count * size
        cursor.expect("]")
    return count


def _initializer(cursor: Cursor, values: list[Initializer]) -> None:
    if not cursor.accept("{"):
        values.append(_value(cursor))
        return
    while not cursor.accept("}"):
        # Plain numbers at once: some libraries bring tables of 50,000.
        while cursor.here.kind == "number" and cursor.ahead().text == ",":
            values.append(number(cursor.take().text))
            cursor.take()
        if cursor.here.text != "}":
            _initializer(cursor, values)
            cursor.accept(",")


def _value(cursor: Cursor) -> Initializer:
    if cursor.here.kind == "number" and cursor.ahead().text == "(":
        mask = cursor.integer("a mask")
        cursor.expect("(")
        symbol = _symbol(cursor, cursor.word("a symbol"))
        cursor.expect(")")
        return MaskedSymbol(symbol, mask)
    if starts_constant(cursor):
        return expression(cursor)
    token = cursor.take()
    if token.kind == "word":
        return _symbol(cursor, token.text)
    raise PtxError(f"expected a value, found {token.text!r}", token.line)


def _symbol(cursor: Cursor, name: str) -> Symbol:
    if name == "generic":
        cursor.expect("(")
        name = cursor.word("a symbol")
        inner = offset(cursor)
        cursor.expect(")")
        return Symbol(name, inner + offset(cursor))
    return Symbol(name, offset(cursor))


def registers(cursor: Cursor) -> tuple[RegisterDeclaration, ...]:
    """Parse `.reg .b32 %r<6>, %x;` without the semicolon; `%r<6>` declares `%r0` to `%r5`."""
    cursor.expect(".reg")
    _, lanes, type_name, _ = _attributes(cursor)
    declared: list[RegisterDeclaration] = []
    while True:
        name = cursor.word("a register's name")
        if cursor.accept("<"):
            count = cursor.integer("a count of registers")
            if not 0 < count <= _MOST_REGISTERS:
                raise PtxError(f"{count} registers {name}: expected 1 to {_MOST_REGISTERS:,}", cursor.here.line)
            cursor.expect(">")
            declared += [RegisterDeclaration(f"{name}{number_}", type_name, lanes) for number_ in range(count)]
        else:
            declared.append(RegisterDeclaration(name, type_name, lanes))
        if not cursor.accept(","):
            return tuple(declared)


def parameter(cursor: Cursor) -> tuple[Variable, ...]:
    """Parse a parameter or a result of a function: `.param .b32 x`, or a register, `.reg .v2 .u32 x`."""
    if cursor.here.text != ".reg":
        return variable(cursor)
    cursor.expect(".reg")
    _, lanes, type_name, _ = _attributes(cursor)
    return (Variable(cursor.word("a register's name"), "reg", type_name, lanes, size(type_name)),)

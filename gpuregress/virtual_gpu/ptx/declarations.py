"""Parser of declarations of variables and parameters, with the constant expressions in them."""

from __future__ import annotations

import functools
import operator
import struct
from collections.abc import Callable
from typing import Literal, get_args

from gpuregress.virtual_gpu.ptx.lexer import Cursor, PtxError
from gpuregress.virtual_gpu.ptx.modifiers import is_type, size
from gpuregress.virtual_gpu.ptx.tree import (
    Float,
    Initializer,
    Integer,
    MaskedSymbol,
    RegisterDeclaration,
    Space,
    Symbol,
    Variable,
)

# --- constant expressions ---------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def number(text: str, *, negative: bool = False) -> Integer | Float:
    """Parse one number: `12`, `0x1FU`, `017`, `0b101`, `1.5`, `0f3F800000`, `0d3FF0000000000000`."""
    lowered = text.lower()
    if lowered.startswith(("0f", "0d")):
        width: Literal[32, 64] = 32 if lowered.startswith("0f") else 64
        bits = int(text[2:], 16)  # noqa: FURB166 - 0f is no base that int knows
        if negative:
            bits ^= 1 << width - 1
        return Float(bits, width)
    sign = -1 if negative else 1
    if not lowered.startswith("0x") and any(mark in lowered for mark in ".e"):
        return _double(sign * float(text))
    return Integer(sign * _integer(lowered.removesuffix("u")))


def _integer(text: str) -> int:
    if text.startswith(("0x", "0b")):
        return int(text, 0)
    return int(text, 8) if text.startswith("0") and len(text) > 1 else int(text)


# --- expressions ------------------------------------------------------------------------------------------------------

_Number = int | float
_STARTS = frozenset("(-+~!")
_WORD = 1 << 64


def starts_constant(cursor: Cursor) -> bool:
    """Whether a constant expression starts at a cursor: a number, after any signs, parentheses and casts."""
    here = cursor.here
    if here.kind == "number" or here.text not in _STARTS:
        return here.kind == "number" or here.text == "WARP_SZ"
    step = 0
    while cursor.ahead(step).text in _STARTS or (step and cursor.ahead(step).text in (".s64", ".u64", ")")):
        step += 1
    return cursor.ahead(step).kind == "number" or cursor.ahead(step).text == "WARP_SZ"


def expression(cursor: Cursor) -> Integer | Float:
    """Parse a constant expression: `12`, `-0f3F800000`, `(1 << 4) | 3`, `8 * WARP_SZ`, `1 ? 2 : 3`.

    Integers have 64 bits. They are signed, unless they are too large for it, or have a `U` or a cast.

    Raises:
        PtxError: it is not constant, or has no value.
    """
    token = cursor.here
    literal = _literal(cursor)
    if literal is not None:
        return literal
    try:
        value = _ternary(cursor)
        return Integer(value) if isinstance(value, int) else _double(value)
    except (ArithmeticError, TypeError, ValueError, RecursionError) as error:
        raise PtxError(f"the constant expression at {token.text!r} has no value", token.line) from error


def whole(cursor: Cursor, what: str) -> int:
    """Parse a constant expression that is an integer.

    Args:
        cursor: at its first token.
        what: is expected, for the error.

    Raises:
        PtxError: it is none.
    """
    token = cursor.here
    value = expression(cursor) if starts_constant(cursor) else None
    if not isinstance(value, Integer):
        raise PtxError(f"expected {what}, found {token.text!r}", token.line)
    return value.value


def offset(cursor: Cursor) -> int:
    """Parse `+ 8`, `+ -8`, `+ 2 * 4` or `- 8` after a name; 0 where there is none."""
    if cursor.accept("+"):
        return whole(cursor, "an offset")
    return -whole(cursor, "an offset") if cursor.accept("-") else 0


def _literal(cursor: Cursor) -> Integer | Float | None:
    """A number with a sign, which keeps its bits; None where an operator follows, or more stands before."""
    signed = cursor.here.text in ("-", "+")
    token, follower = cursor.ahead(int(signed)), cursor.ahead(1 + int(signed))
    if token.kind != "number" or (follower.kind == "mark" and follower.text not in ",;]})("):
        return None
    negative = cursor.accept("-") or (cursor.accept("+") and False)
    cursor.take()
    return number(token.text, negative=negative)


def _ternary(cursor: Cursor) -> _Number:
    condition = _binary(cursor, 0)
    if not cursor.accept("?"):
        return condition
    first = _ternary(cursor)
    cursor.expect(":")
    second = _ternary(cursor)
    return first if condition else second


def _binary(cursor: Cursor, level: int) -> _Number:
    if level == len(_OPERATORS):
        return _unary(cursor)
    value = _binary(cursor, level + 1)
    while (symbol := _operator(cursor)) in _OPERATORS[level]:
        for _ in symbol:
            cursor.take()
        value = _wrapped(_OPERATORS[level][symbol](value, _binary(cursor, level + 1)))
    return value


def _operator(cursor: Cursor) -> str:
    """The operator at a cursor, whose marks are tokens of one character."""
    both = cursor.here.text + cursor.ahead().text
    return both if both in ("||", "&&", "==", "!=", "<=", ">=", "<<", ">>") else cursor.here.text


def _unary(cursor: Cursor) -> _Number:
    token = cursor.take()
    if token.text == "-":
        return _wrapped(-_unary(cursor))
    if token.text == "+":
        return _unary(cursor)
    if token.text == "~":
        return _wrapped(~_whole(_unary(cursor)))
    if token.text == "!":
        return int(not _unary(cursor))
    if token.text == "(":
        if cursor.here.text in (".s64", ".u64"):
            cast = cursor.take().text
            cursor.expect(")")
            whole_value = _whole(_unary(cursor))
            return whole_value % _WORD if cast == ".u64" else _signed(whole_value)
        value = _ternary(cursor)
        cursor.expect(")")
        return value
    if token.text == "WARP_SZ":
        return 32
    if token.kind != "number":
        raise PtxError(f"expected a constant, found {token.text!r}", token.line)
    literal = number(token.text)
    if isinstance(literal, Integer):
        return literal.value
    return literal.value


def _wrapped(value: _Number) -> _Number:
    """A result in 64 bits; one that is too large for a signed integer is an unsigned one."""
    if not isinstance(value, int):
        return value
    if -_WORD // 2 <= value < _WORD:
        return int(value)
    return _signed(value)


def _signed(value: int) -> int:
    value %= _WORD
    return value - _WORD if value >= _WORD // 2 else value


def _whole(value: _Number) -> int:
    if not isinstance(value, int):
        raise TypeError("an operator of integers")
    return value


def _shift(value: _Number) -> int:
    return min(_whole(value), 64)


def _quotient(left: _Number, right: _Number) -> _Number:
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    magnitude = abs(left) // abs(right)
    return magnitude if (left < 0) == (right < 0) else -magnitude


def _rest(left: _Number, right: _Number) -> _Number:
    return _whole(left) - _whole(right) * int(_quotient(_whole(left), _whole(right)))


_OPERATORS: tuple[dict[str, Callable[[_Number, _Number], _Number]], ...] = (
    {"||": lambda left, right: int(bool(left) or bool(right))},
    {"&&": lambda left, right: int(bool(left) and bool(right))},
    {"|": lambda left, right: _whole(left) | _whole(right)},
    {"^": lambda left, right: _whole(left) ^ _whole(right)},
    {"&": lambda left, right: _whole(left) & _whole(right)},
    {"==": operator.eq, "!=": operator.ne},
    {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt},
    {"<<": lambda left, right: _whole(left) << _shift(right), ">>": lambda left, right: _whole(left) >> _shift(right)},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": _quotient, "%": _rest},
)
"""The binary operators, by rising precedence."""


def _double(value: float) -> Float:
    return Float(int.from_bytes(struct.pack("<d", value), "little"), 64)


# --- declarations -----------------------------------------------------------------------------------------------------
# Parser of variable, parameter and register declarations.
#
# PTX ISA manual, 5.4 "Variables".


LINKAGE = (".extern", ".visible", ".weak", ".common")
_SPACES: frozenset[str] = frozenset(get_args(Space))

_MOST_REGISTERS = 1 << 20


def is_space(text: str) -> bool:
    """Whether a directive names a state space."""
    return text[1:] in _SPACES


def variable(cursor: Cursor, linkage: str = "", *, takes_list: bool = True) -> tuple[Variable, ...]:
    """Parse `.shared .align 4 .b8 name[16] = {…}`; several names may follow, separated by commas.

    Args:
        cursor: at the state space.
        linkage: what stands before it.
        takes_list: False where a comma begins the next parameter of a function.
    """
    first = cursor.take()
    if not is_space(first.text):
        raise PtxError(f"expected a state space, found {first.text!r}", first.line)
    space: Space = first.text[1:]  # type: ignore[assignment]  # is_space has just checked it
    alignment, lanes, type_name, pointer = _attributes(cursor)
    natural = size(type_name) * lanes
    variables = [_named(cursor, space, type_name, lanes, alignment or natural, linkage, pointer)]
    while takes_list and cursor.accept(","):
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
            if pointer is None:  # After `.ptr` it is the alignment of what it points to.
                alignment = given
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
    return Variable(
        name=name,
        space=space,
        type=type_name,
        count=total,
        alignment=alignment,
        initializer=tuple(values),
        linkage=linkage,
        pointer=pointer,
    )


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
        return variable(cursor, takes_list=False)
    cursor.expect(".reg")
    _, lanes, type_name, _ = _attributes(cursor)
    return (Variable(cursor.word("a register's name"), "reg", type_name, lanes, size(type_name)),)


def parameter_list(cursor: Cursor) -> tuple[Variable, ...]:
    """Parse the parameters or the results of a function, in parentheses."""
    cursor.expect("(")
    parameters: list[Variable] = []
    while not cursor.accept(")"):
        parameters += parameter(cursor)
        cursor.accept(",")
    return tuple(parameters)

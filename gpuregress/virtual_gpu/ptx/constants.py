"""Parser of numeric literals and constant expressions.

PTX ISA manual, 4.5 "Constants".
"""

from __future__ import annotations

import functools
import operator
import struct
from collections.abc import Callable

from gpuregress.virtual_gpu.ptx.cursor import Cursor
from gpuregress.virtual_gpu.ptx.lexer import PtxError
from gpuregress.virtual_gpu.ptx.tree import Float, Integer


@functools.lru_cache(maxsize=4096)
def number(text: str, *, negative: bool = False) -> Integer | Float:
    """Parse one number: `12`, `0x1FU`, `017`, `0b101`, `1.5`, `0f3F800000`, `0d3FF0000000000000`."""
    lowered = text.lower()
    if lowered.startswith("0f"):
        return Float(int(text[2:], 16) ^ (0x8000_0000 if negative else 0), 32)  # noqa: FURB166 - 0f is no base that int knows
    if lowered.startswith("0d"):
        return Float(int(text[2:], 16) ^ (1 << 63 if negative else 0), 64)  # noqa: FURB166 - 0f is no base that int knows
    if not lowered.startswith("0x") and any(mark in lowered for mark in ".e"):
        value = -float(text) if negative else float(text)
        return Float(int.from_bytes(struct.pack("<d", value), "little"), 64)
    magnitude = _integer(lowered.removesuffix("u"))
    return Integer(-magnitude if negative else magnitude)


def _integer(text: str) -> int:
    if text.startswith(("0x", "0b")):
        return int(text, 0)
    return int(text, 8) if text.startswith("0") and len(text) > 1 else int(text)


# --- expressions ------------------------------------------------------------------------------------------------------

_Number = int | float
_STARTS = frozenset("(-+~!")
_WORD = 1 << 64


def starts_constant(cursor: Cursor) -> bool:
    """Whether a constant expression starts at a cursor: a number, behind any signs, parentheses and casts."""
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
    """Parse `+ 8`, `+ -8`, `+ 2 * 4` or `- 8` behind a name; 0 where there is none."""
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
    code = "f" if literal.width == 32 else "d"
    unpacked: float = struct.unpack(f"<{code}", literal.bits.to_bytes(literal.width // 8, "little"))[0]
    return unpacked


def _wrapped(value: _Number) -> _Number:
    """A result in 64 bits; one that is too large for a signed integer is an unsigned one."""
    if not isinstance(value, int):
        return value
    return int(value) if -_WORD // 2 <= value < _WORD else _signed(value)


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

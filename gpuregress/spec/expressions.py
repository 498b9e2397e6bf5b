"""The small arithmetic that stands wherever a job may hold a number.

Numbers, parameters, `+ - * / // % **`, comparisons, `and or not`, `ceil floor min max sizeof log2`: Python's meaning
and precedence, and nothing else. It is read by a precedence-climbing parser of its own, so that no text reaches `eval`.
Whole numbers stay exact: `ceil(n / tile)` and `ceil(log2(n))` of whole numbers are worked out without rounding.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from gpuregress import dtypes
from gpuregress.document.problems import suggestion

Number = int | float
Names = Mapping[str, Number]

FUNCTIONS = ("ceil", "floor", "min", "max", "sizeof", "log2")
RESERVED = (*FUNCTIONS, "and", "or", "not", "step")
ALLOWED = "numbers, parameters, + - * / // % **, comparisons, and or not, ceil floor min max sizeof log2"
MAX_LENGTH = 1000
MAX_DEPTH = 60
MAX_BITS = 128

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>\*\*|//|<=|>=|==|!=|[-+*/%<>(),]))"
)
_COMPARISONS: dict[str, Callable[[Number, Number], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


class ExpressionError(ValueError):
    """An expression that cannot be read or worked out; the message quotes it and says why."""


class _Wrong(Exception):
    """The reason alone; the expression's text is added where it is known."""


@dataclass(frozen=True, slots=True)
class _Node:
    """An operation, its operands, and the value where it is a literal."""

    kind: str
    parts: tuple[_Node, ...] = ()
    value: Number = 0
    name: str = ""
    signs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that was read.

    Attributes:
        text: as it was written.
        names: the parameters it needs.
    """

    text: str
    names: tuple[str, ...]
    _node: _Node

    def evaluate(self, names: Names) -> Number:
        """Its value.

        Args:
            names: parameter → number.

        Raises:
            ExpressionError: a name that is not there, a division by zero, a number too large.
        """
        try:
            return _value(self._node, names)
        except _Wrong as wrong:
            raise ExpressionError(f"cannot work out {self.text!r}: {wrong}") from None
        except RecursionError:
            raise ExpressionError(f"cannot work out {self.text[:60]!r}: it has too many operations") from None


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """Reads an expression.

    Args:
        text: at most 1000 characters.

    Raises:
        ExpressionError: it is not one.
    """
    try:
        parser = _Parser(text)
        return Expression(text, tuple(dict.fromkeys(parser.names)), parser.node)
    except _Wrong as wrong:
        shown = text if len(text) <= 60 else f"{text[:57]}…"
        raise ExpressionError(f"cannot read {shown!r}: {wrong}; allowed are {ALLOWED}") from None


def evaluate(value: float | str, names: Names) -> Number:
    """A number, or an expression's value.

    Args:
        value: a number, or text.
        names: parameter → number.

    Raises:
        ExpressionError: see `parse` and `Expression.evaluate`.
    """
    return parse(value).evaluate(names) if isinstance(value, str) else value


def evaluate_whole(value: float | str, names: Names) -> int:
    """The same where only a whole number will do.

    Raises:
        ExpressionError: also where the value has a fraction.
    """
    number = evaluate(value, names)
    if isinstance(number, int):
        return int(number)
    if not number.is_integer():
        shown = f"{value!r} is {number!r}" if isinstance(value, str) else f"{number!r}"
        raise ExpressionError(f"{shown}: a whole number is needed (ceil or floor round one)")
    return int(number)


def label(value: float | str) -> str:
    """The expression's text where it is a plain name, as the launch log writes it before the value; "" otherwise."""
    return value.strip() if isinstance(value, str) and re.fullmatch(r"\s*[A-Za-z_]\w*\s*", value) else ""


class _Parser:
    """Precedence climbing, as in Python's grammar: or, and, not, comparisons, sums, products, signs, powers."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_LENGTH:
            raise _Wrong(f"it is longer than {MAX_LENGTH} characters")
        self.names: list[str] = []
        self._tokens = list(_tokens(text))
        self._at = 0
        self._depth = 0
        if not self._tokens:
            raise _Wrong("it is empty")
        self.node = self._either()
        if self._at < len(self._tokens):
            raise _Wrong(f"{self._tokens[self._at][1]!r} is not expected there")

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self, *signs: str) -> str:
        if self._at < len(self._tokens) and self._tokens[self._at][1] in signs:
            self._at += 1
            return self._tokens[self._at - 1][1]
        return ""

    def _need(self, sign: str) -> None:
        if not self._take(sign):
            found = self._peek()
            raise _Wrong(f"{sign!r} is missing before {found!r}" if found else f"{sign!r} is missing at the end")

    def _either(self) -> _Node:
        self._enter()
        node = self._both()
        while self._take("or"):
            node = _Node("or", (node, self._both()))
        self._depth -= 1
        return node

    def _both(self) -> _Node:
        node = self._negated()
        while self._take("and"):
            node = _Node("and", (node, self._negated()))
        return node

    def _negated(self) -> _Node:
        count = 0
        while self._take("not"):
            count += 1
        node = self._comparison()
        for _ in range(min(count, 2 + count % 2)):
            node = _Node("not", (node,))
        return node

    def _comparison(self) -> _Node:
        parts, signs = [self._sum()], []
        while sign := self._take(*_COMPARISONS):
            signs.append(sign)
            parts.append(self._sum())
        return _Node("compare", tuple(parts), signs=tuple(signs)) if signs else parts[0]

    def _sum(self) -> _Node:
        node = self._product()
        while sign := self._take("+", "-"):
            node = _Node(sign, (node, self._product()))
        return node

    def _product(self) -> _Node:
        node = self._signed()
        while sign := self._take("*", "/", "//", "%"):
            node = _Node(sign, (node, self._signed()))
        return node

    def _signed(self) -> _Node:
        sign = self._take("+", "-")
        if not sign:
            return self._power()
        self._enter()
        operand = self._signed()
        self._depth -= 1
        return _Node("negative" if sign == "-" else "positive", (operand,))

    def _power(self) -> _Node:
        base = self._atom()
        if not self._take("**"):
            return base
        self._enter()
        exponent = self._signed()
        self._depth -= 1
        return _Node("**", (base, exponent))

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _Wrong(f"it is nested deeper than {MAX_DEPTH} levels")

    def _atom(self) -> _Node:
        if self._at >= len(self._tokens):
            raise _Wrong("it ends too early")
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "number":
            return _Node("number", value=_literal(text))
        if text == "(":
            node = self._either()
            self._need(")")
            return node
        if kind == "name" and text not in ("and", "or", "not"):
            return self._call(text) if self._peek() == "(" else self._name(text)
        raise _Wrong(f"{text!r} is not expected there")

    def _name(self, name: str) -> _Node:
        if name in FUNCTIONS:
            raise _Wrong(f"{name!r} is a function: write {name}(…)")
        self.names.append(name)
        return _Node("name", name=name)

    def _call(self, name: str) -> _Node:
        if name not in FUNCTIONS:
            raise _Wrong(f"there is no function {name!r}{suggestion(name, FUNCTIONS)}")
        self._need("(")
        if name == "sizeof":
            return self._sizeof()
        parts = [self._either()]
        while self._take(","):
            parts.append(self._either())
        self._need(")")
        if name in ("min", "max"):
            if len(parts) < 2:
                raise _Wrong(f"{name} takes two or more numbers")
        elif len(parts) != 1:
            raise _Wrong(f"{name} takes one number")
        return _Node("call", tuple(parts), name=name)

    def _sizeof(self) -> _Node:
        name = self._peek()
        self._at += 1
        self._need(")")
        try:
            return _Node("number", value=dtypes.parse(name).size)
        except ValueError:
            raise _Wrong(
                f"sizeof takes a dtype, and {name!r} is none{suggestion(name, dtypes.known_names())}"
            ) from None


def _tokens(text: str) -> Iterable[tuple[str, str]]:
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise _Wrong(f"{text[at:].lstrip()[0]!r} is not allowed")
        at = match.end()
        kind = match.lastgroup or ""
        if kind == "number" and at < end and (text[at].isalnum() or text[at] in "_."):
            raise _Wrong(f"{match.group(kind) + text[at]!r} is no number")
        yield kind, match.group(kind)


def _literal(text: str) -> Number:
    plain = text.replace("_", "")
    if plain[:2] in ("0x", "0X"):
        return _checked(int(plain, 16))
    return _checked(int(plain) if plain.isdigit() else float(plain))


def _value(node: _Node, names: Names) -> Number:
    kind = node.kind
    if kind == "number":
        return node.value
    if kind == "name":
        if node.name not in names:
            raise _Wrong(f"there is no parameter {node.name!r}{suggestion(node.name, names)}")
        return names[node.name]
    if kind in ("and", "or"):
        left = _value(node.parts[0], names)
        return left if bool(left) == (kind == "or") else _value(node.parts[1], names)
    if kind == "compare":
        return _compare(node, names)
    if kind == "call" and node.name in ("ceil", "floor"):
        return _rounded(node, names)
    values = [_value(part, names) for part in node.parts]
    return _checked(_OPERATIONS[node.name if kind == "call" else kind](*values))


def _compare(node: _Node, names: Names) -> bool:
    left = _value(node.parts[0], names)
    for sign, part in zip(node.signs, node.parts[1:], strict=True):
        right = _value(part, names)
        if not _COMPARISONS[sign](left, right):
            return False
        left = right
    return True


def _rounded(node: _Node, names: Names) -> int:
    """Rounds up or down, without an error from the division or logarithm inside where that is of whole numbers."""
    inner, up = node.parts[0], node.name == "ceil"
    if inner.kind == "/":
        top, bottom = (_value(part, names) for part in inner.parts)
        if isinstance(top, int) and isinstance(bottom, int) and bottom:
            return -(-top // bottom) if up else top // bottom
    if inner.kind == "call" and inner.name == "log2":
        number = _value(inner.parts[0], names)
        if isinstance(number, int) and number > 0:
            return (number - 1).bit_length() if up else number.bit_length() - 1
    value = _value(inner, names)
    return _whole(math.ceil(value) if up else math.floor(value))


def _whole(value: int) -> int:
    if value.bit_length() > MAX_BITS:
        raise _Wrong(f"a number in it is larger than 2**{MAX_BITS}")
    return value


def _checked(value: Number) -> Number:
    if isinstance(value, int):
        return _whole(value)
    if not isinstance(value, float):
        raise _Wrong("it takes a root of a negative number")
    if not math.isfinite(value):
        raise _Wrong("a number in it is too large")
    return value


def _divided(operation: Callable[[Number, Number], Number]) -> Callable[[Number, Number], Number]:
    def apply(left: Number, right: Number) -> Number:
        if right == 0:
            raise _Wrong("it divides by zero")
        return _arithmetic(operation)(left, right)

    return apply


def _arithmetic(operation: Callable[[Number, Number], Number]) -> Callable[[Number, Number], Number]:
    def apply(left: Number, right: Number) -> Number:
        try:
            return operation(left, right)
        except OverflowError:
            raise _Wrong("a number in it is too large") from None

    return apply


def _power(base: Number, exponent: Number) -> Number:
    if base == 0 and exponent < 0:
        raise _Wrong("it divides by zero")
    if isinstance(base, int) and isinstance(exponent, int):
        if abs(base) > 1 and (abs(base).bit_length() - 1) * exponent > MAX_BITS:
            raise _Wrong(f"a number in it is larger than 2**{MAX_BITS}")
        if abs(base) <= 1 and exponent >= 0:
            return int(base ** (exponent % 2 if base < 0 else min(exponent, 1)))
    result: Number = _arithmetic(operator.pow)(base, exponent)
    return result


def _log2(value: Number) -> Number:
    if value <= 0:
        raise _Wrong("it takes the logarithm of a number that is not above 0")
    if isinstance(value, int) and value & (value - 1) == 0:
        return value.bit_length() - 1
    return math.log2(value)


_OPERATIONS: dict[str, Callable[..., Number]] = {
    "+": _arithmetic(operator.add),
    "-": _arithmetic(operator.sub),
    "*": _arithmetic(operator.mul),
    "/": _divided(operator.truediv),
    "//": _divided(operator.floordiv),
    "%": _divided(operator.mod),
    "**": _power,
    "negative": operator.neg,
    "positive": operator.pos,
    "not": operator.not_,
    "min": min,
    "max": max,
    "log2": _log2,
}

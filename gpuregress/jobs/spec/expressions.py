"""Parser and evaluator of the arithmetic expressions in a job file.

Numbers, parameters, `true false`, text in quotes, `+ - * / // % **`, comparisons, `and or not`,
`ceil floor min max sizeof log2`: Python's meaning and precedence, and nothing else. Text is compared by `==` and `!=`
only. Each token is checked and rewritten first: a parameter gets a prefix, so that it may be called `lambda`.
`ast.parse` then builds the tree, and a walk over its nodes gives the value; no text reaches `eval`. Integers stay
exact: `ceil(n / tile)` and `ceil(log2(n))` of integers do not round.
"""

from __future__ import annotations

import ast
import itertools
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from gpuregress.foundation import dtypes
from gpuregress.foundation.wording import suggestion
from gpuregress.gpu.records import Record
from gpuregress.toolchain import cxx_types

Number = int | float
Value = int | float | str
"""The value of a parameter; a boolean is a bool, which is an int."""
Parameters = Mapping[str, Value]

FUNCTIONS = ("ceil", "floor", "min", "max", "sizeof", "log2")
RESERVED = (*FUNCTIONS, "and", "or", "not", "step", "true", "false")
ALLOWED = (
    'numbers, parameters, + - * / // % **, comparisons, and or not, ceil floor min max sizeof log2, true, false, "text"'
)
MAX_LENGTH = 1000
MAX_DEPTH = 60
MAX_BITS = 128
_EXACT = 2**53
"""Up to it, a float64 holds every whole number."""

_PREFIX = "p_"
_WORDS = ("and", "or", "not")
_LITERALS = {"true": "True", "false": "False"}
_TOO_DEEP = f"it is nested deeper than {MAX_DEPTH} levels"
_DATE = re.compile(r"[0-9]{4}-(?:0[1-9]|(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:0[xX][0-9a-fA-F]+|(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?))(?P<junk>[\w.]*)"
    r"|(?P<size>sizeof\s*\(\s*(?P<dtype>\w*)\s*\))"
    r"|(?P<quoted>\"[^\"\\]*\"|'[^'\\]*')"
    r"|(?P<call>[A-Za-z_][A-Za-z0-9_]*)(?=\s*\()"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>\*\*|//|<=|>=|==|!=|[-+*/%<>(),]))"
)


class ExpressionError(ValueError):
    """An expression that is malformed or has no value; the message quotes it and says why."""


class _Invalid(Exception):
    """The reason alone; the expression's text is added where it is known."""


class _Token(NamedTuple):
    """A token.

    Attributes:
        kind: `operand`, `call` (a function's name), `word` (and, or, not) or `sign`.
        text: as it was written.
        python: the same in Python's grammar.
        column: in the expression, counted from 1.
        name: the parameter that it needs, "" if none.
    """

    kind: str
    text: str
    python: str
    column: int
    name: str = ""


class Expression(Record):
    """A parsed expression.

    Attributes:
        text: as it was written.
        names: the parameters that it needs.
    """

    text: str
    names: tuple[str, ...]
    _tree: ast.expr

    def evaluate(self, names: Parameters) -> Value:
        """Compute the value.

        Args:
            names: parameter → value.

        Raises:
            ExpressionError: an unknown name, a division by zero, a number too large, text where a number is needed.
        """
        try:
            return _whole_quotient(self._tree, names) or _value(self._tree, names)
        except _Invalid as reason:
            raise ExpressionError(f"cannot evaluate {self.text!r}: {reason}") from None
        except RecursionError:
            raise ExpressionError(f"cannot evaluate {self.text[:60]!r}: it has too many operations") from None


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """Parse an expression.

    Args:
        text: at most 1000 characters.

    Raises:
        ExpressionError: it is not one.
    """
    try:
        tokens = list(_tokens(text))
        names = dict.fromkeys(token.name for token in tokens if token.name)
        return Expression(text, tuple(names), _tree(tokens))
    except RecursionError:
        raise ExpressionError(f"invalid expression {text[:60]!r}: it has too many operations") from None
    except _Invalid as reason:
        shown = text if len(text) <= 60 else f"{text[:57]}…"
        raise ExpressionError(f"invalid expression {shown!r}: {reason}; allowed are {ALLOWED}") from None


def names_in(text: str) -> tuple[str, ...]:
    """Return the parameters of an expression; () for other text."""
    try:
        return parse(text).names
    except ExpressionError:
        return ()


def evaluate_any(value: float | str, names: Parameters) -> Value:
    """Evaluate a number or an expression, whose value may be text.

    Args:
        value: a number, or an expression.
        names: parameter → value.

    Raises:
        ExpressionError: see `parse` and `Expression.evaluate`.
    """
    return parse(value).evaluate(names) if isinstance(value, str) else value


def evaluate(value: float | str, names: Parameters) -> Number:
    """Evaluate a number or an expression to a number.

    Args:
        value: a number, or an expression.
        names: parameter → value.

    Raises:
        ExpressionError: also where the value is text.
    """
    result = evaluate_any(value, names)
    if isinstance(result, str):
        raise ExpressionError(f"cannot evaluate {value!r}: it is the text {result!r}; expected a number")
    return result


def evaluate_whole(value: float | str, names: Parameters) -> int:
    """Evaluate an expression whose value must be an integer.

    Raises:
        ExpressionError: also where the value has a fraction.
    """
    number = evaluate(value, names)
    if isinstance(number, int):
        return int(number)
    if not number.is_integer():
        shown = f"{value!r} is {number!r}" if isinstance(value, str) else f"{number!r}"
        raise ExpressionError(f"{shown}: expected a whole number (ceil and floor round)")
    return int(number)


def label(value: float | str) -> str:
    """Return the text of an expression that is a plain name, as the launch log writes it; "" for others."""
    if isinstance(value, str) and re.fullmatch(r"\s*[A-Za-z_]\w*\s*", value):
        return value.strip()
    return ""


# --- parsing ----------------------------------------------------------------------------------------------------------


def _tokens(text: str) -> Iterator[_Token]:
    if len(text) > MAX_LENGTH:
        raise _Invalid(f"it is longer than {MAX_LENGTH} characters")
    end = len(text.rstrip())
    if not end:
        raise _Invalid("it is empty")
    if _DATE.fullmatch(text.strip()):
        raise _Invalid("it is a date; a difference has spaces around its signs")
    position = 0
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            rest = text[position:].lstrip()
            raise _Invalid(f"unexpected {rest[0]!r} at column {len(text) - len(rest) + 1}")
        yield _token(match)
        position = match.end()


def _token(match: re.Match[str]) -> _Token:
    """Check a token, and write it in Python's grammar."""
    form = "number" if match.lastgroup == "junk" else str(match.lastgroup)
    text = match[form]
    kind = "operand"
    name = ""
    if form == "number":
        if match["junk"]:
            raise _Invalid(f"invalid number {text + match['junk']!r}")
        python = repr(_literal(text.replace("_", "")))
    elif form == "quoted":
        python = repr(text[1:-1])
    elif form == "size":
        python = _size_of(match["dtype"])
        if python == f"sizeof({_PREFIX}{match['dtype']})":
            name = match["dtype"]
    elif form == "sign":
        kind, python = "sign", text
    elif text in _WORDS:
        kind, python = "word", text
    elif form == "call" and text not in FUNCTIONS:
        raise _Invalid(f"unknown function {text!r}{suggestion(text, FUNCTIONS)}")
    elif form == "call":
        if text == "sizeof":  # which is a number, or has no dtype's name between its parentheses
            raise _Invalid("sizeof takes a dtype")
        kind, python = "call", text
    elif text in FUNCTIONS:
        raise _Invalid(f"{text!r} is a function: write {text}(…)")
    elif text in _LITERALS:
        python = _LITERALS[text]
    else:
        python = _PREFIX + text
        name = text
    return _Token(kind, text, python, match.start(form) + 1, name)


def _literal(text: str) -> Number:
    if text[:2] in ("0x", "0X"):
        return _checked(int(text, 16))
    return _checked(int(text) if text.isdigit() else float(text))


def _size_of(name: str) -> str:
    """The bytes of a type, or a call for a parameter whose value is one."""
    known = cxx_types.dtype_of(name)
    if known is not None:
        return str(dtypes.parse(known).size)
    if re.fullmatch(r"[A-Za-z_]\w*", name) and name not in RESERVED:
        return f"sizeof({_PREFIX}{name})"
    raise _Invalid(f"sizeof takes a dtype, and {name!r} is not one")


def _parameter_size(name: str, names: Parameters) -> int:
    if name not in names:
        hint = suggestion(name, dtypes.known_names())
        raise _Invalid(f"sizeof takes a dtype, and {name!r} is not one{hint}")
    known = cxx_types.dtype_of(str(names[name]))
    if known is None:
        raise _Invalid(f"sizeof takes a dtype or a C++ type, and {name} is {names[name]!r}")
    return dtypes.parse(known).size


def _tree(tokens: list[_Token]) -> ast.expr:
    levels = list(itertools.accumulate((token.text == "(") - (token.text == ")") for token in tokens))
    if max(levels) > MAX_DEPTH:
        raise _Invalid(_TOO_DEEP)
    for left, right in itertools.pairwise(tokens):
        if left.kind == "operand" or left.text == ")":
            is_wrong = right.kind in ("operand", "call") or right.text == "("
        else:  # what Python's calls take besides operands: *, ** and a comma at the end
            is_wrong = left.text in ("(", ",") and right.kind == "sign" and right.text not in "+-("
        if is_wrong:
            raise _unexpected(right)
    try:
        tree = ast.parse(" ".join(token.python for token in tokens), mode="eval").body
    except SyntaxError as error:
        if levels[-1] > 0:
            raise _Invalid("')' is missing at the end") from None
        end = 0
        for token in tokens:
            end += len(token.python) + 1
            if 0 < (error.offset or 0) <= end:
                raise _unexpected(token) from None
        raise _Invalid("unexpected end") from None
    except MemoryError:  # of Python's parser, which has a stack of its own
        raise _Invalid(_TOO_DEEP) from None
    _check(tree)
    return tree


def _unexpected(token: _Token) -> _Invalid:
    return _Invalid(f"unexpected {token.text!r} at column {token.column}")


def _check(tree: ast.expr) -> None:
    """Refuse deep nesting, tuples, and calls with a wrong number of arguments."""
    pending: list[tuple[ast.expr, int]] = [(tree, 1)]
    while pending:
        node, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise _Invalid(_TOO_DEEP)
        if isinstance(node, ast.Tuple):
            raise _Invalid("a comma separates a function's arguments only")
        # A chain of operations leans to the left, and is as deep as it is long: that is no nesting.
        if isinstance(node, ast.BinOp):
            pending += [(node.left, depth), (node.right, depth + 1)]
        elif isinstance(node, ast.UnaryOp):
            pending.append((node.operand, depth + 1))
        elif isinstance(node, ast.Compare):
            pending += [(part, depth) for part in (node.left, *node.comparators)]
        elif isinstance(node, ast.BoolOp):
            pending += [(part, depth) for part in node.values]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name, count = node.func.id, len(node.args)
            if name in ("min", "max") and count < 2:
                raise _Invalid(f"{name} takes two or more numbers")
            if name not in ("min", "max") and count != 1:
                raise _Invalid(f"{name} takes one number")
            pending += [(argument, depth + 1) for argument in node.args]


# --- evaluation -------------------------------------------------------------------------------------------------------


def _value(node: ast.expr, names: Parameters) -> Value:
    match node:
        case ast.Name(id=name):
            name = name.removeprefix(_PREFIX)
            if name not in names:
                raise _Invalid(f"unknown parameter {name!r}{suggestion(name, names)}")
            return names[name]
        case ast.Constant(value=int() | float() | str() as constant):
            return constant
        case ast.BinOp(left=left, op=op, right=right):
            return _applied(type(op), _number(left, names), _number(right, names))
        case ast.Call(func=ast.Name(id="ceil" | "floor" as name), args=[argument]):
            return _rounded(argument, names, up=name == "ceil")
        case ast.Call(func=ast.Name(id="sizeof"), args=[ast.Name(id=name)]):
            return _parameter_size(name.removeprefix(_PREFIX), names)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _applied(name, *[_number(argument, names) for argument in arguments])
        case ast.UnaryOp(op=op, operand=operand):
            return _applied(type(op), _number(operand, names))
        case ast.Compare():
            return _compared(node, names)
        case ast.BoolOp(op=op, values=values):
            for part in values:
                result = _number(part, names)
                if bool(result) == isinstance(op, ast.Or):
                    break
            return result
    raise AssertionError(ast.dump(node))


def _whole_quotient(node: ast.expr, names: Parameters) -> int | None:
    """The quotient of two whole numbers that a float cannot hold, where it is whole; None for all else."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return None
    top, bottom = _value(node.left, names), _value(node.right, names)
    if isinstance(top, int) and isinstance(bottom, int) and bottom and top % bottom == 0:
        return top // bottom if abs(top // bottom) > _EXACT else None
    return None


def _number(node: ast.expr, names: Parameters) -> Number:
    return _as_number(node, _value(node, names))


def _as_number(node: ast.expr, value: Value) -> Number:
    if not isinstance(value, str):
        return value
    text = f"{value!r} is text"
    if isinstance(node, ast.Name):
        text = f"{node.id.removeprefix(_PREFIX)} is {value!r}, which is text"
    raise _Invalid(f"{text}: text can only be compared, by == and !=")


def _compared(node: ast.Compare, names: Parameters) -> bool:
    """Evaluate a chain of comparisons; operands after one that fails are not evaluated."""
    first, left = node.left, _value(node.left, names)
    for sign, second in zip(node.ops, node.comparators, strict=True):
        if isinstance(sign, ast.Eq | ast.NotEq):
            right = _compared_side(second, left, names)
            holds = _are_equal(left, right) == isinstance(sign, ast.Eq)
        else:
            right = _value(second, names)
            holds = bool(_OPERATIONS[type(sign)](_as_number(first, left), _as_number(second, right)))
        if not holds:
            return False
        first, left = second, right
    return True


def _compared_side(node: ast.expr, other: Value, names: Parameters) -> Value:
    """Evaluate the right side of == or !=; a word that is no parameter is text without its quotes."""
    if isinstance(node, ast.Name) and isinstance(other, str) and node.id.removeprefix(_PREFIX) not in names:
        word = node.id.removeprefix(_PREFIX)
        raise _Invalid(f'unknown parameter {word!r}; text is written in quotes: "{word}"')
    return _value(node, names)


def _are_equal(left: Value, right: Value) -> bool:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, bool) and isinstance(other, str) and other.lower() in _LITERALS:
            raise _Invalid(f"{other!r} is text, and it is compared with true or false: leave out the quotes")
    return left == right


def _applied(operation: type[ast.AST] | str, *values: Number) -> Number:
    try:
        return _checked(_OPERATIONS[operation](*values))
    except ZeroDivisionError:
        raise _Invalid("division by zero") from None
    except OverflowError:
        raise _Invalid("it exceeds the range of float64") from None


def _rounded(argument: ast.expr, names: Parameters, *, up: bool) -> int:
    """Round up or down; exact for the quotient of two integers and for the logarithm of one."""
    match argument:
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            top, bottom = _number(left, names), _number(right, names)
            if isinstance(top, int) and isinstance(bottom, int) and bottom:
                return -(-top // bottom) if up else top // bottom
            value = _applied(ast.Div, top, bottom)
        case ast.Call(func=ast.Name(id="log2"), args=[inner]):
            number = _number(inner, names)
            if isinstance(number, int) and number > 0:
                return (number - 1).bit_length() if up else number.bit_length() - 1
            value = _applied("log2", number)
        case _:
            value = _number(argument, names)
    return int(_checked(math.ceil(value) if up else math.floor(value)))


def _checked(value: Number) -> Number:
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise _Invalid(f"it exceeds 2**{MAX_BITS}")
        return value
    if not isinstance(value, float):
        raise _Invalid("root of a negative number")
    if not math.isfinite(value):
        raise _Invalid("it exceeds the range of float64")
    return value


def _power(base: Number, exponent: Number) -> Number:
    is_integer = isinstance(base, int) and isinstance(exponent, int)
    if is_integer and (abs(int(base)).bit_length() - 1) * exponent > MAX_BITS:
        raise _Invalid(f"it exceeds 2**{MAX_BITS}")
    result: Number = base**exponent
    return result


def _log2(value: Number) -> Number:
    if value <= 0:
        raise _Invalid("logarithm of a number that is not positive")
    if isinstance(value, int) and value & (value - 1) == 0:
        return value.bit_length() - 1
    return math.log2(value)


_OPERATIONS: dict[type[ast.AST] | str, Callable[..., Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    "min": min,
    "max": max,
    "log2": _log2,
}

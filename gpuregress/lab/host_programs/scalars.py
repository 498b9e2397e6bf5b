"""Symbolic arithmetic of host code: numbers with the formula that they come from.

A leaf is a constant, a named integer of the source, or an unknown value with a guess. Formulas are written in the
language of a job's expressions: `(n + 255) / 256` of integers is `ceil(n / 256)`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator

from gpuregress.gpu.records import Record

Number = int | float

COMMAND_LINE = "argc"
"""Name of a value that depends on the command line: a program runs as without arguments."""

_LEAVES = ("number", "name", "loop", "random")
_RANK = {"+": 1, "-": 1, "*": 2, "//": 2, "/": 2, "%": 2}
_COMPARISONS: dict[str, Callable[[Number, Number], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_BITS: dict[str, Callable[[int, int], int]] = {"&": operator.and_, "|": operator.or_, "^": operator.xor}
_FUNCTIONS: dict[str, Callable[..., Number]] = {
    "ceil": math.ceil,
    "floor": math.floor,
    "min": min,
    "max": max,
    "sqrt": math.sqrt,
    "pow": math.pow,
    "abs": abs,
    "exp2": math.exp2,
}
_LARGEST_SHIFT = 63
_MOST_BITS = 128
_MOST_TERMS = 200


class HostScalar(Record):
    """A number of host code.

    Attributes:
        op: `number`, `name`, `loop` (the first value of a loop's variable), `random`, or an operation.
        number: its value; that of an unknown one is a guess.
        operands: of an operation.
        name: of a `name`.
        is_known: whether no guess is part of it.
        where: of a `name`, its place in the source.
        high: the other end of the range of what is random; `number` is its value for the smallest random number.
        terms: how many numbers and names are in its formula.
    """

    op: str
    number: Number
    operands: tuple[HostScalar, ...] = ()
    name: str = ""
    is_known: bool = True
    where: str = ""
    high: Number | None = None
    terms: int = 1

    @property
    def is_integer(self) -> bool:
        """Whether C++ gives it an integer type."""
        return isinstance(self.number, int)

    @property
    def top(self) -> Number:
        """Its value for the largest random number."""
        if self.high is None:
            return self.number
        return self.high


def constant(number: Number) -> HostScalar:
    """Make a constant."""
    if isinstance(number, bool):
        number = int(number)
    return HostScalar("number", number)


def named(name: str, number: Number, where: str, *, is_known: bool = True) -> HostScalar:
    """Make a named integer of the source, or an unknown value with its guess."""
    return HostScalar("name", number, name=name, is_known=is_known, where=where)


def leaves(value: HostScalar) -> Iterator[HostScalar]:
    """List the names that a value is made of, from left to right."""
    if value.op == "name":
        yield value
    for operand in value.operands:
        yield from leaves(operand)


def depends_on_loop(value: HostScalar) -> bool:
    """Tell whether the variable of a loop is part of a value."""
    return value.op == "loop" or any(depends_on_loop(operand) for operand in value.operands)


def is_told(value: HostScalar) -> bool:
    """Tell whether no guess is part of a value; that the command line has no arguments is none."""
    return value.is_known or all(leaf.is_known or leaf.name == COMMAND_LINE for leaf in leaves(value))


def text(value: HostScalar, label: Callable[[HostScalar], str], rank: int = 0) -> str:
    """Write a value as an expression of a job.

    Args:
        value: what is written.
        label: gives the text of a name.
        rank: the precedence that the expression around it needs.
    """
    if value.op == "name":
        return label(value)
    if value.op in _LEAVES or not value.operands:
        return repr(value.number)
    if value.op == "float":
        return text(value.operands[0], label, rank)
    if value.op in _RANK:
        precedence = _RANK[value.op]
        of_right = precedence if value.op == "+" else precedence + 1  # a - (b - c) needs its brackets
        left, right = value.operands
        written = f"{text(left, label, precedence)} {value.op} {text(right, label, of_right)}"
        return f"({written})" if precedence < rank else written
    if value.op in ("ceil", "floor", "min", "max", "log2"):
        return f"{value.op}({', '.join(text(operand, label) for operand in value.operands)})"
    if value.is_known:
        return repr(value.number)
    return label(guess(value))


def guess(value: HostScalar) -> HostScalar:
    """Name a value that has no formula and that depends on a guess."""
    guesses = [leaf for leaf in leaves(value) if not leaf.is_known]
    name = f"of_{guesses[0].name}" if guesses[0].name else "value"
    return named(name, value.number, guesses[0].where, is_known=False)


def binary(op: str, left: HostScalar, right: HostScalar) -> HostScalar:
    """Apply a binary operator of C++; what has no value, as a division by zero, is unknown."""
    if op in _COMPARISONS:
        return _operation(op, int(_COMPARISONS[op](left.number, right.number)), left, right)
    if op == "&&":
        return _operation(op, int(bool(left.number and right.number)), left, right)
    if op == "||":
        return _operation(op, int(bool(left.number or right.number)), left, right)
    try:
        return _arithmetic(op, left, right)
    except (ArithmeticError, ValueError, TypeError):
        return named("unknown", 1, "", is_known=False)


def _arithmetic(op: str, left: HostScalar, right: HostScalar) -> HostScalar:
    if op in ("<<", ">>"):
        shift = int(right.number)
        if not 0 <= shift <= _LARGEST_SHIFT:
            raise ValueError
        return _arithmetic("*" if op == "<<" else "/", left, constant(2**shift))
    if op in _BITS:
        return _operation(op, _BITS[op](int(left.number), int(right.number)), left, right)
    are_integers = left.is_integer and right.is_integer
    if op == "/" and are_integers:
        return _divided(left, right)
    if op == "+" and _is_remainder_of(right, left):
        return ceil_of(*left.operands)
    number, high = _ends(op, left, right)
    if left.op == right.op == "number":
        return constant(number)
    if (op in "*/" and right.number == 1 and right.op == "number") or (op in "+-" and _is_zero(right)):
        if are_integers:
            return left
        return to_float(left)
    if (op == "*" and left.op == "number" and left.number == 1) or (op == "+" and _is_zero(left)):
        return right
    if high is not None:
        return HostScalar("random", number, high=high)
    return _operation(op, number, left, right)


def _ends(op: str, left: HostScalar, right: HostScalar) -> tuple[Number, Number | None]:
    """Compute with the smallest and, where something is random, with the largest operands."""
    number = _computed(op, left.number, right.number)
    if left.high is None and right.high is None:
        return number, None
    if op == "%":
        return 0, right.top - 1
    return number, _computed(op, left.top, right.top)


def _computed(op: str, left: Number, right: Number) -> Number:
    if op == "+":
        return left + right
    if op == "-":
        return left - right
    if op == "*":
        if isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > _MOST_BITS:
            raise OverflowError
        return left * right
    if op == "/":
        return left / right
    if op == "%":
        return int(math.fmod(left, right))
    raise ValueError(op)


def _divided(left: HostScalar, right: HostScalar) -> HostScalar:
    """Divide integers: `(a + b - 1) / b` rounds up."""
    if right.number == 0:
        raise ZeroDivisionError
    number = abs(int(left.number)) // abs(int(right.number))  # C++ divides towards zero
    if (left.number < 0) != (right.number < 0):
        number = -number
    if left.high is not None:
        return HostScalar("random", number, (left, right), high=int(left.high) // int(right.number))
    if left.op == right.op == "number":
        return constant(number)
    if right.op == "number" and right.number == 1:
        return left
    rounded = _rounded_up(left, right)
    if rounded is not None:
        return ceil_of(rounded, right)
    factor = _without_factor(left, right)
    if factor is not None:
        return factor
    return _operation("//", number, left, right)


def _is_remainder_of(value: HostScalar, quotient_: HostScalar) -> bool:
    """Tell whether a value is `a % b > 0` or `a % b != 0` for a quotient `a / b`, which it rounds up."""
    if quotient_.op != "//" or value.op not in (">", "!="):
        return False
    remainder, zero = value.operands
    return remainder.op == "%" and remainder.operands == quotient_.operands and _is_zero(zero)


def _without_factor(left: HostScalar, right: HostScalar) -> HostScalar | None:
    """`a` of `a * b / b`."""
    if left.op == "*" and right in left.operands:
        first, second = left.operands
        return first if second == right else second
    return None


def ceil_of(left: HostScalar, right: HostScalar) -> HostScalar:
    """Make `ceil(left / right)` of integers."""
    number = -(-int(left.number) // int(right.number))
    ratio = _operation("/", left.number / right.number, left, right)
    return _operation("ceil", number, ratio)


def _rounded_up(left: HostScalar, right: HostScalar) -> HostScalar | None:
    """`a` of `a + b - 1`, in any order, for the divisor `b`."""
    terms: list[tuple[int, HostScalar]] = []
    _add_terms(left, 1, terms)
    number = sum(sign * int(term.number) for sign, term in terms if term.op == "number")
    others = [(sign, term) for sign, term in terms if term.op != "number"]
    if right.op != "number" and (1, right) in others and number == -1:
        others.remove((1, right))
    elif right.op != "number" or number != right.number - 1 or number <= 0:
        return None
    if not others or any(sign < 0 for sign, _ in others):
        return None
    total = others[0][1]
    for _, term in others[1:]:
        total = binary("+", total, term)
    return total


def _add_terms(value: HostScalar, sign: int, terms: list[tuple[int, HostScalar]]) -> None:
    if value.op in ("+", "-") and value.operands:
        _add_terms(value.operands[0], sign, terms)
        _add_terms(value.operands[1], sign if value.op == "+" else -sign, terms)
    else:
        terms.append((sign, value))


def unary(op: str, value: HostScalar) -> HostScalar:
    """Apply `-`, `+`, `!` or `~`."""
    if op == "-":
        if value.op == "number":
            return constant(-value.number)
        return binary("-", constant(0), value)
    if op == "!":
        return _operation("!", int(not value.number), value)
    if op == "~":
        return _operation("~", ~int(value.number), value)
    return value


def called(function: str, arguments: tuple[HostScalar, ...]) -> HostScalar:
    """Apply `ceil`, `floor`, `min`, `max`, `log2`, `sqrt`, `pow`, `abs` or `exp2`."""
    numbers = [argument.number for argument in arguments]
    try:
        if function in ("ceil", "floor"):
            (value,) = arguments
            if value.is_integer:
                return value
        if function in ("min", "max"):
            return _folded(function, _FUNCTIONS[function](numbers), *arguments)
        if function == "log2":
            return _folded(function, math.log2(numbers[0]), *arguments)
        return _folded(function, _FUNCTIONS[function](*numbers), *arguments)
    except (ArithmeticError, ValueError, TypeError, KeyError):
        return named("unknown", 1, "", is_known=False)


def to_integer(value: HostScalar) -> HostScalar:
    """Convert to an integer type: towards zero."""
    if value.is_integer:
        return value
    if value.op == "float" and value.operands[0].is_integer:
        return value.operands[0]
    if value.high is not None:
        return HostScalar("random", int(value.number), value.operands, high=int(value.high))
    if math.isinf(value.number) or math.isnan(value.number):
        return value
    return _folded("floor", int(value.number), value)


def to_float(value: HostScalar) -> HostScalar:
    """Convert to a floating-point type."""
    if not value.is_integer:
        return value
    if value.high is not None:
        return HostScalar("random", float(value.number), value.operands, high=float(value.high))
    if value.op == "number":
        return constant(float(value.number))
    return _operation("float", float(value.number), value)


def quotient(value: HostScalar, divisor: int) -> HostScalar:
    """Divide a size in bytes by that of an element, with the factors that they share left out."""
    if divisor == 1:
        return value
    factors: list[HostScalar] = []
    _add_factors(value, factors)
    known = math.prod(int(factor.number) for factor in factors if factor.op == "number")
    shared = math.gcd(known, divisor)
    product = constant(known // shared)
    for factor in factors:
        if factor.op != "number":
            product = binary("*", product, factor)
    if value.op == "+" and shared != divisor:
        first, second = (quotient(operand, divisor) for operand in value.operands)
        if "//" not in (first.op, second.op):
            return binary("+", first, second)
    return binary("/", product, constant(divisor // shared))


def _add_factors(value: HostScalar, factors: list[HostScalar]) -> None:
    if value.op == "*" and value.is_integer:
        for operand in value.operands:
            _add_factors(operand, factors)
    else:
        factors.append(value)


def _is_zero(value: HostScalar) -> bool:
    return value.op == "number" and value.number == 0


def _folded(op: str, number: Number, *operands: HostScalar) -> HostScalar:
    if all(operand.op == "number" for operand in operands):
        return constant(number)
    return _operation(op, number, *operands)


def _operation(op: str, number: Number, *operands: HostScalar) -> HostScalar:
    """Make an operation; a formula that is too long to write is its number, or an unknown value."""
    is_known = all(operand.is_known for operand in operands)
    terms = sum(operand.terms for operand in operands)
    if terms > _MOST_TERMS and is_known:
        return constant(number)
    if terms > _MOST_TERMS:
        return named("unknown", number, "", is_known=False)
    return HostScalar(op, number, operands, is_known=is_known, terms=terms)

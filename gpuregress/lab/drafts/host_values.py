"""Values of the abstract interpretation of a Triton kernel's host code.

They are numbers with their formulas, tensors, functions and unknowns. A number has the value that it takes for the
draft's parameters, and the expression of a job that gives it. A size that the host code does not give becomes a
parameter of the job, which gets the name that the host code unpacks it to.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_MARK = "\x1a{}\x1a"
_MARKS = re.compile("\x1a([0-9]+)\x1a")
_PRODUCT = re.compile(r"[\w.\x1a]+(?: \* [\w.\x1a]+)*")
_SIMPLE = re.compile(r"[\w.\x1a]+|(?:ceil|min|max)\([^()]*\)")


class Number:
    """A number of the host code.

    Args:
        text: its expression, where parameters that still lack a name are marks.
        value: for the draft's parameters.
    """

    def __init__(self, text: str, value: float) -> None:
        self.text = text
        self.value = value

    @property
    def operand(self) -> str:
        """Its expression as an operand, in parentheses where it needs them."""
        return self.text if _SIMPLE.fullmatch(self.text) else f"({self.text})"

    @property
    def is_literal(self) -> bool:
        """Whether no parameter is in it."""
        return not re.search(r"[a-zA-Z_\x1a]", self.text)


class Constant:
    """None, a truth value, a text, or a type of an element."""

    def __init__(self, value: object) -> None:
        self.value = value


class Unknown:
    """What the interpretation does not follow."""


class Dtype:
    """The type of a tensor's elements: `float32`."""

    def __init__(self, name: str) -> None:
        self.name = name


class Group:
    """A tuple or a list."""

    def __init__(self, values: Sequence[Value]) -> None:
        self.values = list(values)


class Tensor:
    """A tensor: a buffer of the job, or another shape of one. Its elements lie without gaps.

    Attributes:
        buffer: what is allocated.
        shape: None: nothing is known.
        is_open: more axes may come to light than `shape` has.
    """

    def __init__(self, buffer: Buffer, shape: Sequence[Number] | None = None) -> None:
        self.buffer = buffer
        self.shape: list[Number] | None = None if shape is None else list(shape)
        self.is_open = False


class Buffer:
    """A buffer of the job.

    Attributes:
        name: of the variable that holds the tensor.
        dtype: of its elements.
        fill: what it begins with; "": the host code allocates it without contents; None: it comes from outside.
        shape: as it is allocated.
    """

    def __init__(self, name: str, dtype: str, fill: str | None) -> None:
        self.name = name
        self.dtype = dtype
        self.fill = fill
        self.tensor = Tensor(self)


class UnknownShape:
    """`x.shape` of a tensor whose axes are not all known."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


class Method:
    """A method of a tensor, or of a module: `torch.empty`."""

    def __init__(self, owner: Value, name: str) -> None:
        self.owner = owner
        self.name = name


class Mapped:
    """What a grid function and a heuristic are given: the launch's parameters."""

    def __init__(self, values: dict[str, Value]) -> None:
        self.values = values


Value = Number | Constant | Unknown | Dtype | Group | Tensor | object


class Sizes:
    """Parameters of the job for the sizes that come from outside."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._values: list[int] = []
        self._is_named: list[bool] = []

    def new(self, name: str, value: int, *, is_named: bool = False) -> Number:
        """Make a parameter; one that is not named takes the name of the first variable that gets its value."""
        self._names.append(name)
        self._values.append(value)
        self._is_named.append(is_named)
        return Number(_MARK.format(len(self._names) - 1), value)

    def rename(self, number: Number, name: str) -> None:
        """Give a parameter without a name of its own the name of a variable."""
        match = _MARKS.fullmatch(number.text)
        if match and name.strip("_") and not self._is_named[int(match[1])]:
            self._names[int(match[1])] = name
            self._is_named[int(match[1])] = True

    def text(self, number: Number) -> str:
        """Write a number with the final names of its parameters."""
        names = self._final()
        return _MARKS.sub(lambda match: names[int(match[1])], number.text)

    def used(self, numbers: Sequence[Number]) -> dict[str, int]:
        """Return the parameters that are in some numbers, with their values."""
        names = self._final()
        positions: set[int] = set()
        for number in numbers:
            positions.update(int(match[1]) for match in _MARKS.finditer(number.text))
        return {names[position]: self._values[position] for position in sorted(positions)}

    def _final(self) -> list[str]:
        final: list[str] = []
        for name in self._names:
            unique = name if re.fullmatch(r"[A-Za-z]\w*", name) else f"size_{name.strip('_')}"
            if unique in ("ceil", "floor", "min", "max", "sizeof", "log2", "step", "true", "false"):
                unique += "_"
            number = 2
            while unique in final:
                unique = f"{name}_{number}"
                number += 1
            final.append(unique)
        return final


def literal(value: float) -> Number:
    """A number of the host code's text."""
    text = repr(value)
    if "." not in text:
        text = text.replace("e", ".0e")  # YAML's numbers have a point
    return Number(text, value)


def product(numbers: Sequence[Number]) -> Number:
    """The product of extents."""
    total = literal(1)
    for number in numbers:
        total = binary("*", total, number)
    return total


def binary(operator: str, left: Number, right: Number) -> Number:
    """Apply `+ - * / // % **`.

    Raises:
        ArithmeticError: it has no value.
    """
    values = left.value, right.value
    results = {
        "+": lambda x, y: x + y,
        "-": lambda x, y: x - y,
        "*": lambda x, y: x * y,
        "/": lambda x, y: x / y,
        "//": lambda x, y: x // y,
        "%": lambda x, y: x % y,
        "**": lambda x, y: x**y,
    }
    value = results[operator](*values)
    if left.is_literal and right.is_literal:
        return literal(value)
    if operator == "*" and left.text == "1":
        return right
    if right.text == {"*": "1", "/": "1", "//": "1", "+": "0", "-": "0"}.get(operator):
        return left
    first = left.text if operator == "*" and _PRODUCT.fullmatch(left.text) else left.operand
    return Number(f"{first} {operator} {right.operand}", value)


def ceil_division(left: Number, right: Number) -> Number:
    """`triton.cdiv`."""
    value = math.ceil(left.value / right.value)
    if left.is_literal and right.is_literal:
        return literal(value)
    if right.text == "1":
        return left
    return Number(f"ceil({left.operand} / {right.operand})", value)


def next_power_of_2(number: Number) -> Number:
    """`triton.next_power_of_2`."""
    value = 1 << (max(1, int(number.value)) - 1).bit_length()
    return literal(value) if number.is_literal else Number(f"2 ** ceil(log2({number.text}))", value)


def extreme(name: str, numbers: Sequence[Number]) -> Number:
    """`min` or `max`."""
    value = (min if name == "min" else max)(number.value for number in numbers)
    if all(number.is_literal for number in numbers):
        return literal(value)
    return Number(f"{name}({', '.join(number.text for number in numbers)})", value)


def truth_of(value: Value) -> bool | None:
    """Tell whether a value is true; None: it is not known."""
    if isinstance(value, Constant):
        return bool(value.value)
    if isinstance(value, Number):
        return bool(value.value)
    if isinstance(value, Group):
        return bool(value.values)
    return None


def arithmetic(op: ast.operator, left: Value, right: Value) -> Value:
    """Calculate with two values; Unknown where one is no number."""
    left, right = truth_as_number(left), truth_as_number(right)
    if type(op) not in _OPERATORS or not isinstance(left, Number) or not isinstance(right, Number):
        return Unknown()
    try:
        return binary(_OPERATORS[type(op)], left, right)
    except ArithmeticError:
        return Unknown()


def truth_as_number(value: Value) -> Value:
    """A truth value as a number; a parameter that is calculated with is a whole number."""
    if isinstance(value, Constant) and isinstance(value.value, bool):
        return literal(int(value.value))
    return value


def comparison(op: ast.cmpop, left: Value, right: Value) -> Value:
    """Compare two values; Unknown where the result is not known."""
    if isinstance(op, ast.Is | ast.IsNot):
        return _identity(isinstance(op, ast.Is), left, right)
    if isinstance(left, Dtype) and isinstance(right, Dtype) and isinstance(op, ast.Eq | ast.NotEq):
        return Constant((left.name == right.name) == isinstance(op, ast.Eq))
    values: list[Any] = []
    for side in (left, right):
        if not isinstance(side, Number | Constant):
            return Unknown()
        values.append(side.value)
    compare: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
        ast.Eq: lambda x, y: x == y,
        ast.NotEq: lambda x, y: x != y,
        ast.Lt: lambda x, y: x < y,
        ast.LtE: lambda x, y: x <= y,
        ast.Gt: lambda x, y: x > y,
        ast.GtE: lambda x, y: x >= y,
    }
    try:
        return Constant(compare[type(op)](*values))
    except (KeyError, TypeError):
        return Unknown()


def _identity(is_same: bool, left: Value, right: Value) -> Value:  # noqa: FBT001 - `is` or `is not`
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Constant) and one.value is None and not isinstance(other, Unknown | Method):
            is_none = isinstance(other, Constant) and other.value is None
            return Constant(is_none == is_same)
        if isinstance(one, Dtype) and isinstance(other, Dtype):
            return Constant((one.name == other.name) == is_same)
    return Unknown()


def logic(is_and: bool, values: Sequence[Value]) -> Value:  # noqa: FBT001 - `and` or `or`
    """Calculate `and` or `or`: the value that decides."""
    is_known = True
    for value in values:
        truth = truth_of(value)
        if truth is None:
            is_known = False
        elif truth != is_and:
            return value
    return values[-1] if is_known else Unknown()

"""Field types of the models: expressions, names, limits, paths; each with its JSON Schema."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

import msgspec

from gpuregress.foundation.document import units
from gpuregress.foundation.document.forms import Reads, Spec, choice, doc
from gpuregress.foundation.document.keys import invalid, show
from gpuregress.jobs.spec import expressions


class Bounds(msgspec.Struct, frozen=True, eq=False):
    """What an expression of a key must be, once it is evaluated; see `whole` and `real`."""

    is_whole: bool
    low: float
    high: float = math.inf
    above: bool = False
    what: str = ""


def whole(low: int, *, what: str = "") -> Bounds:
    """Return the bounds of an integer.

    Args:
        low: the smallest that is right.
        what: what it counts, as `ulp`.
    """
    return Bounds(is_whole=True, low=low, what=what)


def real(low: float, *, above: bool = False, high: float = math.inf) -> Bounds:
    """Return the bounds of a float.

    Args:
        low: the smallest that is right.
        above: whether it is wrong itself.
        high: the largest that is right.
    """
    return Bounds(is_whole=False, low=low, high=high, above=above)


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_PATTERN = re.compile(r"[A-Za-z_*?][A-Za-z0-9_*?]{0,63}")
_MEMBER = re.compile(r"[A-Za-z_]\w*(\[\d+\])*(\.[A-Za-z_]\w*(\[\d+\])*)*", re.ASCII)
_FUNCTION = re.compile(r"(?P<path>[^:]+\.py):(?P<name>(?:[A-Za-z_]|\{[^{}:]+\})(?:\w|\{[^{}:]+\})*)")
_NOT_FINITE = {"nan", "inf", "-inf", "+inf", ".nan", ".inf", "-.inf", "+.inf"}


def _expression(value: Any) -> int | float | str:
    if isinstance(value, bool):
        raise ValueError(f"expected a number or an expression, got {show(value)}")
    if isinstance(value, str):
        expressions.parse(value)
        return value
    if not isinstance(value, int | float):
        raise ValueError(f"expected a number or an expression, got {show(value)}")
    too_long = isinstance(value, int) and abs(value) >= 2**expressions.MAX_BITS
    if too_long or not math.isfinite(value):
        raise ValueError(f"expected a finite number of at most {expressions.MAX_BITS} bits, got {str(value)[:40]}")
    return value


class PlainTextSpec(Spec, frozen=True):
    """Text that is not an expression."""

    text: Annotated[str, doc("taken as it is")]


class PythonSourceSpec(Spec, frozen=True):
    """A Python function that returns PTX."""

    python: str


def _parameter_value(value: Any) -> int | float | str | PlainTextSpec:
    """A number, a constant expression, true, false, or any text."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, dict) and list(value) == ["text"] and isinstance(value["text"], str):
        return PlainTextSpec(text=value["text"])
    if not isinstance(value, int | float):
        raise ValueError(f"expected a number, text, true, false or {{text: …}}, got {show(value)}")
    return _expression(value)


def _literal(value: Any) -> int | float | str | bool:
    """An expression, true, false, or one of nan, inf, -inf."""
    if isinstance(value, bool):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return value
    if isinstance(value, str) and value.strip().lower() in _NOT_FINITE:
        return float(value.strip().lower().replace(".", ""))
    return _expression(value)


def _literals(value: Any) -> Any:
    if isinstance(value, list):
        if not value:
            raise ValueError("expected a value, got an empty list")
        return [_literal(item) for item in value]
    return _literal(value)


def _matching(pattern: re.Pattern[str], what: str, wanted: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ValueError(f"{invalid(what, value)}; expected {wanted}")
        return value

    return read


_name = _matching(_NAME, "name", "a letter or _, then letters, digits and _, at most 64")
_buffer_pattern = _matching(_PATTERN, "buffer", "a name, or a pattern with * and ?, as alloc*")
_member_name = _matching(_MEMBER, "member", "its name in C++, such as count, dims[0] or inner.count")


def _parameter_name(value: Any) -> str:
    if value in expressions.RESERVED:
        raise ValueError(f"reserved name {value!r}: expressions use it; choose another name")
    return _name(value)


def _function(value: Any) -> str:
    if not isinstance(value, str) or not _FUNCTION.fullmatch(value):
        raise ValueError(f"expected path.py:function, such as reference.py:block_sums, got {show(value)}")
    return value


def _constant(value: Any) -> int | float | str | bool | PlainTextSpec | None:
    """A number, an expression, true, false, null, or {text: …}."""
    if value is None:
        return None
    if isinstance(value, dict) and list(value) == ["text"] and isinstance(value["text"], str):
        return PlainTextSpec(text=value["text"])
    if isinstance(value, dict):
        raise ValueError(f"expected a number, an expression, true, false or {{text: …}}, got {show(value)}")
    try:
        return _literal(value)
    except ValueError as error:
        raise ValueError(
            f"{error}; other text is written {{text: {value}}}" if isinstance(value, str) else str(error)
        ) from None


def _source(value: Any) -> str | PythonSourceSpec:
    if isinstance(value, dict):
        if list(value) != ["python"]:
            raise ValueError(f"expected a file, or {{python: build.py:function}}, got {show(value)}")
        return PythonSourceSpec(python=_function(value["python"]))
    return _text(value)


def _row(value: Any) -> str:
    """The number of a row as text: a key of YAML is always text."""
    expressions.parse(str(value))
    return str(value)


def _code(value: Any) -> int:
    """A status code: a key of YAML is always text; hexadecimal is common."""
    try:
        return int(str(value), 0)
    except ValueError:
        raise ValueError(f"expected a whole number as the code, such as 3 or 0x23, got {show(value)}") from None


def _switch(value: Any) -> Any:
    """YAML 1.1 reads `off` as false, so both are taken."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return choice(value, ("on", "off"))


def _text(value: Any) -> str:
    """Text; a number is taken as it would be written."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"expected text, got {show(value)}")
    if "\0" in value:
        raise ValueError("holds a NUL character")
    return value


_EXPRESSION = {
    "type": "string",
    "pattern": r"""^([A-Za-z0-9_+\-*/%<>=!(),.\s]|"[^"]*"|'[^']*')*[A-Za-z0-9_)"'][A-Za-z0-9_+\-*/%<>=!(),.\s]*$""",
}
NUMBER_SCHEMA = {
    "$comment": "expression",
    "anyOf": [{"type": "number"}, _EXPRESSION],
    "description": f"a number or an expression: {expressions.ALLOWED}",
}
NAME_SCHEMA = {"$comment": "name", "type": "string", "pattern": f"^{_NAME.pattern}$"}
LITERAL_SCHEMA: dict[str, Any] = {
    "$comment": "expression, `true`, `false`, `nan` or `inf`",
    "anyOf": [{"type": "number"}, _EXPRESSION, {"type": "boolean"}],
}
FUNCTION_SCHEMA = {"$comment": "`module.py:function`", "type": "string", "pattern": rf"^{_FUNCTION.pattern}$"}
_TEXT_SCHEMA = {"$comment": "text", "anyOf": [{"type": "string", "pattern": r"\S"}, {"type": "number"}]}


TEXT_MAPPING_SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


def _amount_schema(title: str, names: Iterable[str]) -> dict[str, Any]:
    """A number above 0, or one with a unit."""
    pattern = rf"^\s*([0-9]+(\.[0-9]*)?|\.[0-9]+)\s*({'|'.join(names)})\s*$"
    options = [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": pattern}]
    return {"$comment": title, "anyOf": options}


EXPRESSION = Reads(_expression, NUMBER_SCHEMA)
"""The form of an expression, which is evaluated for each case."""
Expr = Annotated[int | float | str, EXPRESSION]
LiteralValue = Annotated[int | float | str | bool, Reads(_literal, LITERAL_SCHEMA)]
LiteralValues = Annotated[
    int | float | str | bool | list[int | float | str | bool],
    Reads(_literals, {"anyOf": [*LITERAL_SCHEMA["anyOf"], {"type": "array", "items": LITERAL_SCHEMA, "minItems": 1}]}),
]
ParameterValue = Annotated[
    int | float | str | bool | PlainTextSpec,
    Reads(
        _parameter_value,
        {
            "$comment": "expression, text, `true`, `false` or `{text: …}`",
            "anyOf": [*({"type": kind} for kind in ("number", "string", "boolean")), TEXT_MAPPING_SCHEMA],
        },
    ),
]
Name = Annotated[str, Reads(_name, NAME_SCHEMA)]
BufferPattern = Annotated[
    str,
    Reads(_buffer_pattern, {"$comment": "name or pattern", "type": "string", "pattern": f"^{_PATTERN.pattern}$"}),
]
MemberName = Annotated[
    str, Reads(_member_name, {"$comment": "member", "type": "string", "pattern": f"^{_MEMBER.pattern}$"})
]
ParameterName = Annotated[str, Reads(_parameter_name, NAME_SCHEMA)]
StatusCode = Annotated[
    int,
    Reads(_code, {"$comment": "whole number", "type": "string", "pattern": r"^[-+]?([0-9]+|0[xX][0-9a-fA-F]+)$"}),
]
RowNumber = Annotated[str, Reads(_row, _EXPRESSION)]
FUNCTION = Reads(_function, FUNCTION_SCHEMA)
"""The form of a Python function, which is looked for when a case is worked out."""
FunctionPath = Annotated[str, FUNCTION]
Seconds = Annotated[float, Reads(units.seconds, _amount_schema("seconds, or a time such as `2min`", units.SECONDS))]
Size = Annotated[int, Reads(units.size, _amount_schema("bytes, or a size such as `4GiB`", units.BYTES))]
Switch = Annotated[Literal["on", "off"], Reads(_switch, {"enum": ["on", "off", True, False]})]
Text = Annotated[str, Reads(_text, _TEXT_SCHEMA)]
_PYTHON_SOURCE_SCHEMA = {
    "type": "object",
    "properties": {"python": FUNCTION_SCHEMA},
    "required": ["python"],
    "additionalProperties": False,
}
SourceText = Annotated[
    str | PythonSourceSpec,
    Reads(
        _source,
        {"$comment": "a file, or `{python: build.py:function}`", "anyOf": [_TEXT_SCHEMA, _PYTHON_SOURCE_SCHEMA]},
    ),
]
Constant = Annotated[
    int | float | str | bool | PlainTextSpec | None,
    Reads(
        _constant,
        {
            "$comment": "expression, `true`, `false`, `null` or `{text: …}`",
            "anyOf": [*LITERAL_SCHEMA["anyOf"], {"type": "null"}, TEXT_MAPPING_SCHEMA],
        },
    ),
]

"""Values of Kernel Tuner's arguments in one configuration: of numbers, expressions and functions.

An expression is that of a job where it can be. Kernel Tuner evaluates Python, so what only Python says is left to
Python.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Mapping
from types import CodeType
from typing import Any

import numpy as np

from gpuregress.foundation.errors import UsageError
from gpuregress.jobs.spec import expressions
from gpuregress.jobs.spec.expressions import Expression, ExpressionError

Configuration = Mapping[str, Any]
_NAMES: dict[str, Any] = {"ceil": math.ceil, "floor": math.floor, "math": math, "np": np, "numpy": np}
"""Names that an expression of Python may use, besides the parameters and Python's own functions."""


def value(what: str, given: Any, configuration: Configuration) -> Any:
    """Return the value of a number, an expression, or a function of the configuration.

    Args:
        what: the argument, for messages.
        given: the number, text or function.
        configuration: parameter → value.

    Raises:
        UsageError: it is an expression that has no value.
    """
    if isinstance(given, str):
        return _evaluated(what, given, configuration)
    return given(dict(configuration)) if callable(given) else given


def whole(what: str, given: Any, configuration: Configuration) -> int:
    """Return a whole number: that of an expression is cut, as Kernel Tuner cuts it.

    Args:
        what: as for `value`.
        given: likewise.
        configuration: likewise.

    Raises:
        UsageError: it has no value, or is no number.
    """
    number = value(what, given, configuration)
    is_number = isinstance(number, int | float | np.integer | np.floating)
    if not is_number or not math.isfinite(number) or (not isinstance(given, str) and number != int(number)):
        raise UsageError(f"{what}: {number!r} is not a whole number{_where(configuration)}")
    return int(number)


def holds(restriction: Any, configuration: Configuration) -> bool:
    """Tell whether a configuration meets a restriction.

    Args:
        restriction: an expression; a function of the configuration, or of its parameters by name; or a pair of a
            function and the names of the parameters that it takes.
        configuration: parameter → value.

    Raises:
        UsageError: it is an expression that has no value.
    """
    if isinstance(restriction, tuple):
        function, names = restriction[:2]
        return bool(function(**{name: configuration[name] for name in names}))
    if callable(restriction) and len(inspect.signature(restriction).parameters) != 1:
        return bool(restriction(**configuration))
    return bool(value("restrictions", restriction, configuration))


def _evaluated(what: str, text: str, configuration: Configuration) -> Any:
    told, own = "", _parsed(text)
    if own is not None:
        try:
            return own.evaluate(configuration)
        except ExpressionError as error:
            told = str(error)
    try:
        return eval(_compiled(text), dict(_NAMES), dict(configuration))  # noqa: S307 - the caller's own Python
    except Exception as error:  # noqa: BLE001 - whatever the caller's text raises
        told = told or f"cannot evaluate {text!r}: {type(error).__name__}: {error}"
        raise UsageError(f"{what}: {told}{_where(configuration)}") from None


@functools.lru_cache(maxsize=256)
def _parsed(text: str) -> Expression | None:
    """The text as an expression of a job; None where it is none."""
    try:
        return expressions.parse(text)
    except ExpressionError:
        return None


@functools.lru_cache(maxsize=256)
def _compiled(text: str) -> CodeType:
    return compile(text.strip(), "<expression>", "eval")


def _where(configuration: Configuration) -> str:
    shown = ", ".join(f"{name}={value}" for name, value in configuration.items())
    return f" (where {shown})" if shown else ""

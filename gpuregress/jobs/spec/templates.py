"""Templates: text with expressions of parameters in braces, as `block_sum<{real}>`.

A number is written as Python does, `true` and `false` as C++ does, and text as it is.
"""

from __future__ import annotations

import difflib
import re

from gpuregress.foundation.wording import value_text
from gpuregress.jobs.spec import expressions
from gpuregress.jobs.spec.expressions import ExpressionError, Parameters

_HOLE = re.compile(r"\{([^{}:]*)\}")
_NEAR = 0.75


def is_template(text: str) -> bool:
    """Tell whether a text has an expression in braces; a record `{id:int32}` has none."""
    return any(expressions.names_in(inner) for inner in _HOLE.findall(text))


def names_in(text: str) -> tuple[str, ...]:
    """Return the parameters of a template."""
    return tuple(dict.fromkeys(name for inner in _HOLE.findall(text) for name in expressions.names_in(inner)))


def fill(text: str, names: Parameters, *, strict: bool) -> str:
    """Replace each expression in braces by its value.

    Args:
        text: the template.
        names: parameter → value.
        strict: whether braces always hold an expression; else those without a parameter stay as they are, for C++
            has braces, too.

    Raises:
        ExpressionError: an expression is wrong, or names no parameter.
    """
    return _HOLE.sub(lambda hole: _filled(hole, names, strict=strict), text)


def _filled(hole: re.Match[str], names: Parameters, *, strict: bool) -> str:
    inner = hole[1]
    if not strict and not any(name in names for name in expressions.names_in(inner)):
        word = inner.strip()
        if word.isidentifier() and difflib.get_close_matches(word, names, 1, _NEAR):
            raise ExpressionError(f"cannot evaluate {inner!r}: unknown parameter {word!r}{_hint(word, names)}")
        return hole[0]
    return value_text(expressions.evaluate_any(inner, names))


def _hint(word: str, names: Parameters) -> str:
    return f"; did you mean {difflib.get_close_matches(word, names, 1, _NEAR)[0]!r}?"

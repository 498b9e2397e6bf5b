"""Keys of a document, and values of it as messages show them."""

from __future__ import annotations

from typing import Any

Key = tuple[str | int, ...]
"""The path to a value: `("buffers", "x", "shape", 0)`."""

MAX_BITS = 128
"""Of a whole number in a document."""

MAX_SHOWN = 60
"""Characters of a name or a value in a message."""


def invalid(what: str, value: Any) -> str:
    """Begin a message about a value: `invalid size '4 apples'`, or `invalid size (a mapping)`."""
    shown = show(value)
    return f"invalid {what} ({shown})" if value is None or isinstance(value, dict | list) else f"invalid {what} {shown}"


def show(value: Any) -> str:
    """Quote a value in a message, shortened."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        return f"a number of {value.bit_length():,} bits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"

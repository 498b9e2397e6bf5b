"""Checks of the arguments of the Python API: errors that name the argument."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gpuregress.foundation.document import units
from gpuregress.foundation.records import Dim3


def whole(what: str, given: Any, least: int) -> int:
    """Return a whole number.

    Args:
        what: the argument's name.
        given: its value.
        least: the smallest number that it may be.

    Raises:
        TypeError: it is no whole number.
        ValueError: it is smaller.
    """
    try:
        number = operator.index(given)
    except TypeError:
        raise TypeError(f"{what} is {given!r}: expected a whole number") from None
    if number < least:
        raise ValueError(f"{what} is {number}: expected at least {least}")
    return number


def seconds(what: str, given: Any) -> float:
    """Return a time limit in seconds; text may have a unit, as `2min`.

    Args:
        what: the argument's name.
        given: its value.

    Raises:
        TypeError: it is neither a number nor text.
        ValueError: it is not above 0, or longer than 30 days.
    """
    if isinstance(given, bool) or not isinstance(given, int | float | str | np.integer | np.floating):
        raise TypeError(f"{what} is {given!r}: expected a number of seconds")
    try:
        return units.seconds(given.item() if isinstance(given, np.generic) else given)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None


def text(what: str, given: Any) -> str:
    """Return a text that is not empty.

    Args:
        what: the argument's name.
        given: its value.

    Raises:
        TypeError: it is no text.
        ValueError: it is empty.
    """
    if not isinstance(given, str):
        raise TypeError(f"{what} is {given!r}: expected text")
    if not given.strip():
        raise ValueError(f"{what} is empty")
    return given


def items(what: str, given: Any, kinds: type | tuple[type, ...]) -> tuple[Any, ...]:
    """Return one or several values as a tuple: a lone one is one value.

    Args:
        what: the argument's name.
        given: a value, or several.
        kinds: the types that a value may have.

    Raises:
        TypeError: a value is of another type.
    """
    if isinstance(given, kinds):
        return (given,)
    listed = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else (given,)
    for one in listed:
        if not isinstance(one, kinds):
            raise TypeError(f"{what} is {given!r}: expected text, or a list of it")
    return listed


def mapping(what: str, given: Any) -> dict[str, Any]:
    """Return a mapping with names as its keys; an empty one for None.

    Args:
        what: the argument's name.
        given: its value.

    Raises:
        TypeError: it is no mapping, or a key is no text.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} is {given!r}: expected a dict, name → value")
    return {text(f"a name in {what}", name): value for name, value in given.items()}


def extents(what: str, given: Any) -> Dim3:
    """Return the extents along x, y, z of a grid, a block or a cluster.

    Args:
        what: the argument's name.
        given: a number, or one to three.

    Raises:
        TypeError: it is no whole number.
        ValueError: it has more than three axes, or an extent below 1.
    """
    listed = tuple(given) if isinstance(given, Sequence | np.ndarray) and np.ndim(given) == 1 else (given,)
    try:
        numbers = tuple(operator.index(number) for number in listed)
    except TypeError:
        raise TypeError(f"{what} is {given!r}: expected one to three whole numbers") from None
    if not 1 <= len(numbers) <= 3 or min(numbers) < 1:
        raise ValueError(f"{what} is {given}: expected one to three numbers of at least 1")
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z

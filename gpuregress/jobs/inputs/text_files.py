"""Numbers of a text file without a dump's header, separated by white space, commas or semicolons.

A line that begins with `#` is a comment, so what `numpy.savetxt` writes can be read. The parts of an element follow
each other.
"""

from __future__ import annotations

import contextlib
import math
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.dtypes import ElementType, Scalar

Array = npt.NDArray[Any]

_EXACT = 2**53
_LARGEST = 2.0**64
_SHOWN = 40
"""Characters of a word that a message shows."""


def read(path: Path, element: ElementType) -> Array:
    """Read a file's numbers: integers as 64-bit integers if they are written so, all else as float64.

    Args:
        path: the file.
        element: of the buffer; its parts tell the number of columns.

    Returns:
        An array with one entry for each element; several parts are the last axis, or the fields of a record.

    Raises:
        ValueError: a word is no number, or the last element lacks a part; the message names the line.
        OSError: the file cannot be read.
    """
    data, parts = path.read_bytes(), element.parts
    words = _words(data)
    if b"_" in data and any(b"_" in word for word in words):  # Python's int reads 1_0 as 10
        raise ValueError(_first_problem(data) or "it holds `_`")
    if len(words) % len(parts):
        raise ValueError(f"it holds {len(words)} numbers, and each {element.name} needs {len(parts)}")
    try:
        columns = [_numbers(words[at :: len(parts)], part.scalar) for at, part in enumerate(parts)]
    except ValueError as error:
        raise ValueError(_first_problem(data) or str(error)) from None
    if len(columns) == 1:
        return columns[0]
    if len({column.dtype for column in columns}) == 1:
        return np.stack(columns, axis=-1)
    names = [part.name for part in parts]
    record = np.zeros(len(columns[0]), [(name, column.dtype) for name, column in zip(names, columns, strict=True)])
    for name, column in zip(names, columns, strict=True):
        record[name] = column
    return record


def count(path: Path) -> int:
    """Count the words of a file.

    Raises:
        OSError: it cannot be read.
    """
    about = path.stat()
    return _count(path, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=64)
def _count(path: Path, _changed_ns: int, _size: int) -> int:
    return len(_words(path.read_bytes()))


def _words(data: bytes) -> list[bytes]:
    if b"#" in data:
        data = b"\n".join(line for line in data.split(b"\n") if not line.lstrip().startswith(b"#"))
    return _without_commas(data).split()


def _without_commas(data: bytes) -> bytes:
    return data.replace(b",", b" ").replace(b";", b" ")


def _numbers(words: list[bytes], scalar: Scalar) -> Array:
    """Convert words; integers that are written with a point or an exponent are floats that must be whole."""
    texts = np.array(words or [], "S1" if not words else None)
    if not scalar.is_float:
        for dtype in (np.int64, np.uint64):
            try:
                return texts.astype(dtype)
            except (ValueError, OverflowError):
                continue
    numbers = texts.astype(np.float64)
    if any(_is_too_large(words[at]) for at in np.flatnonzero(np.isinf(numbers))):
        raise ValueError("a number is too large")
    if not scalar.is_float and len(numbers) and np.abs(numbers).max() >= _EXACT:
        return _whole(words, numbers)
    return numbers


def _whole(words: list[bytes], numbers: Array) -> Array:
    """Convert numbers of which some are written as floats and some are too large to be exact as one."""
    if not np.isfinite(numbers).all() or np.abs(numbers).max() > _LARGEST:
        return numbers  # the buffer refuses them
    exact = [Decimal(word.decode()) for word in words]
    values = [int(number) for number in exact]
    if values != exact:
        wrong = next(word for word, value, number in zip(words, values, exact, strict=True) if value != number)
        raise ValueError(f"{wrong.decode()} is not a whole number")
    for dtype in (np.int64, np.uint64):
        with contextlib.suppress(OverflowError):
            return np.array(values, dtype)
    return numbers


def _is_too_large(word: bytes) -> bool:
    """Tell whether a word that became infinite is not infinity's."""
    return not word.lstrip(b"+-").lower().startswith(b"inf")


def _first_problem(data: bytes) -> str:
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.lstrip().startswith(b"#"):
            continue
        for word in _without_commas(line).split():
            text = word.decode("utf-8", "backslashreplace")[:_SHOWN]
            try:
                value = math.nan if b"_" in word else float(word)
            except ValueError:
                value = math.nan
            if math.isnan(value) and not word.lstrip(b"+-").lower().startswith(b"nan"):
                return f"line {number}: {text!r} is not a number (raw bytes are read from a .bin, arrays from a .npy)"
            if math.isinf(value) and _is_too_large(word):
                return f"line {number}: {text} is too large for a number of 64 bits (infinity is written inf)"
    return ""

"""Numbers of a text file without a dump's header, separated by white space, commas or semicolons.

A line that begins with `#` is a comment, so what `numpy.savetxt` writes can be read. The parts of an element follow
each other.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.dtypes import ElementType, Scalar

Array = npt.NDArray[Any]

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
    if len(words) % len(parts):
        raise ValueError(f"it holds {len(words)} numbers, and each {element.name} needs {len(parts)}")
    try:
        columns = [_numbers(words[at :: len(parts)], part.scalar) for at, part in enumerate(parts)]
    except ValueError:
        raise ValueError(_first_problem(data)) from None
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
    return texts.astype(np.float64)


def _first_problem(data: bytes) -> str:
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.lstrip().startswith(b"#"):
            continue
        for word in _without_commas(line).split():
            try:
                float(word)
            except ValueError:
                text = word.decode("utf-8", "backslashreplace")[:_SHOWN]
                return f"line {number}: {text!r} is no number (raw bytes are read from a .bin, arrays from a .npy)"
    return "its words are no numbers"

"""Two dumps side by side: only the lines that differ are parsed.

Both files are mapped and compared as bytes, block by block. Where they part, the line is noted in both and the walk
goes on after its end, at a new distance between the two: from there the files run in step again. Above `DENSE` lines
that differ, parsing everything is faster, and is what is done.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuregress.dtypes import ElementType
from gpuregress.dump import parse, reader
from gpuregress.dump.grammar import Header
from gpuregress.dump.reader import Mapped, mapped, newlines, wrong_count
from gpuregress.errors import DumpError

DENSE = 0.015
"""The share of lines that differ from which on parsing all is faster (measured; see benchmarks/dump.py)."""

_ENOUGH = 200  # differences, before their share is judged
_SMALL, _LARGE = 1 << 13, 1 << 17  # bytes compared at once: few after a difference, up to what a core's cache holds

Rows = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Differences:
    """The elements of two dumps whose bits differ.

    Attributes:
        count: elements in each dump.
        indices: k of them, row-major, ascending, int64.
        first: those k elements of the first dump, dtype the element type's storage.
        second: those of the second.
    """

    count: int
    indices: npt.NDArray[np.int64]
    first: Rows
    second: Rows


def differences(first: Path, second: Path) -> Differences:
    """Finds the elements in which two dumps differ.

    Args:
        first: a dump.
        second: a dump of the same type and shape.

    Raises:
        DumpError: type or shape are not the same, or a file does not hold what its header says. A word that is none is
            found only in lines that differ.
        StorageError: a file cannot be read.
    """
    with mapped(first) as a, mapped(second) as b:
        header = a.header
        if header != b.header:
            raise DumpError(f"{second}: {_say(b.header)}, where {first} holds {_say(header)}")
        found = _walk(a, b)
        if found is not None:
            numbers, in_a, in_b = found
            rows = [_parse(text, numbers, file) for text, file in ((in_a, a), (in_b, b))]
            return _pick(header, np.array(numbers, np.int64), rows[0], rows[1])
    rows = [reader.read(path).array.reshape(-1) for path in (first, second)]
    return _pick(header, np.arange(header.count, dtype=np.int64), rows[0], rows[1])


def _pick(header: Header, numbers: npt.NDArray[np.int64], first: Rows, second: Rows) -> Differences:
    """Keeps the rows whose bits differ: the same number can be spelt in two ways."""
    differ = np.zeros(len(numbers), bool)
    for a, b in zip(_bits(first, header.element_type), _bits(second, header.element_type), strict=True):
        differ |= a != b
    return Differences(header.count, numbers[differ], first[differ], second[differ])


def _bits(rows: Rows, element_type: ElementType) -> list[Rows]:
    return [
        column.view(f"<u{part.scalar.size}")
        for column, part in zip(element_type.columns(rows), element_type.parts, strict=True)
    ]


def _parse(text: list[bytes], numbers: list[int], file: Mapped) -> Rows:
    try:
        return parse.rows(b"".join(text), file.header.element_type, len(text), file.path, 1)
    except DumpError:
        for line, number in zip(text, numbers, strict=True):  # again, to name the line as the file counts it
            parse.rows(line, file.header.element_type, 1, file.path, number + 2)
        raise


def _walk(a: Mapped, b: Mapped) -> tuple[list[int], list[bytes], list[bytes]] | None:
    """The differing lines' numbers (from 0) and both texts; None where there are too many to walk."""
    bytes_a, bytes_b = np.frombuffer(a.data, np.uint8), np.frombuffer(b.data, np.uint8)
    count, size_a, size_b = a.header.count, len(bytes_a), len(bytes_b)
    numbers: list[int] = []
    in_a: list[bytes] = []
    in_b: list[bytes] = []
    unequal = np.empty(_LARGE, bool)
    at_a, at_b, counted, line, block, clean = a.body, b.body, a.body, 0, _LARGE, True
    while (size := min(block, size_a - at_a, size_b - at_b)) > 0:
        # After a block without a difference, two slices: they are compared as fast as memory is read.
        if clean and a.data[at_a : at_a + size] == b.data[at_b : at_b + size]:
            at_a, at_b, block = at_a + size, at_b + size, min(2 * block, _LARGE)
            continue
        now = unequal[:size]
        np.not_equal(bytes_a[at_a : at_a + size], bytes_b[at_b : at_b + size], out=now)
        done, clean = 0, True
        while done < size:
            step = int(now[done:].argmax())
            if not now[done + step]:
                done = size
                break
            clean = False
            start, end_a = _line_around(a.data, at_a + done + step)
            start_b, end_b = at_b + (start - at_a), b.data.find(b"\n", at_b + done + step) + 1
            line += newlines(bytes_a[counted:start])
            counted = start
            numbers.append(line)
            in_a.append(a.data[start:end_a])
            in_b.append(b.data[start_b:end_b])
            if len(numbers) > _ENOUGH and len(numbers) > DENSE * (line + 1):
                return None
            done = end_a - at_a
            if end_b - at_b != done:  # from here on the files run in step at another distance
                at_a, at_b, done, block = end_a, end_b, 0, _SMALL // 2
                break
        at_a, at_b = at_a + done, at_b + done
        block = min(2 * block, _LARGE)
    total = line + newlines(bytes_a[counted:size_a])
    for file, lines, rest in (
        (a, total, 0),
        (b, total - newlines(bytes_a[at_a:size_a]), newlines(bytes_b[at_b:size_b])),
    ):
        if lines + rest != count:
            raise wrong_count(file.path, file.header, lines + rest)
    return numbers, in_a, in_b


def _line_around(data: mmap.mmap, position: int) -> tuple[int, int]:
    """Where the line that holds a position starts, and where the next one does."""
    start = data.rfind(b"\n", 0, position) + 1
    return start, data.find(b"\n", position) + 1


def _say(header: Header) -> str:
    return f"{header.element_type.name} {list(header.shape)}"

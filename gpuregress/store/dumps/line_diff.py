"""Line difference of two dumps: only lines that differ are parsed.

Both files are mapped and compared as bytes, block by block. At a difference, the line is collected from both files and
the comparison goes on after its end, at a new offset between the files. Above a share of `DENSE` differing lines all
remaining lines are parsed, which is faster.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import field

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.errors import DumpError
from gpuregress.gpu.records import MutableRecord, Record
from gpuregress.store.dumps import parse, reader
from gpuregress.store.dumps.files import Header
from gpuregress.store.dumps.reader import MappedDump, mapped, newlines, rest_lines, wrong_count

DENSE = 0.015
"""Share of differing lines from which on parsing all lines is faster (measured; see benchmarks/dump.py)."""

ENOUGH = 200  # differences, before their share is judged
SMALL, LARGE = 1 << 13, 1 << 17  # bytes compared at once: few after a difference, up to what a core's cache holds
RELEASE = 1 << 25  # bytes walked before their pages are dropped
MOST_LINES = 1 << 16  # differing lines held as text
_MOST_ROWS = 1 << 18  # rows of a piece that is cut out of arrays

Rows = npt.NDArray[np.generic]


class ElementPairs(Record):
    """Elements of two dumps at the same indices.

    Attributes:
        indices: k of them, row-major, ascending, int64.
        expected: those k elements of one dump, dtype the element type's storage.
        actual: those of the other.
    """

    indices: npt.NDArray[np.int64]
    expected: Rows
    actual: Rows

    def differs(self, element_type: ElementType) -> npt.NDArray[np.bool_]:
        """Mask of elements whose bits differ: one number can have two spellings."""
        differ = np.zeros(len(self.indices), np.bool_)
        for a, b in zip(_bits(self.expected, element_type), _bits(self.actual, element_type), strict=True):
            differ |= a != b
        return differ

    def only(self, rows: npt.NDArray[np.bool_]) -> ElementPairs:
        """Some of the rows."""
        return self if rows.all() else ElementPairs(self.indices[rows], self.expected[rows], self.actual[rows])


def pairs(expected: Path, actual: Path, *, every: bool = False, widened: bool = False) -> Iterator[ElementPairs]:
    """Find the elements in which two dumps differ, piece by piece, so that memory does not grow with the dumps.

    Args:
        expected: a dump.
        actual: a dump of the same type and shape.
        every: yield the elements that are equal, too.
        widened: the type of `expected` is `dtypes.widened` of the other one's; all elements are yielded.

    Yields:
        The elements whose bits differ, in ascending order.

    Raises:
        DumpError: types or shapes differ, or a file contradicts its header. Invalid words are noticed only in lines
            that differ.
        StorageError: a file cannot be read.
    """
    with mapped(expected) as a, mapped(actual) as b:
        if a.header != (_widened(b.header) if widened else b.header):
            raise DumpError(f"{actual}: {_describe(b.header)}, where {expected} holds {_describe(a.header)}")
        rest: tuple[int, int, int] | None = a.body, b.body, 0
        if not (every or widened):
            rest = yield from _walk(a, b)
        if rest is not None:
            yield from _parse_rest(a, b, rest, every=every or widened)


def differing_elements(expected: Rows, actual: Rows, element_type: ElementType) -> Iterator[ElementPairs]:
    """Find the elements in which two arrays differ, piece by piece.

    Args:
        expected: one dimension, dtype the element type's storage.
        actual: as many elements.
        element_type: of both.
    """
    for start in range(0, len(expected), _MOST_ROWS):
        rows = slice(start, start + _MOST_ROWS)
        piece = ElementPairs(np.arange(start, start + len(expected[rows])), expected[rows], actual[rows])
        yield piece.only(piece.differs(element_type))


def _parse_rest(a: MappedDump, b: MappedDump, rest: tuple[int, int, int], *, every: bool) -> Iterator[ElementPairs]:
    """Parse all lines from one on, both files at once in threads."""
    start_a, start_b, line = rest
    with ThreadPoolExecutor(2) as pool:
        both = _ahead(pool, reader.parsed(a, start_a, line)), _ahead(pool, reader.parsed(b, start_b, line))
        for rows_a, rows_b in _in_step(*both):
            piece = ElementPairs(np.arange(line, line + len(rows_a)), rows_a, rows_b)
            line += len(rows_a)
            yield piece if every else _differing(piece, a)


def _ahead(pool: ThreadPoolExecutor, source: Iterator[Rows]) -> Iterator[Rows]:
    """Yield the same items; the next one is made in a thread while one is used."""
    coming = pool.submit(next, source, None)
    while (rows := coming.result()) is not None:
        coming = pool.submit(next, source, None)
        yield rows


def _in_step(first: Iterator[Rows], second: Iterator[Rows]) -> Iterator[tuple[Rows, Rows]]:
    """Split two streams of the same total length into pairs of equal length."""
    a, b = next(first, None), next(second, None)
    while a is not None and b is not None:
        count = min(len(a), len(b))
        yield a[:count], b[:count]
        a = a[count:] if count < len(a) else next(first, None)
        b = b[count:] if count < len(b) else next(second, None)


def _differing(piece: ElementPairs, of: MappedDump) -> ElementPairs:
    return piece.only(piece.differs(of.header.element_type))


def _bits(rows: Rows, element_type: ElementType) -> list[Rows]:
    return [
        column.view(f"<u{part.scalar.size}")
        for column, part in zip(element_type.columns(rows), element_type.parts, strict=True)
    ]


def _parse(text: list[bytes], numbers: list[int], file: MappedDump) -> Rows:
    try:
        return parse.rows(b"".join(text), file.header.element_type, len(text), file.path, 1)
    except DumpError:
        for line, number in zip(text, numbers, strict=True):  # again, to name the line as the file counts it
            parse.rows(line, file.header.element_type, 1, file.path, number + 2)
        raise


class _Lines(MutableRecord):
    """Differing lines not yet parsed: their numbers (from 0) and both texts."""

    a: MappedDump
    b: MappedDump
    numbers: list[int] = field(default_factory=list)
    in_a: list[bytes] = field(default_factory=list)
    in_b: list[bytes] = field(default_factory=list)
    parsed: int = 0

    def is_dense(self, line: int) -> bool:
        """Whether parsing all lines is faster from this one on."""
        differing = self.parsed + len(self.numbers)
        return differing >= ENOUGH and differing >= DENSE * (line + 1)

    def take(self) -> Iterator[ElementPairs]:
        """Parse and drop the lines."""
        if self.numbers:
            rows = [_parse(text, self.numbers, file) for text, file in ((self.in_a, self.a), (self.in_b, self.b))]
            yield _differing(ElementPairs(np.array(self.numbers, np.int64), *rows), self.a)
            self.parsed += len(self.numbers)
            self.numbers, self.in_a, self.in_b = [], [], []


def _walk(a: MappedDump, b: MappedDump) -> Generator[ElementPairs, None, tuple[int, int, int] | None]:
    """Yield the lines that differ; return where parsing all lines starts (offsets in both files, line), or None."""
    bytes_a, bytes_b = np.frombuffer(a.data, np.uint8), np.frombuffer(b.data, np.uint8)
    count, size_a, size_b = a.header.count, len(bytes_a), len(bytes_b)
    lines = _Lines(a, b)
    unequal = np.empty(LARGE, bool)
    at_a, at_b, counted, line, block, clean = a.body, b.body, a.body, 0, LARGE, True
    while (size := min(block, size_a - at_a, size_b - at_b)) > 0:
        if at_a - counted > RELEASE:
            line, counted = line + newlines(bytes_a[counted:at_a]), at_a
            a.release(at_a)
            b.release(at_b)
        a.ensure(at_a + size)
        b.ensure(at_b + size)
        # After a block without a difference, two slices: they are compared as fast as memory is read.
        if clean and a.data[at_a : at_a + size] == b.data[at_b : at_b + size]:
            at_a, at_b, block = at_a + size, at_b + size, min(2 * block, LARGE)
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
            start, end_a = _line_around(a, at_a + done + step)
            start_b, end_b = at_b + (start - at_a), b.line_end(at_b + done + step)
            line += newlines(bytes_a[counted:start])
            counted = start
            if lines.is_dense(line):
                yield from lines.take()
                return start, start_b, line
            lines.numbers.append(line)
            lines.in_a.append(a.data[start:end_a])
            lines.in_b.append(b.data[start_b:end_b])
            if len(lines.numbers) >= MOST_LINES:
                yield from lines.take()
            done = end_a - at_a
            if end_b - at_b != done:  # from here on the files run in step at another distance
                at_a, at_b, done, block = end_a, end_b, 0, SMALL // 2
                break
        at_a, at_b = at_a + done, at_b + done
        block = min(2 * block, LARGE)
    line += newlines(bytes_a[counted:at_a])
    for file, rest in ((a, rest_lines(a, at_a)), (b, rest_lines(b, at_b))):
        if line + rest != count:
            raise wrong_count(file.path, file.header, line + rest)
    yield from lines.take()
    return None


def _line_around(file: MappedDump, position: int) -> tuple[int, int]:
    """Offsets of the line that contains a position and of the next one."""
    return file.data.rfind(b"\n", 0, position) + 1, file.line_end(position)


def _widened(header: Header) -> Header:
    return Header(dtypes.widened(header.element_type), header.shape)


def _describe(header: Header) -> str:
    return f"{header.element_type.name} {list(header.shape)}"

"""Reading of dumps, bit for bit, compressed or not. A file that contradicts its header is an error."""

from __future__ import annotations

import contextlib
import mmap
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.errors import DumpError
from gpuregress.foundation.storage import Frames, disk_errors, open_file, open_frames
from gpuregress.gpu.records import Record
from gpuregress.store.dumps.files import LONGEST_HEADER, Header, parse_header

_NO_RESERVE = 0x4000  # linux/mman.h: MAP_NORESERVE, which Python names from 3.13 on


class Inflation:
    """The text of a compressed dump; a context manager, at whose end its threads end.

    Args:
        frames: of the open file.

    Attributes:
        data: of the text's size; valid up to the greatest offset that `ensure` was asked for.
    """

    def __init__(self, frames: Frames) -> None:
        self.data = mmap.mmap(
            -1,
            frames.text_size,
            flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE,
            prot=mmap.PROT_READ | mmap.PROT_WRITE,
        )
        self._frames, self._pieces = frames, frames.pieces()
        self._available = 0

    def __enter__(self) -> Self:
        """The text."""
        return self

    def __exit__(self, *_error: object) -> None:
        """End the threads; the mapping stays while somebody holds a view of it."""
        self._pieces.close()

    def ensure(self, end: int) -> None:
        """Decompress the text before an offset.

        Raises:
            DumpError: a frame of it is damaged.
            StorageError: the file cannot be read.
        """
        while self._available < min(end, len(self.data)):
            text = next(self._pieces)
            self.data[self._available : self._available + len(text)] = text
            self._available += len(text)

    def ends_with_newline(self) -> bool:
        """Tell whether the last byte of the text ends a line, without decompressing more than its frame."""
        return self._frames.text(len(self._frames) - 1).endswith(b"\n")

    def available_to(self, position: int) -> int:
        """The end of the frame that contains an offset; the end of the text after it."""
        starts = self._frames.starts
        return starts[min(bisect_right(starts, position), len(starts) - 1)]


Bytes = npt.NDArray[np.uint8]
_CACHED = 1 << 17

PIECE_BYTES = 1 << 23
"""Text parsed at a time: what bounds the memory that reading needs besides the array."""


class LoadedDump(Record):
    """A dump in memory: its header, and an array of its shape in the element type's storage dtype."""

    header: Header
    array: npt.NDArray[np.generic]


class MappedDump(Record):
    """A dump in memory as text, unparsed: its mapped file, or what its file decompresses to.

    Attributes:
        path: for messages.
        header: its first line, parsed.
        data: all bytes of the text; those of a compressed dump are there as far as `ensure` was asked for them.
        body: offset of the second line in `data`.
        inflation: decompresses `data`; None: the file is text.
    """

    path: Path
    header: Header
    data: mmap.mmap
    body: int
    inflation: Inflation | None = None

    def ensure(self, end: int) -> None:
        """Make the text before an offset available.

        Raises:
            DumpError: the file is compressed, and damaged.
            StorageError: it cannot be read.
        """
        if self.inflation is not None:
            self.inflation.ensure(end)

    def line_end(self, position: int) -> int:
        """Return the offset after the first end of a line at or after an offset; 0 where no line ends there.

        Raises:
            DumpError: as `ensure`.
        """
        if self.inflation is None:
            return self.data.find(b"\n", position) + 1
        end = found = 0
        while found <= 0 and end < len(self.data):
            start, end = max(position, end), self.inflation.available_to(max(position, end))
            self.ensure(end)
            found = self.data.find(b"\n", start, end) + 1
        return found

    def release(self, end: int) -> None:
        """Drop the pages before the line that contains an offset from this process's memory.

        Those of a mapped file are read again on access, those of a compressed one are lost.
        """
        pages = (self.data.rfind(b"\n", 0, end) + 1) // mmap.PAGESIZE * mmap.PAGESIZE
        if pages:
            self.data.madvise(mmap.MADV_DONTNEED, 0, pages)


@contextlib.contextmanager
def mapped(path: Path) -> Iterator[MappedDump]:
    """Map a dump into memory and read its header.

    Raises:
        DumpError: it has no header, or its last line has no end.
        StorageError: it cannot be read.
    """
    with disk_errors(path, "read"):
        file = open_file(path)
    with contextlib.ExitStack() as stack:
        stack.enter_context(file)
        frames = open_frames(file, path)
        if frames is None:
            header, body = _header(file.readline(LONGEST_HEADER), path)
            with disk_errors(path, "read"):
                data = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            is_whole, inflation = data[len(data) - 1] == ord("\n"), None
        else:
            header, body = _header(_first_line(frames), path)
            inflation = stack.enter_context(Inflation(frames))
            is_whole, data = inflation.ends_with_newline(), inflation.data
        if not is_whole:
            raise DumpError(f"{path}: its last line has no end; the file was cut short or edited")
        # The data are unmapped with their last view, which an error's traceback may hold.
        yield MappedDump(path, header, data, body, inflation)


def read_header(path: Path) -> Header:
    """Read the type and shape of a dump, and no more of it.

    Raises:
        DumpError: it has no header.
        StorageError: it cannot be read.
    """
    with disk_errors(path, "read"):
        file = open_file(path)
    with file:
        frames = open_frames(file, path)
        with disk_errors(path, "read"):
            line = file.readline(LONGEST_HEADER) if frames is None else _first_line(frames)
    return _header(line, path)[0]


def read(path: Path) -> LoadedDump:
    """Read a dump.

    Raises:
        DumpError: it contradicts its header; the message has the file, the line and the word.
        StorageError: it cannot be read.
    """
    with mapped(path) as file:
        header = file.header
        array = np.zeros(header.count, header.element_type.storage)
        done = 0
        for rows in parsed(file, file.body, 0):
            array[done : done + len(rows)] = rows
            done += len(rows)
    return LoadedDump(header, array.reshape(header.shape))


def parsed(file: MappedDump, start: int, line: int) -> Iterator[npt.NDArray[np.generic]]:
    """Parse the elements from one line on, some megabytes of text at a time.

    Args:
        file: a dump.
        start: offset of the line.
        line: its number, 0 for the first element.

    Yields:
        One dimension, the element type's storage dtype.

    Raises:
        DumpError: as `read`.
    """
    from gpuregress.store.dumps import parse  # noqa: PLC0415 - most runs read no dump, or its header only

    header, size = file.header, len(file.data)
    while start < size:
        end = min(start + PIECE_BYTES, size)
        if end < size:
            end = file.line_end(end)
        file.ensure(end)
        data = file.data[start:end]
        count = newlines(data)
        if line + count > header.count:
            raise wrong_count(file.path, header, line + count + rest_lines(file, end))
        yield parse.rows(data, header.element_type, count, file.path, 2 + line)
        file.release(end)
        start, line = end, line + count
    if line != header.count:
        raise wrong_count(file.path, header, line)


def newlines(data: bytes | Bytes) -> int:
    """Count the ends of lines in a text, ten times as fast as bytes.count."""
    text = np.frombuffer(data, np.uint8)
    pieces = (text[at : at + _CACHED] for at in range(0, len(text), _CACHED))
    return sum(int(np.count_nonzero(piece == ord("\n"))) for piece in pieces)


def rest_lines(file: MappedDump, start: int) -> int:
    """Count the lines that end after an offset."""
    lines = 0
    for at in range(start, len(file.data), PIECE_BYTES):
        file.ensure(at + PIECE_BYTES)
        lines += newlines(file.data[at : at + PIECE_BYTES])
        file.release(at)
    return lines


def wrong_count(path: Path, header: Header, lines: int) -> DumpError:
    """The error for a dump with more or fewer lines than its header says."""
    change = "cut short" if lines < header.count else "added to"
    return DumpError(
        f"{path}: holds {lines} elements where its header says {header.count}; the file was {change} or edited",
    )


def _header(line: bytes, path: Path) -> tuple[Header, int]:
    if not line:
        raise DumpError(f"{path}: the file is empty")
    if line.endswith(b"\r\n"):
        raise DumpError(
            f"{path}:1: its lines end as on Windows; convert the file back (dos2unix), or take it from git again"
        )
    if not line.endswith(b"\n"):
        raise DumpError(f"{path}:1: the first line has no end; the file was cut short, or is not a dump")
    return parse_header(line[:-1], path), len(line)


def _first_line(frames: Frames) -> bytes:
    text, number = b"", 0
    while b"\n" not in text and len(text) < LONGEST_HEADER and number < len(frames):
        text, number = text + frames.text(number), number + 1
    return text[: (text.find(b"\n", 0, LONGEST_HEADER) + 1) or LONGEST_HEADER]

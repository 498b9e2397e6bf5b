"""Compressed text files: zstd frames of a fixed size, with the seek table of the seekable format.

`zstd -d` reads such a file. Frames are compressed and decompressed on several cores, and any of them can be read alone,
so that memory does not grow with the file. The table is the last part: a file that was cut short has none. Format:
facebook/zstd, contrib/seekable_format, without its checksums, since each frame has its own.
"""

from __future__ import annotations

import os
import struct
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

import zstandard

from gpuregress.foundation.errors import DumpError
from gpuregress.foundation.storage.os_errors import disk_errors, open_file
from gpuregress.gpu.records import Record

if TYPE_CHECKING:
    from gpuregress.foundation.storage.atomic_writes import Bytes

SUFFIX = ".zst"
FRAME_BYTES = 1 << 20
"""Text of a frame."""
THREADS = min(4, os.cpu_count() or 1)

_LEVEL = 1  # 43 % of the size of random floats at 330 MB/s on one core; higher levels save little and take long
_MAGIC = 0xFD2FB528
_SKIPPABLE = 0x184D2A5E
_SEEKABLE = 0x8F92EAB1
_START, _ENTRY, _END = struct.Struct("<II"), struct.Struct("<II"), struct.Struct("<IBI")
_LARGEST_FRAME = 1 << 27
_MOST_FRAMES = 1 << 27


# --- writing ----------------------------------------------------------------------------------------------------------


class FrameWriter:
    """Streaming compression into a file, as a context manager; its end writes the seek table.

    Args:
        file: written from its position on.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._pool = ThreadPoolExecutor(THREADS)
        self._text = bytearray()
        self._coming: deque[tuple[int, Future[bytes]]] = deque()
        self._table: list[tuple[int, int]] = []

    def __enter__(self) -> Self:
        """The writer."""
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Write the rest and the seek table, unless the block failed."""
        try:
            if error is None:
                self._finish()
        finally:
            self._pool.shutdown(cancel_futures=True)

    def add(self, data: Bytes) -> None:
        """Compress the next bytes.

        Raises:
            OSError: the disk is full, or fails.
        """
        self._text += data
        while len(self._text) >= FRAME_BYTES:
            self._submit(bytes(memoryview(self._text)[:FRAME_BYTES]))
            del self._text[:FRAME_BYTES]

    def _submit(self, text: bytes) -> None:
        self._coming.append((len(text), self._pool.submit(_compress, text)))
        while len(self._coming) > 2 * THREADS:
            self._write_next()

    def _write_next(self) -> None:
        size, coming = self._coming.popleft()
        frame = coming.result()
        self._file.write(frame)
        self._table.append((len(frame), size))

    def _finish(self) -> None:
        if self._text:
            self._submit(bytes(self._text))
        while self._coming:
            self._write_next()
        entries = b"".join(_ENTRY.pack(*entry) for entry in self._table)
        self._file.write(_START.pack(_SKIPPABLE, len(entries) + _END.size) + entries)
        self._file.write(_END.pack(len(self._table), 0, _SEEKABLE))


def _compress(text: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(text)


# --- reading ----------------------------------------------------------------------------------------------------------


class Frames(Record):
    """The frames of a compressed file.

    Attributes:
        path: for messages.
        file: the open file.
        offsets: of each frame in the file, and of the end of the last one.
        starts: of each frame's text in the whole text, and the size of the text.
    """

    path: Path
    file: BinaryIO
    offsets: tuple[int, ...]
    starts: tuple[int, ...]

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.offsets) - 1

    @property
    def text_size(self) -> int:
        """Bytes of the whole text."""
        return self.starts[-1]

    def text(self, number: int) -> bytes:
        """Decompress one frame; callable from several threads at once.

        Raises:
            DumpError: it is damaged.
            StorageError: it cannot be read.
        """
        start, end = self.offsets[number], self.offsets[number + 1]
        size = self.starts[number + 1] - self.starts[number]
        with disk_errors(self.path, "read"):
            frame = os.pread(self.file.fileno(), end - start, start)
        try:
            if zstandard.frame_content_size(frame) == size:
                return zstandard.ZstdDecompressor().decompress(frame)
        except zstandard.ZstdError:
            pass
        raise DumpError(f"{self.path}: frame {number + 1} of its {len(self)} is damaged; the file was edited or cut")

    def pieces(self) -> Generator[bytes, None, None]:
        """Decompress all frames in order, some of them ahead in threads.

        Raises:
            DumpError: one is damaged.
            StorageError: one cannot be read.
        """
        coming: deque[Future[bytes]] = deque()
        pool = ThreadPoolExecutor(THREADS)
        try:
            for number in range(len(self)):
                coming.append(pool.submit(self.text, number))
                if len(coming) > 2 * THREADS:
                    yield coming.popleft().result()
            while coming:
                yield coming.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def is_compressed(path: Path) -> bool:
    """Tell whether a file begins as a compressed one does.

    Raises:
        StorageError: it cannot be read.
    """
    with disk_errors(path, "read"), open_file(path) as file:
        return _begins_as_one(file)


def open_frames(file: BinaryIO, path: Path) -> Frames | None:
    """Read the seek table of a compressed file; None where the file does not begin as one.

    Args:
        file: at its beginning; still there afterwards.
        path: for messages.

    Raises:
        DumpError: the table is not there, or contradicts the file.
        StorageError: the file cannot be read.
    """
    with disk_errors(path, "read"):
        if not _begins_as_one(file):
            return None
        size = os.fstat(file.fileno()).st_size
        table = _table(file, size)
    if table is None:
        raise DumpError(
            f"{path}: its zstd seek table is missing or damaged; the file was cut short or edited, "
            "or was not compressed by gpuregress (`zstd -d` makes text of it)"
        )
    offsets, starts = (tuple(accumulate(sizes, initial=0)) for sizes in zip(*table, strict=True))
    return Frames(path, file, offsets, starts)


def _begins_as_one(file: BinaryIO) -> bool:
    return os.pread(file.fileno(), 4, 0) == _MAGIC.to_bytes(4, "little")


def _table(file: BinaryIO, size: int) -> list[tuple[int, int]] | None:
    """The sizes of all frames and of their texts; None where the end of the file is no table of this file."""
    number = file.fileno()
    end = os.pread(number, _END.size, max(0, size - _END.size))
    if len(end) != _END.size:
        return None
    count, descriptor, magic = _END.unpack(end)
    length = count * _ENTRY.size + _END.size
    start = size - length - _START.size
    if magic != _SEEKABLE or descriptor or not 0 < count <= _MOST_FRAMES or start < 0:
        return None
    if os.pread(number, _START.size, start) != _START.pack(_SKIPPABLE, length):
        return None
    entries = list(_ENTRY.iter_unpack(os.pread(number, count * _ENTRY.size, start + _START.size)))
    if sum(frame for frame, _ in entries) != start or any(not 0 < text <= _LARGEST_FRAME for _, text in entries):
        return None
    return entries


def text_size(path: Path) -> int:
    """Return the size of a file's text in bytes, compressed or not.

    Raises:
        DumpError: it is compressed, and damaged.
        StorageError: it cannot be read.
    """
    with disk_errors(path, "read"):
        file = open_file(path)
    with file:
        frames = open_frames(file, path)
        return os.fstat(file.fileno()).st_size if frames is None else frames.text_size


def text_pieces(path: Path, piece: int = 1 << 20) -> Iterator[bytes]:
    """Read a file's text from its beginning, compressed or not.

    Raises:
        DumpError: it is compressed, and damaged.
        StorageError: it cannot be read.
    """
    with disk_errors(path, "read"):
        file = open_file(path)
    with file:
        frames = open_frames(file, path)
        if frames is not None:
            yield from frames.pieces()
            return
        with disk_errors(path, "read"):
            while data := file.read(piece):
                yield data


def compress_file(source: Path, file: BinaryIO) -> None:
    """Write a file's text, compressed; a file that is compressed already is copied.

    Args:
        source: a file, compressed or not.
        file: receives it.

    Raises:
        StorageError: the source cannot be read.
        OSError: the file cannot be written.
    """
    if is_compressed(source):
        with disk_errors(source, "read"), open_file(source) as compressed:
            while data := compressed.read(FRAME_BYTES):
                file.write(data)
        return
    with FrameWriter(file) as frames:
        for data in text_pieces(source):
            frames.add(data)

"""Atomic writing of dumps, in pieces.

A buffer whose bytes are already on disk as a dump is copied instead of formatted. Above a size, the text is compressed.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import xxhash

from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.errors import DumpError, StorageError
from gpuregress.foundation.numeric import decimals
from gpuregress.foundation.records import Dump
from gpuregress.foundation.storage import (
    FrameWriter,
    atomic,
    compressed_path,
    copy_file,
    digest_file,
    disk_errors,
    is_compressed,
    split_name,
    text_pieces,
    text_size,
)
from gpuregress.store.dumps import reader
from gpuregress.store.dumps.files import Header

_ROWS = 1 << 14
"""Lines of several types made at a time, whose indices stay in the processor's cache."""


def lines(array: npt.NDArray[np.generic], element_type: ElementType) -> bytes | memoryview:
    """Format elements: one a line, its parts separated by a space.

    Args:
        array: one dimension, dtype `element_type.storage`.
        element_type: of the elements.
    """
    if array.size == 0:
        return b""
    columns, scalar = element_type.columns(array), element_type.only_scalar
    if scalar is None:
        pieces = (array[start : start + _ROWS] for start in range(0, array.size, _ROWS))
        return b"".join(_rows_of_several_types(piece, element_type) for piece in pieces)
    text = bytearray(decimals.text(np.stack(columns, axis=1).reshape(-1), scalar))
    characters = np.frombuffer(text, np.uint8)
    characters[-1] = ord("\n")  # the closing bracket
    commas = np.flatnonzero(characters == ord(","))
    if len(columns) == 1:
        characters[commas] = ord("\n")
    else:
        separators = b" " * (len(columns) - 1) + b"\n"
        characters[commas] = np.frombuffer(separators * array.size, np.uint8)[:-1]
    return memoryview(text)[1:]


def _rows_of_several_types(array: npt.NDArray[np.generic], element_type: ElementType) -> memoryview:
    """Format each column and move its words to their lines, all of a column at once."""
    texts, ends = [], []
    for part, column in element_type.part_columns(array):
        text = np.frombuffer(decimals.text(column, part.scalar), np.uint8)[1:]
        texts.append(text)
        ends.append(np.append(np.flatnonzero(text == ord(",")) + 1, text.size))
    lengths = [np.diff(of_column, prepend=0) for of_column in ends]
    joined = np.empty(sum(text.size for text in texts), np.uint8)
    line_lengths = np.sum(lengths, axis=0)
    starts = np.cumsum(line_lengths) - line_lengths
    for text, word_ends, word_lengths in zip(texts, ends, lengths, strict=True):
        distances = starts - (word_ends - word_lengths)
        joined[np.arange(text.size) + np.repeat(distances, word_lengths)] = text
        starts = starts + word_lengths
        joined[starts - 1] = ord(" ")
    joined[starts - 1] = ord("\n")
    return joined.data


class RawDigest:
    """Streaming digest of a buffer.

    Args:
        element_type: of every piece; a record's padding counts as zero.
    """

    def __init__(self, element_type: ElementType) -> None:
        self._type = element_type
        self._hash = xxhash.xxh3_128()

    def add(self, array: npt.NDArray[np.generic]) -> None:
        """Add the next elements, row by row; any shape, dtype `element_type.storage`."""
        flat = np.ascontiguousarray(array).reshape(-1)
        if sum(part.scalar.size for part in self._type.parts) == self._type.size:
            self._hash.update(flat.view(np.uint8).data)
            return
        for start in range(0, flat.size, PIECE):
            self._hash.update(_zero_padding(flat[start : start + PIECE]).view(np.uint8).data)

    def hexdigest(self) -> str:
        """32 hexadecimal digits."""
        return self._hash.hexdigest()


def content_digest(array: npt.NDArray[np.generic], element_type: ElementType) -> str:
    """Digest an array's raw bytes, row by row; a record's padding counts as zero.

    Args:
        array: any shape, dtype `element_type.storage`.
        element_type: of its elements.
    """
    digest = RawDigest(element_type)
    digest.add(array)
    return digest.hexdigest()


def _zero_padding(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    clean: npt.NDArray[Any] = np.zeros(array.shape, array.dtype)
    for name in array.dtype.names or ():
        clean[name] = array[name]
    return clean


PIECE = 1 << 20
"""Elements formatted at a time, which bounds the memory of writing."""


class DumpWriter:
    """Streaming writer of a dump, as a context manager: a failed dump leaves no file.

        with DumpWriter(path, element_type, (1 << 30,)) as writer:
            for piece in pieces:
                writer.add(piece)
            dump = writer.finish()

    Args:
        path: the file, named by `names.dump_path`; folders above it are made. A compressed one also ends in `.zst`.
        element_type: of its elements.
        shape: elements along each axis, slowest first.
        durable: on disk when `finish` returns; else after `storage.sync_tree`.
        compress_above: bytes of text above which the file is compressed; None: it never is.
    """

    def __init__(
        self,
        path: Path,
        element_type: ElementType,
        shape: tuple[int, ...],
        *,
        durable: bool = True,
        compress_above: int | None = None,
    ) -> None:
        self._path, self._type, self._shape = path, element_type, shape
        self._durable, self._most = durable, compress_above
        self._left, self._done = math.prod(shape), 0
        self._raw = RawDigest(element_type)
        self._text, self._size = xxhash.xxh3_128(), 0
        self._stack = contextlib.ExitStack()
        self._file = self._stack.enter_context(atomic(path, durable=durable))
        self._frames: FrameWriter | None = None
        self._dump: Dump | None = None
        self._put(Header(element_type, shape).render())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Drop the file if `finish` was not reached."""
        if self._dump is None:
            _abandon(self._stack, error or DumpError(f"{self._path}: not finished"))

    def add(self, array: npt.NDArray[np.generic]) -> None:
        """Write the next elements, row by row.

        Args:
            array: any shape, dtype `element_type.storage`.

        Raises:
            DumpError: more elements than the shape holds.
            StorageError: the disk is full, or fails.
        """
        flat = np.ascontiguousarray(array).reshape(-1)
        self._left -= flat.size
        if self._left < 0:
            raise DumpError(f"{self._path}: {-self._left} elements more than the shape {list(self._shape)} holds")
        for start in range(0, flat.size, PIECE):
            piece = flat[start : start + PIECE]
            self._raw.add(piece)
            self._put(lines(piece, self._type))
            self._done += piece.size
            if self._is_large():
                self._compress()

    def finish(self) -> Dump:
        """Give the file its name.

        Raises:
            DumpError: elements are missing.
            StorageError: the disk is full, or fails.
        """
        if self._left:
            raise DumpError(f"{self._path}: {self._left} elements fewer than the shape {list(self._shape)} holds")
        with disk_errors(self._path):
            if self._frames is not None and self._most is not None and self._size <= self._most:
                self._decompress(self._frames)
            self._stack.close()
        path = self._path if self._frames is None else compressed_path(self._path)
        self._dump = record(path, self._type, self._shape, self._raw.hexdigest(), self._text.hexdigest())
        return self._dump

    def _put(self, data: bytes | memoryview) -> None:
        self._text.update(data)
        self._size += len(data)
        with disk_errors(self._path):
            if self._frames is not None:
                self._frames.add(data)
            else:
                self._file.write(data)

    def _is_large(self) -> bool:
        """Tell whether a file that is plain so far will be too large, if the other elements are like the first ones."""
        total = math.prod(self._shape)
        return self._frames is None and self._most is not None and self._size * total > self._most * self._done

    def _compress(self) -> None:
        """Go on with a compressed file: what is written so far is moved there."""
        plain, file = self._stack, self._file
        self._stack = contextlib.ExitStack()
        with disk_errors(self._path):
            try:
                self._file = self._stack.enter_context(atomic(compressed_path(self._path), durable=self._durable))
                self._frames = self._stack.enter_context(FrameWriter(self._file))
                file.flush()
                for text in text_pieces(Path(file.name)):
                    self._frames.add(text)
            finally:
                _abandon(plain, DumpError(f"{self._path}: compressed"))

    def _decompress(self, frames: FrameWriter) -> None:
        """Make a plain file after all: the last elements were shorter than the first ones."""
        packed, file = self._stack, self._file
        self._stack, self._frames = contextlib.ExitStack(), None
        try:
            frames.__exit__(None, None, None)
            file.flush()
            self._file = self._stack.enter_context(atomic(self._path, durable=self._durable))
            for text in text_pieces(Path(file.name)):
                self._file.write(text)
        finally:
            _abandon(packed, DumpError(f"{self._path}: decompressed"))


def _abandon(stack: contextlib.ExitStack, error: BaseException) -> None:
    """Close what is open as after an error, so that no file gets its name."""
    with contextlib.suppress(BaseException):
        stack.__exit__(type(error), error, error.__traceback__)


def write(
    path: Path,
    array: npt.NDArray[np.generic],
    element_type: ElementType,
    shape: tuple[int, ...],
    *,
    known: Mapping[str, Path] | None = None,
    durable: bool = True,
    compress_above: int | None = None,
) -> Dump:
    """Write the dump of a whole buffer.

    Args:
        path: the file, named by `names.dump_path`; folders above it are made.
        array: the elements in any shape, dtype `element_type.storage`.
        element_type: what it holds.
        shape: elements along each axis, slowest first.
        known: raw digest → a whole dump of those bytes, which is copied (by reference where the file system can)
            instead of printing them again.
        durable: on disk on return; else complete even if this process dies, and on disk after `storage.sync_tree`.
        compress_above: bytes of text above which the file is compressed; None: it never is.

    Raises:
        DumpError: the array does not have as many elements as the shape.
        StorageError: the disk is full, or fails.
    """
    if known:
        raw = content_digest(array, element_type)
        copied = copy_known(path, raw, element_type, shape, known, durable=durable, compress_above=compress_above)
        if copied is not None:
            return copied
    with DumpWriter(path, element_type, shape, durable=durable, compress_above=compress_above) as writer:
        writer.add(array)
        return writer.finish()


def copy_known(
    path: Path,
    raw: str,
    element_type: ElementType,
    shape: tuple[int, ...],
    known: Mapping[str, Path],
    *,
    durable: bool = True,
    compress_above: int | None = None,
) -> Dump | None:
    """Copy a dump of the same bytes that is already on disk; None if there is none.

    Args:
        path: the new file.
        raw: the digest of the buffer's raw bytes.
        element_type: what it holds.
        shape: elements along each axis.
        known: raw digest → a whole dump of those bytes.
        durable: see `write`.
        compress_above: as above; a dump that should be compressed and is not is no such dump, or the other way round.

    Raises:
        StorageError: the disk is full, or fails.
    """
    if raw not in known or not _holds(known[raw], Header(element_type, shape)):
        return None
    try:
        if not has_form(known[raw], compress_above):
            return None
        path = compressed_path(path) if is_compressed(known[raw]) else path
    except (DumpError, StorageError):
        return None
    copy_file(known[raw], path, durable=durable)
    return record(path, element_type, shape, raw, digest_file(path))


def has_form(path: Path, compress_above: int | None) -> bool:
    """Tell whether a dump is compressed exactly if its text is larger than a limit.

    Raises:
        DumpError: it is compressed, and damaged.
        StorageError: it cannot be read.
    """
    return is_compressed(path) == (compress_above is not None and text_size(path) > compress_above)


def _holds(path: Path, header: Header) -> bool:
    """Whether a known dump has this type and shape: other types can have the same bytes."""
    try:
        return reader.read_header(path) == header
    except (DumpError, StorageError):
        return False


def record(path: Path, element_type: ElementType, shape: tuple[int, ...], raw: str, text: str) -> Dump:
    """The record of a dump, with the digests of its raw bytes and of its text."""
    buffer, _ = split_name(path.name) or (path.name, "")
    return Dump(buffer, str(path), dtype=element_type.name, shape=shape, digest=raw, text_digest=text)

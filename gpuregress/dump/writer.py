"""Atomic writing of dumps, in pieces.

A buffer whose bytes are already on disk as a dump is copied instead of formatted.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt
import xxhash

from gpuregress.dtypes import ElementType
from gpuregress.dump import digest, reader
from gpuregress.dump.format import lines
from gpuregress.dump.header import Header
from gpuregress.errors import DumpError, StorageError
from gpuregress.records import Dump
from gpuregress.storage import atomic, copy_file, digest_file, disk_errors, split_name

PIECE = 1 << 20
"""Elements formatted at a time, which bounds the memory of writing."""


class DumpWriter:
    """Streaming writer of a dump, as a context manager: a failed dump leaves no file.

        with DumpWriter(path, element_type, (1 << 30,)) as writer:
            for piece in pieces:
                writer.add(piece)
            dump = writer.finish()

    Args:
        path: the file, named by `names.dump_path`; folders above it are made.
        element_type: of its elements.
        shape: elements along each axis, slowest first.
        durable: on disk when `finish` returns; else after `storage.sync_tree`.
    """

    def __init__(self, path: Path, element_type: ElementType, shape: tuple[int, ...], *, durable: bool = True) -> None:
        self._path, self._type, self._shape = path, element_type, shape
        self._left = math.prod(shape)
        self._raw = digest.RawDigest(element_type)
        self._text = xxhash.xxh3_128()
        self._stack = contextlib.ExitStack()
        self._file = self._stack.enter_context(atomic(path, durable=durable))
        self._dump: Dump | None = None
        self._put(Header(element_type, shape).render())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Drop the file if `finish` was not reached."""
        if self._dump is None:
            abandoned = error or DumpError(f"{self._path}: not finished")
            with contextlib.suppress(BaseException):
                self._stack.__exit__(type(abandoned), abandoned, trace)

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

    def finish(self) -> Dump:
        """Give the file its name.

        Raises:
            DumpError: elements are missing.
            StorageError: the disk is full, or fails.
        """
        if self._left:
            raise DumpError(f"{self._path}: {self._left} elements fewer than the shape {list(self._shape)} holds")
        self._stack.close()
        self._dump = _record(self._path, self._type, self._shape, self._raw.hexdigest(), self._text.hexdigest())
        return self._dump

    def _put(self, data: bytes | memoryview) -> None:
        self._text.update(data)
        with disk_errors(self._path):
            self._file.write(data)


def write(
    path: Path,
    array: npt.NDArray[np.generic],
    element_type: ElementType,
    shape: tuple[int, ...],
    *,
    known: Mapping[str, Path] | None = None,
    durable: bool = True,
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

    Raises:
        DumpError: the array does not have as many elements as the shape.
        StorageError: the disk is full, or fails.
    """
    if known:
        raw = digest.of_array(array, element_type)
        copied = copy_known(path, raw, element_type, shape, known, durable=durable)
        if copied is not None:
            return copied
    with DumpWriter(path, element_type, shape, durable=durable) as writer:
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
) -> Dump | None:
    """Copy a dump of the same bytes that is already on disk; None if there is none.

    Args:
        path: the new file.
        raw: the digest of the buffer's raw bytes.
        element_type: what it holds.
        shape: elements along each axis.
        known: raw digest → a whole dump of those bytes.
        durable: see `write`.

    Raises:
        StorageError: the disk is full, or fails.
    """
    if raw not in known or not _holds(known[raw], Header(element_type, shape)):
        return None
    copy_file(known[raw], path, durable=durable)
    return _record(path, element_type, shape, raw, digest_file(path))


def _holds(path: Path, header: Header) -> bool:
    """Whether a known dump has this type and shape: other types can have the same bytes."""
    try:
        return reader.read_header(path) == header
    except (DumpError, StorageError):
        return False


def _record(path: Path, element_type: ElementType, shape: tuple[int, ...], raw: str, text: str) -> Dump:
    named = split_name(path.name)
    return Dump(named[0] if named else path.name, str(path), element_type.name, shape, raw, text)

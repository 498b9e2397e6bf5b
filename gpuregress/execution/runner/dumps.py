"""Dumps of a case's buffers, written whole or in pieces, and their digests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from gpuregress.execution.runner.poison import POISON, as_bytes, poison
from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.numeric import ordinals
from gpuregress.foundation.records import Buffer, Case, Dump, OverwrittenInput
from gpuregress.gpu.base import Bytes, Memory
from gpuregress.gpu.records import Record, replace
from gpuregress.store.dumps import contents, files, writer
from gpuregress.store.dumps.contents import DumpContents
from gpuregress.store.dumps.files import Header

Array = npt.NDArray[np.generic]

PIECE = 16 << 20
"""Bytes on their way at a time."""

LARGE = 256 << 20
"""Bytes from which on a buffer is not held whole on the host."""


@runtime_checkable
class _Pieced(Protocol):
    """Memory that reads the next piece while one is used."""

    def read_pieces(self, offset: int = 0, size: int | None = None, *, unit: int = 1) -> Iterator[Bytes]:
        """Pieces of whole units; each is valid until the next is asked for."""


class BufferReader(Record):
    """A buffer and its memory on the device.

    Attributes:
        memory: where it is on the device.
        buffer: its name, dtype and shape.
    """

    memory: Memory
    buffer: Buffer

    @property
    def element(self) -> ElementType:
        """The element type."""
        return dtypes.parse(self.buffer.dtype)

    @property
    def is_large(self) -> bool:
        """Tell whether it is to be read in pieces."""
        return self.buffer.size >= LARGE

    def array(self) -> Array:
        """Read all of it, in the buffer's shape."""
        return self.memory.read(0, self.buffer.size).view(self.element.storage).reshape(self.buffer.shape)

    def pieces(self) -> Iterator[Array]:
        """Read it piece by piece, flat; each piece is valid until the next one."""
        unit = self.element.size
        if isinstance(self.memory, _Pieced):
            for piece in self.memory.read_pieces(0, self.buffer.size, unit=unit):
                yield piece.view(self.element.storage)
            return
        step = max(1, PIECE // unit) * unit
        for start in range(0, self.buffer.size, step):
            yield self.memory.read(start, min(step, self.buffer.size - start)).view(self.element.storage)

    def initialise(self, array: Array | None, word: bytes = POISON) -> None:
        """Write the contents before the first launch.

        Args:
            array: its fill; None: an output, which is poisoned, unless it is a symbol: that keeps its initialiser's.
            word: the poison's two bytes; none: an output is left as it is.
        """
        if array is not None:
            self.memory.write(as_bytes(array))
        elif self.buffer.symbol is None and word:
            pattern = poison(min(PIECE, self.memory.size), word)
            for start in range(0, self.memory.size, PIECE):
                self.memory.write(pattern[: self.memory.size - start], start)


def changes(readout: BufferReader, before: Array) -> OverwrittenInput:
    """Find the elements of a buffer that do not hold their fill.

    Args:
        readout: the buffer as it is now.
        before: what it held, in its shape and storage dtype.
    """
    flat, at = before.reshape(-1), 0
    changed = OverwrittenInput(elements=0, of=int(flat.size), first=0, expected="", actual="")
    for piece in readout.pieces():
        old = flat[at : at + piece.size]
        differing = np.zeros(piece.size, np.bool_)
        columns = zip(readout.element.columns(old), readout.element.columns(piece), readout.element.parts, strict=True)
        for was, now, part in columns:
            differing |= ordinals.bits(was, part.scalar) != ordinals.bits(now, part.scalar)
        if differing.any() and not changed.elements:
            row = int(np.argmax(differing))
            expected, actual = old[row].tobytes().hex(), piece[row].tobytes().hex()
            changed = replace(changed, first=at + row, expected=expected, actual=actual)
        changed = replace(changed, elements=changed.elements + int(differing.sum()))
        at += piece.size
    return changed


class DumpFolder(Record):
    """The folder of a case's dumps; the end of the run flushes them to disk.

    Attributes:
        case: whose buffers.
        folder: the dumps of the run.
        contents: what runs have dumped, which is linked instead of written again; None: it is not known.
        compress_above: bytes of text above which a dump is compressed; None: it never is.
    """

    case: Case
    folder: Path
    contents: DumpContents | None = None
    compress_above: int | None = None

    def within(self, name: str) -> DumpFolder:
        """Return a folder inside this one, for dumps of the same case."""
        return replace(self, folder=self.folder / name)

    def beside(self, name: str) -> DumpFolder:
        """Return a folder beside this one, for dumps of the same case."""
        return replace(self, folder=self.folder.parent / name)

    def adopt(self, dump: Dump) -> Dump | None:
        """Make another case's dump this case's, too: a link, else a copy; None where its file was changed."""
        path = self._path(dump.buffer)
        if dump.path.endswith(storage.SUFFIX):
            path = storage.compressed_path(path)
        adopted = replace(dump, path=str(path))
        if contents.linked(Path(dump.path), adopted) or contents.copied(Path(dump.path), adopted):
            return adopted
        return None

    def write(
        self,
        name: str,
        array: Array,
        known: Mapping[str, str],
        element: ElementType | None = None,
        shape: tuple[int, ...] | None = None,
    ) -> Dump:
        """Dump a whole buffer.

        Args:
            name: the buffer's.
            array: what it holds.
            known: digest of raw bytes → an existing dump file that holds them, copied instead of formatted.
            element: what the array holds; None: what the buffer does.
            shape: of the array; None: the buffer's.
        """
        buffer, path = self.case.buffers[name], self._path(name)
        element = element or dtypes.parse(buffer.dtype)
        shape = buffer.shape if shape is None else shape
        header = Header(element, shape)
        if self.contents is not None:
            linked = self.contents.link(path, writer.content_digest(array, element), header)
            if linked is not None:
                return linked
        return self._added(
            writer.write(
                path, array, element, shape, known=_files(known), durable=False, compress_above=self.compress_above
            ),
            header,
        )

    def stream(self, readout: BufferReader, known: Mapping[str, str]) -> Dump:
        """Dump a buffer piece by piece: formatting and reading overlap, and the host never holds all of it."""
        buffer, element = readout.buffer, readout.element
        path, header = self._path(buffer.name), Header(element, buffer.shape)
        if known or self.contents is not None:
            raw = digest_of(readout)
            linked = self.contents.link(path, raw, header) if self.contents is not None else None
            if linked is not None:
                return linked
            copied = writer.copy_known(
                path, raw, element, buffer.shape, _files(known), durable=False, compress_above=self.compress_above
            )
            if copied is not None:
                return self._added(copied, header)
        with writer.DumpWriter(path, element, buffer.shape, durable=False, compress_above=self.compress_above) as dump:
            for piece in readout.pieces():
                dump.add(piece)
            return self._added(dump.finish(), header)

    def _added(self, dump: Dump, header: Header) -> Dump:
        if self.contents is not None:
            self.contents.add(dump, header)
        return dump

    def _path(self, buffer: str) -> Path:
        return files.dump_path(self.folder, self.case.name, buffer, self.case.revision)


def digest_of(readout: BufferReader) -> str:
    """Compute the digest of a buffer on the device, piece by piece."""
    raw = writer.RawDigest(readout.element)
    for piece in readout.pieces():
        raw.add(piece)
    return raw.hexdigest()


def _files(known: Mapping[str, str]) -> dict[str, Path]:
    return {key: Path(file) for key, file in known.items()}

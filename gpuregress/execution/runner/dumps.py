"""Dumps of a case's buffers, written whole or in pieces, and their digests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuregress.execution.runner.buffer_reader import BufferReader
from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.records import Case, Dump
from gpuregress.gpu.records import Record, replace
from gpuregress.store.dumps import contents, files, writer
from gpuregress.store.dumps.contents import DumpContents
from gpuregress.store.dumps.files import Header

Array = npt.NDArray[np.generic]


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
        path = storage.compressed_path(path) if dump.path.endswith(storage.SUFFIX) else path
        wanted = replace(dump, path=str(path))
        return wanted if contents.linked(Path(dump.path), wanted) or contents.copied(Path(dump.path), wanted) else None

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

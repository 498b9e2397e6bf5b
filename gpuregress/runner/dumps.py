"""Dumps of a case's buffers, written whole or in pieces, and their digests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuregress import dtypes
from gpuregress.dtypes import ElementType
from gpuregress.dump import digest, paths, writer
from gpuregress.records import Case, Dump
from gpuregress.runner.buffer_reader import BufferReader

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class DumpFolder:
    """The folder of a case's dumps; the end of the run flushes them to disk.

    Attributes:
        case: whose buffers.
        folder: the dumps of the run.
    """

    case: Case
    folder: Path

    def within(self, name: str) -> DumpFolder:
        """Return a folder inside this one, for dumps of the same case."""
        return DumpFolder(self.case, self.folder / name)

    def beside(self, name: str) -> DumpFolder:
        """Return a folder beside this one, for dumps of the same case."""
        return DumpFolder(self.case, self.folder.parent / name)

    def write(self, name: str, array: Array, known: Mapping[str, str], element: ElementType | None = None) -> Dump:
        """Dump a whole buffer.

        Args:
            name: the buffer's.
            array: what it holds.
            known: digest of raw bytes → an existing dump file that holds them, copied instead of formatted.
            element: what the array holds; None: what the buffer does.
        """
        buffer = self.case.buffers[name]
        element = element or dtypes.parse(buffer.dtype)
        return writer.write(self._path(name), array, element, buffer.shape, known=_files(known), durable=False)

    def stream(self, readout: BufferReader, known: Mapping[str, str]) -> Dump:
        """Dump a buffer piece by piece: formatting and reading overlap, and the host never holds all of it."""
        buffer, element = readout.buffer, readout.element
        path = self._path(buffer.name)
        if known:
            raw = digest_of(readout)
            copied = writer.copy_known(path, raw, element, buffer.shape, _files(known), durable=False)
            if copied is not None:
                return copied
        with writer.DumpWriter(path, element, buffer.shape, durable=False) as dump:
            for piece in readout.pieces():
                dump.add(piece)
            return dump.finish()

    def _path(self, buffer: str) -> Path:
        return paths.dump_path(self.folder, self.case.name, buffer, self.case.revision)


def digest_of(readout: BufferReader) -> str:
    """Compute the digest of a buffer on the device, piece by piece."""
    raw = digest.RawDigest(readout.element)
    for piece in readout.pieces():
        raw.add(piece)
    return raw.hexdigest()


def _files(known: Mapping[str, str]) -> dict[str, Path]:
    return {key: Path(file) for key, file in known.items()}

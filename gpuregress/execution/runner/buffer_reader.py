"""Access to a buffer on the device: read whole, or in pieces if it is large."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from gpuregress.execution.runner.poison import POISON, as_bytes, poison
from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.numeric import ordinals
from gpuregress.foundation.records import Buffer, OverwrittenInput
from gpuregress.gpu.base import Bytes, Memory
from gpuregress.gpu.records import Record, replace

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
    changed = OverwrittenInput(0, int(flat.size), 0, "", "")
    for piece in readout.pieces():
        old = flat[at : at + piece.size]
        differing = np.zeros(piece.size, np.bool_)
        columns = zip(readout.element.columns(old), readout.element.columns(piece), readout.element.parts, strict=True)
        for was, now, part in columns:
            differing |= ordinals.bits(was, part.scalar) != ordinals.bits(now, part.scalar)
        if differing.any() and not changed.elements:
            row = int(np.argmax(differing))
            texts = old[row].tobytes().hex(), piece[row].tobytes().hex()
            changed = OverwrittenInput(0, changed.of, at + row, *texts)
        changed = replace(changed, elements=changed.elements + int(differing.sum()))
        at += piece.size
    return changed

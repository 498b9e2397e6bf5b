"""Arrays of one launch: laid out in shared memory, each memory once, and written back."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpuregress.api.arrays import ArrayBytes
from gpuregress.execution.workers import direct_messages
from gpuregress.execution.workers.direct_messages import Contents

Bytes = npt.NDArray[np.uint8]


@dataclass(slots=True)
class _Entry:
    """An array, and whether the kernel may write it."""

    name: str
    array: ArrayBytes
    is_output: bool
    symbol: str = ""


@dataclass(slots=True)
class CallContents:
    """The arrays of one launch.

    Attributes:
        kernel: for messages.
    """

    kernel: str
    _entries: list[_Entry] = field(default_factory=list)

    def add(self, name: str, array: ArrayBytes, *, is_output: bool, symbol: str = "") -> str:
        """Add an array, and return the name of its buffer; the same memory is one buffer.

        Args:
            name: of the parameter.
            array: what is passed.
            is_output: whether the kernel may write it.
            symbol: the variable that it is, "" for a buffer.

        Raises:
            ValueError: it overlaps another array of the launch.
        """
        for entry in self._entries if not symbol else ():
            if entry.symbol or not entry.array.overlaps(array):
                continue
            if (entry.array.address, entry.array.size) == (array.address, array.size):
                entry.is_output |= is_output
                return entry.name
            raise ValueError(f"{self.kernel}: {entry.name} and {name} overlap in memory; pass one array, or copies")
        self._entries.append(_Entry(name, array, is_output, symbol))
        return name

    def laid_out(self) -> tuple[tuple[Contents, ...], int]:
        """Return the contents of the shared memory, and its bytes."""
        offsets, size = direct_messages.laid_out([entry.array.size for entry in self._entries])
        contents = tuple(
            Contents(entry.name, offset, entry.array.size, max(1, entry.array.itemsize), entry.is_output, entry.symbol)
            for entry, offset in zip(self._entries, offsets, strict=True)
        )
        return contents, size

    def fill(self, memory: Bytes) -> None:
        """Write the arrays into the shared memory."""
        for entry, one in zip(self._entries, self.laid_out()[0], strict=True):
            memory[one.offset : one.offset + one.size] = entry.array.read()

    def take(self, memory: Bytes) -> None:
        """Write the outputs back into the arrays.

        Raises:
            ValueError: the kernel wrote an array that is read-only.
        """
        for entry, one in zip(self._entries, self.laid_out()[0], strict=True):
            if not one.is_output:
                continue
            after = memory[one.offset : one.offset + one.size]
            if not entry.array.is_read_only:
                entry.array.write(after)
            elif not np.array_equal(after, entry.array.read()):
                raise ValueError(f"{self.kernel} wrote {entry.name}, which is read-only")

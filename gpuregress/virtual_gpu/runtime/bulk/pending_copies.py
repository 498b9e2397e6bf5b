"""Bulk copies that have been issued and have not arrived."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpuregress.virtual_gpu.runtime.bulk.reductions import reduced
from gpuregress.virtual_gpu.runtime.bulk.tiles import CHUNK, Bytes
from gpuregress.virtual_gpu.runtime.memory import Region


@dataclass(slots=True, eq=False)
class PendingLoad:
    """A copy to shared memory that has been read and not arrived.

    Attributes:
        target: host address.
        data: to be stored.
        block: host address of the shared memory that it arrives in.
        reduction: operation and type, or ("", "").
        places: of its 16-byte chunks, counted from the target; None: in order.
        is_store: whether it is an asynchronous store of registers.
        reads: what is noted of its reads of global memory.
        issuer: the site and the thread.
        issued: the epoch of the issue, where it is noted.
        source: of one between blocks, what is noted of its read: the host addresses of the shared memory and of the
            bytes, their number and the epoch.
    """

    target: int
    data: Bytes
    block: int
    reduction: tuple[str, str] = ("", "")
    places: npt.NDArray[np.intp] | None = None
    is_store: bool = False
    reads: list[object] = field(default_factory=list)
    issuer: tuple[int, int] = (0, 0)
    issued: int = 0
    source: tuple[int, int, int, int] | None = None

    @property
    def extent(self) -> int:
        """Bytes from the first to the last that is written."""
        return len(self.data) if self.places is None else CHUNK * (int(self.places.max()) + 1)

    def write(self) -> None:
        """Store the data in shared memory."""
        operation, type_ = self.reduction
        data = self.data
        if self.places is not None:
            memory = np.ctypeslib.as_array((ctypes.c_uint8 * self.extent).from_address(self.target))
            memory.reshape(-1, CHUNK)[self.places] = data.reshape(-1, CHUNK)
            return
        if operation:
            old = np.frombuffer(ctypes.string_at(self.target, len(data)), np.uint8)
            data = reduced(old, data, operation, type_)
        ctypes.memmove(self.target, data.ctypes.data, len(data))


@dataclass(slots=True, eq=False)
class PendingStore:
    """A copy to global memory.

    Attributes:
        source: host memory that is read.
        region: the target's.
        places: slices, or offsets, of its bytes.
        order: the source's byte that each of the target's comes from; None: in order.
        reduction: operation and type, or ("", "").
        data: what was read; None before.
        issued: the bytes' host address, their number and the epoch of the issue, where it is noted.
        written: what is noted of its write.
    """

    source: Bytes
    region: Region
    places: slice | npt.NDArray[np.int64]
    order: npt.NDArray[np.int64] | None
    reduction: tuple[str, str]
    data: Bytes | None = None
    issued: tuple[int, int, int] | None = None
    written: object = None

    @property
    def size(self) -> int:
        """Bytes that are written."""
        return len(self.source) if self.order is None else self.order.size

    def read(self) -> None:
        """Read the source, unless that was done."""
        if self.data is None:
            self.data = self.source.copy() if self.order is None else self.source[self.order]

    def write(self) -> None:
        """Store the data in global memory."""
        self.read()
        assert self.data is not None
        operation, type_ = self.reduction
        data = self.data
        if operation:
            data = reduced(np.ascontiguousarray(self.region.data[self.places]), data, operation, type_)
        self.region.data[self.places] = data
        self.source = self.data


@dataclass(slots=True)
class StoreGroups:
    """The stores of one thread: those of each group that is committed, and those that are not."""

    committed: list[list[PendingStore]] = field(default_factory=list)
    current: list[PendingStore] = field(default_factory=list)

"""Memory on the GPU: buffers between their red zones, and the variables of a module."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

import numpy as np

from gpuregress.execution.cuda import cooperative
from gpuregress.foundation.errors import DeviceError
from gpuregress.foundation.records import DEFAULT_HEAP
from gpuregress.gpu.base import Bytes
from gpuregress.gpu.records import MutableRecord, Record

ZONE_SIZE = 4096
"""Bytes on each side: a whole block of 1024 threads that goes one element too far is caught."""


_GOLDEN = 0x9E3779B97F4A7C15
"""2⁶⁴ / φ, odd: its multiples modulo 2⁶⁴ are all different."""


@lru_cache(maxsize=256)
def zone_pattern(address: int) -> Bytes:
    """The bytes of the zone at a device address."""
    first = (address * _GOLDEN + 0xBADDC0DEBADDC0DE) % 2**64
    words = np.arange(ZONE_SIZE // 8, dtype=np.uint64) * np.uint64(_GOLDEN) + np.uint64(first ^ (first >> 29))
    zone = words.view(np.uint8)
    zone.flags.writeable = False
    return zone


class Breach(Record):
    """Changed bytes in a zone.

    Attributes:
        first: the first changed byte, counted from the buffer's start (negative before it).
        last: the last one.
        changed: how many changed between them, both included.
        now: the first few bytes from `first` on.
    """

    first: int
    last: int
    changed: int
    now: bytes


def check_zones(before: Bytes, after: Bytes, size: int, address: int) -> Breach | None:
    """Compare a buffer's zones with their patterns.

    Args:
        before: the zone before it, SIZE bytes.
        after: the zone after it, SIZE bytes.
        size: the buffer's bytes.
        address: the buffer's, on the device.

    Returns:
        The zone after it is looked at first: that is where kernels go wrong. None where both are untouched.
    """
    for zone, start in ((after, size), (before, -ZONE_SIZE)):
        changed = np.flatnonzero(zone != zone_pattern(address + start))
        if changed.size:
            first, last = int(changed[0]), int(changed[-1])
            return Breach(start + first, start + last, int(changed.size), zone[first : first + 16].tobytes())
    return None


def describe_breach(breach: Breach, name: str, size: int, itemsize: int) -> str:
    """`4 bytes written after x: bytes 4000 to 4003, at x[1000] (x has 1000), now 00 00 80 3f`."""
    side = "after" if breach.first >= size else "before"
    span = breach.last - breach.first + 1
    noun = "byte" if span == 1 else "bytes"
    what = f"{breach.changed} {noun}" if breach.changed == span else f"{breach.changed} of {span} bytes"
    span_text = f"byte {breach.first}" if span == 1 else f"bytes {breach.first} to {breach.last}"
    index = breach.first // itemsize
    shown = " ".join(f"{byte:02x}" for byte in breach.now[: min(span, 16)])
    return f"{what} written {side} {name}: {span_text}, at {name}[{index}] ({name} has {size // itemsize}), now {shown}"


class Heap(MutableRecord):
    """The heap of a context.

    Attributes:
        wanted: bytes of it, by the case's job.
        size: bytes that it was given.
        is_used: whether a program was loaded whose kernels may have allocated.
    """

    wanted: int = DEFAULT_HEAP
    size: int = DEFAULT_HEAP
    is_used: bool = False

    @property
    def must_change(self) -> bool:
        """Whether it has another size, or may hold what earlier kernels left."""
        return self.is_used or self.size != self.wanted

    def begin(self) -> None:
        """Note that the context is a new one."""
        self.size, self.is_used = DEFAULT_HEAP, False

    def make(self, api: Any) -> None:
        """Set the size in the current context, where no kernel has used its heap.

        Args:
            api: `pycuda.driver`.
        """
        if self.size != self.wanted:
            api.Context.set_limit(api.limit.MALLOC_HEAP_SIZE, self.wanted)
            self.size = self.wanted


def reset_context(index: int) -> None:
    """Destroy the primary context of a GPU, whoever else in this process holds it.

    Args:
        index: of the GPU, as CUDA counts.
    """
    card = ctypes.c_int()
    cooperative.call("cuDeviceGet", ctypes.byref(card), index)
    cooperative.call("cuDevicePrimaryCtxReset_v2", card)


PIECE = 16 << 20
"""Bytes of one of the two pinned pieces that large reads and writes go through."""

_SMALL = 1 << 20
"""Below this a plain read is as fast as two pinned pieces."""
_LARGE = 2 * PIECE
"""Below this the driver's own copy to the GPU is faster (16 GB/s against 10 on an H200, above it 10 against 11)."""

Guard = Callable[[str], AbstractContextManager[None]]
"""Context that converts the driver's exceptions; takes a description of the work."""


class Staging:
    """Two pinned pieces of host memory, and the stream that copies one while the other is filled or read.

    Args:
        api: `pycuda.driver`, with a current context.
    """

    def __init__(self, api: Any) -> None:
        self._api = api
        self.stream = api.Stream()
        self.pieces = tuple(api.pagelocked_empty(PIECE, np.uint8) for _ in range(2))
        self.done = tuple(api.Event() for _ in range(2))

    def start(self, which: int, address: int, size: int) -> None:
        """Begin to copy from the GPU into one of the pieces."""
        self._api.memcpy_dtoh_async(self.pieces[which][:size], address, self.stream)
        self.done[which].record(self.stream)

    def send(self, address: int, data: Bytes) -> None:
        """Copy bytes to the GPU: one piece is on its way while the next is filled."""
        for number, start in enumerate(range(0, data.size, PIECE)):
            which, piece = number % 2, data[start : start + PIECE]
            if number > 1:
                self.wait(which)  # until its earlier content is on the GPU
            self.pieces[which][: piece.size] = piece
            self._api.memcpy_htod_async(address + start, self.pieces[which][: piece.size], self.stream)
            self.done[which].record(self.stream)
        self.stream.synchronize()

    def wait(self, which: int) -> None:
        """Until that copy is there."""
        self.done[which].synchronize()


class CudaMemory(MutableRecord):
    """A buffer, or a module's variable; follows `gpu.base.Memory`.

    Attributes:
        name: in messages.
        size: bytes.
        address: as kernels see it.
        itemsize: bytes of an element, for messages.
        zoned: whether red zones lie around it.
        writes: how often it was written from the host.
    """

    name: str
    size: int
    address: int
    itemsize: int
    zoned: bool
    _api: Any
    _guard: Guard
    _staging: Callable[[], Staging]
    writes: int = 0

    def write(self, data: Bytes, offset: int = 0) -> None:
        """Copy bytes to the GPU.

        Raises:
            DeviceError: they do not fit, or the GPU refuses.
        """
        self._check_range(offset, data.size)
        self.writes += 1
        if data.size >= _LARGE:
            staging = self._staging()
            with self._guard(f"writing {self.name}"):
                staging.send(self.address + offset, data)
        elif data.size:
            with self._guard(f"writing {self.name}"):
                self._api.memcpy_htod(self.address + offset, np.ascontiguousarray(data))

    def read(self, offset: int = 0, size: int | None = None) -> Bytes:
        """Copy bytes from the GPU into a new array.

        Raises:
            DeviceError: the range is outside, or the GPU refuses.
        """
        count = self.size - offset if size is None else size
        self._check_range(offset, count)
        result = np.empty(count, np.uint8)
        if count < _SMALL:
            if count:
                with self._guard(f"reading {self.name}"):
                    self._api.memcpy_dtoh(result, self.address + offset)
            return result
        at = 0
        for piece in self.read_pieces(offset, count):
            result[at : at + piece.size] = piece
            at += piece.size
        return result

    def read_pieces(self, offset: int = 0, size: int | None = None, *, unit: int = 1) -> Iterator[Bytes]:
        """The bytes in pieces of at most PIECE; the next is on its way while one is used.

        Each piece is a view of pinned memory, valid until the next one is asked for; it holds whole units (bytes of an
        element).
        """
        step = max(1, PIECE // unit) * unit
        end = self.size if size is None else offset + size
        self._check_range(offset, end - offset)
        staging = self._staging()
        starts = range(offset, end, step)
        lengths = [min(step, end - start) for start in starts]
        for number, (start, length) in enumerate(zip(starts, lengths, strict=True)):
            with self._guard(f"reading {self.name}"):
                if number == 0:
                    staging.start(0, self.address + start, length)
                if number + 1 < len(lengths):
                    staging.start((number + 1) % 2, self.address + start + step, lengths[number + 1])
                staging.wait(number % 2)
            yield staging.pieces[number % 2][:length]

    def fill_zones(self) -> None:
        """Write the pattern around the buffer."""
        with self._guard(f"writing around {self.name}"):
            for address in (self.address - ZONE_SIZE, self.address + self.size):
                self._api.memcpy_htod(address, zone_pattern(address))

    def _check_range(self, offset: int, size: int) -> None:
        if offset < 0 or size < 0 or offset + size > self.size:
            raise DeviceError(f"{self.name} has {self.size} bytes; {size} from {offset} on are outside")


class ZoneReader:
    """Read the red zones of all buffers after a launch: all copies under way at once, one wait.

    Args:
        api: `pycuda.driver`, with a current context.
        memories: the buffers with zones.
    """

    def __init__(self, api: Any, memories: tuple[CudaMemory, ...]) -> None:
        self._api = api
        self._memories = memories
        self._pinned = api.pagelocked_empty(max(1, len(memories)) * 2 * ZONE_SIZE, np.uint8)

    def breach(self) -> tuple[CudaMemory, Breach] | None:
        """The first buffer around which something was written, in the order of allocation."""
        zones = self._pinned.reshape(-1, 2, ZONE_SIZE)
        for memory, (before, after) in zip(self._memories, zones, strict=False):
            self._api.memcpy_dtoh_async(before, memory.address - ZONE_SIZE, None)
            self._api.memcpy_dtoh_async(after, memory.address + memory.size, None)
        self._api.Context.synchronize()
        for memory, (before, after) in zip(self._memories, zones, strict=False):
            breach = check_zones(before, after, memory.size, memory.address)
            if breach is not None:
                return memory, breach
        return None

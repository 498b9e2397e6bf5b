"""Races between streams: launches and copies that touch the same bytes, and that nothing orders.

The driver tells the vector clock of each launch and copy (Lamport, "Time, clocks, and the ordering of events in a
distributed system", 1978; Mattern, "Virtual time and global states of distributed systems", 1989).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.runtime.checks.shadow_memory import (
    PLAIN_READ,
    PLAIN_WRITE,
    STRONG_WRITE,
    TouchedBytes,
)

STREAMS = 128
"""Streams whose order the driver follows."""
_ORDER = struct.Struct(f"<II{STREAMS}I{STREAMS}I")
_LENGTH = struct.Struct("<I")
_FREE = "cuMemFreeAsync"
_WRITES = PLAIN_WRITE | STRONG_WRITE
_MOST_BYTES = 1 << 30
"""Of what is remembered of work that nothing orders yet."""


class Clock(Record):
    """When work is done.

    Attributes:
        stream: slot of its stream.
        count: how many pieces of work the stream had with it.
        program: up to when the program knows the work of each stream to be done.
        before: the last work of each stream that is ordered before it.
    """

    stream: int
    count: int
    program: tuple[int, ...]
    before: tuple[int, ...]


class Work(Record):
    """A launch or a copy.

    Attributes:
        name: in messages: `scale (launch 3)`, `cuMemcpyDtoHAsync`.
        kernel: of a launch; "": a copy.
        launch: its number; 0: a copy.
        clock: when.
        touched: the bytes.
        lines: source line of each site of a launch; of a copy none.
    """

    name: str
    clock: Clock
    touched: tuple[TouchedBytes, ...]
    lines: tuple[str, ...] = ()
    kernel: str = ""
    launch: int = 0

    @property
    def size(self) -> int:
        """Bytes that remembering it takes."""
        return sum(item.kinds.nbytes + item.sites.nbytes for item in self.touched)

    def describe(self, kind: int, line: str) -> str:
        """Describe one access of it."""
        action = "write" if kind & _WRITES else "read"
        if self.name == _FREE:
            action = "free"
        place = f" at {line}" if line else ""
        return f"{action} by {self.name} in stream {self.clock.stream + 1}{place}"


class Conflict(Record):
    """Two pieces of work that touch the same byte, one of which writes it.

    Attributes:
        address: of the first such byte.
        accesses: the earlier and the later one, in words.
        launched: the launch, of two the later one.
        lines: of those that have one.
    """

    address: int
    accesses: tuple[str, str]
    launched: Work
    lines: tuple[str, ...]


def read_message(data: bytes) -> tuple[Clock, str, tuple[TouchedBytes, ...]]:
    """Read what the driver tells of work: its clock, the name of a copy ("" for a launch), what a copy touches."""
    stream, used, *clocks = _ORDER.unpack_from(data)
    (length,) = _LENGTH.unpack_from(data, _ORDER.size)
    start = _ORDER.size + _LENGTH.size
    call = data[start : start + length].decode()
    rows = np.frombuffer(data, np.uint64, offset=start + length).reshape(-1, 3)
    before = tuple(clocks[STREAMS : STREAMS + used])
    clock = Clock(stream=stream, count=before[stream], program=tuple(clocks[:used]), before=before)
    return clock, call.removesuffix("_v2"), tuple(_copied(rows))


def _copied(rows: npt.NDArray[np.uint64]) -> Iterator[TouchedBytes]:
    for address, size, is_write in rows.tolist():
        kind = PLAIN_WRITE if is_write else PLAIN_READ
        yield TouchedBytes(address, 1, np.full(size, kind, np.uint8), np.zeros(0, np.uint16))


class StreamRaces:
    """The work of a program that the program has not waited for yet."""

    def __init__(self) -> None:
        self._open: list[Work] = []
        self.is_cut = False

    def add(self, work: Work) -> Iterator[Conflict]:
        """Add work that is done now, and find what it conflicts with."""
        known = work.clock.program
        self._open = [earlier for earlier in self._open if not _is_past(earlier.clock, known)]
        for earlier in self._open:
            if not _is_past(earlier.clock, work.clock.before):
                yield from _conflicts(earlier, work)
        self._open.append(work)
        while sum(item.size for item in self._open) > _MOST_BYTES:
            self._open.pop(0)
            self.is_cut = True

    def forget(self, address: int, end: int) -> None:
        """Forget what was touched of memory that is freed: others may get its addresses."""
        for index, work in enumerate(self._open):
            left = tuple(item for item in work.touched if item.end <= address or item.address >= end)
            self._open[index] = replace(work, touched=left)


def _is_past(clock: Clock, known: tuple[int, ...]) -> bool:
    return clock.stream < len(known) and known[clock.stream] >= clock.count


def _conflicts(earlier: Work, later: Work) -> Iterator[Conflict]:
    """The first conflict of each stretch."""
    for first in earlier.touched:
        for second in later.touched:
            start, end = max(first.address, second.address), min(first.end, second.end)
            if start >= end:
                continue
            kinds, others = _bytes(first, start, end), _bytes(second, start, end)
            places = np.flatnonzero(_are_racing(kinds, others))
            if not len(places):
                continue
            address, place = start + int(places[0]), int(places[0])
            lines = _line(earlier, first, address), _line(later, second, address)
            accesses = (
                earlier.describe(int(kinds[place]), lines[0]),
                later.describe(int(others[place]), lines[1]),
            )
            yield Conflict(address, accesses, later if later.kernel else earlier, tuple(filter(None, lines)))


def _bytes(touched: TouchedBytes, start: int, end: int) -> npt.NDArray[np.uint8]:
    first = (start - touched.address) // touched.step
    last = -(-(end - touched.address) // touched.step)
    kinds = np.repeat(touched.kinds[first:last], touched.step)
    skipped = start - touched.address - first * touched.step
    return kinds[skipped : skipped + end - start]


def _are_racing(kinds: npt.NDArray[np.uint8], others: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Whether two accesses of each byte race: one writes, and not both are strong, as atomics are."""
    plain = PLAIN_READ | PLAIN_WRITE
    racing: npt.NDArray[np.bool_] = ((kinds & PLAIN_WRITE) != 0) & (others != 0)
    racing |= ((others & PLAIN_WRITE) != 0) & (kinds != 0)
    racing |= ((kinds & STRONG_WRITE) != 0) & ((others & plain) != 0)
    racing |= ((others & STRONG_WRITE) != 0) & ((kinds & plain) != 0)
    return racing


def _line(work: Work, touched: TouchedBytes, address: int) -> str:
    if not len(touched.sites):
        return ""
    site = int(touched.sites[(address - touched.address) // touched.step])
    return work.lines[site] if site < len(work.lines) else ""

"""Memory of the kernels' heap: size classes made on demand, and the allocation of an address.

Compiled code allocates and frees by itself (`builder.heap`). It asks Python for a class's memory once. That
is reserved for as many cells as the limit allows, takes no memory before it is touched, and never moves.
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.architectures import DEFAULT_HEAP
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime.machine_layout import HEAP_CLASSES, HEAP_FIRST, REGION_SHIFT, region_of, slot_of

# --- size classes -----------------------------------------------------------------------------------------------------
# Size classes of the heap of kernels, and the layout of its records.
#
# Each class has a slot of the address space, divided into cells of one power of two; an allocation starts a quarter
# into its cell. So an address names its allocation by a shift (low-fat pointers: Duck and Yap, CC 2016), and what
# follows or precedes an allocation belongs to no other one. The host's memory has no such gaps.

GRANULE = 16
"""Bytes to which the size of an allocation is rounded up when it is counted, and the smallest class."""
LEAST_SHIFT = GRANULE.bit_length() - 1
LEAST_CELL_SHIFT = 12
"""Cells have 4 KiB or more: an allocation starts at a multiple of 1024, and an overrun by a few hundred is found."""

HEADER = ("used", "limit", "live", "module")
"""Words of the heap's header: bytes and allocations that are held, the limit, and the number of the module that runs,
shifted left by 32 bits. An allocation of 0 bytes has an address, as on a GPU."""
CLASS = ("cells", "arena", "fresh", "count", "head", "tail", "cell_shift", "host_shift", "base")
"""Words of a class's record: host pointers to its cells' records (0: it has none yet) and to its memory; the number of
cells that were used, and of all; the first and last of those that are free again (counted from 1; 0: none); log2 of
the bytes of a cell and of its memory; the address of the first cell."""
CELL = ("size", "born", "died", "next")
"""Words of a cell's record: bytes, with `FREED` where it has been freed; where that was allocated and freed (module,
site); the next free cell."""
FREED = 1 << 63

HEADER_BYTES = 64
CLASS_SHIFT, CELL_SHIFT = 7, 5
"""Log2 of the bytes of a class's and a cell's record."""
CONTROL_BYTES = HEADER_BYTES + (HEAP_CLASSES << CLASS_SHIFT)


def host_shift(number: int) -> int:
    """Log2 of the bytes of memory that each cell of a class has."""
    return number + LEAST_SHIFT


def cell_shift(number: int) -> int:
    """Log2 of the addresses of a cell: four times its memory, or more."""
    return max(host_shift(number) + 2, LEAST_CELL_SHIFT)


def base(number: int) -> int:
    """The address of a class's first cell."""
    return slot_of(HEAP_FIRST + number) << REGION_SHIFT


# --- device heap ------------------------------------------------------------------------------------------------------

_FEWEST_CELLS = 8
_RESERVE_ONLY = getattr(mmap, "MAP_NORESERVE", 0x4000)

Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]


class Allocation(Record):
    """An allocation of a kernel, held or freed.

    Attributes:
        address: its first byte.
        size: bytes.
        data: its memory.
        born: the site of its malloc, with its module's number in the upper half.
        died: the site of its free; None while it is held.
    """

    address: int
    size: int
    data: Bytes
    born: int
    died: int | None


class DeviceHeap:
    """The heap of one device.

    Args:
        table: the table of regions, in which each class has a row.

    Attributes:
        control: header and records of the classes, for compiled code.
    """

    def __init__(self, table: Words) -> None:
        self._table = table
        self.control: Words = np.zeros(CONTROL_BYTES // 8, np.uint64)
        self._memory: dict[int, tuple[Words, Bytes]] = {}
        self.clear(DEFAULT_HEAP)

    @property
    def limit(self) -> int:
        """Bytes that kernels may hold at once."""
        return int(self.control[HEADER.index("limit")])

    @property
    def used(self) -> int:
        """Bytes that kernels hold, each allocation rounded up to a granule."""
        return int(self.control[HEADER.index("used")])

    @property
    def is_untouched(self) -> bool:
        """Whether kernels have allocated nothing since it was cleared."""
        return not self._memory

    def clear(self, limit: int | None = None) -> None:
        """Free everything; set the limit in bytes where one is given."""
        if limit is None:
            limit = self.limit
        self._memory.clear()
        self.control[:] = 0
        for number in range(HEAP_CLASSES):
            self._table[region_of(base(number))] = 0
        self.control[HEADER.index("limit")] = limit

    def enter(self, module: int) -> None:
        """Note the number of the module whose kernel runs."""
        self.control[HEADER.index("module")] = module << 32

    def add_class(self, number: int) -> bool:
        """Reserve the memory of a size class; return whether there is any."""
        shift, step = cell_shift(number), host_shift(number)
        least = max(GRANULE, 1 << step >> 1)
        count = min(2 * self.limit // least + _FEWEST_CELLS, (1 << REGION_SHIFT) >> shift)
        try:
            cells, arena = reserve(count << CELL_SHIFT), reserve(count << step)
        except (OSError, ValueError, OverflowError):
            return False
        record = self._record(number)
        self._memory[number] = cells.view(np.uint64), arena
        values = {"cells": cells.ctypes.data, "arena": arena.ctypes.data, "count": count}
        values |= {"cell_shift": shift, "host_shift": step, "base": base(number)}
        for name, value in values.items():
            record[CLASS.index(name)] = value
        self._table[region_of(base(number))] = 0, 0, 0, record.ctypes.data
        return True

    def host_address(self, number: int) -> int:
        """The host address of the memory of a size class; 0 where it has none."""
        if number not in self._memory:
            return 0
        return int(self._memory[number][1].ctypes.data)

    def host_size(self, number: int) -> int:
        """Bytes that are reserved for a size class."""
        return self._memory[number][1].size if number in self._memory else 0

    def find(self, address: int) -> Allocation | None:
        """Return the allocation whose cell holds an address, inside the allocation or not."""
        for number in self._memory:
            if region_of(address) == region_of(base(number)):
                return self._find_in(number, address)
        return None

    def _find_in(self, number: int, address: int) -> Allocation | None:
        cell = (address - base(number)) >> cell_shift(number)
        if not 0 <= cell < int(self._record(number)[CLASS.index("fresh")]):
            return None
        return self._allocation(number, cell)

    def _allocation(self, number: int, cell: int) -> Allocation:
        """The allocation in a cell of a size class."""
        shift, step = cell_shift(number), host_shift(number)
        cells, arena = self._memory[number]
        row = cells[len(CELL) * cell : len(CELL) * (cell + 1)].tolist()
        size, born, died = row[CELL.index("size")], row[CELL.index("born")], row[CELL.index("died")]
        start = base(number) + (cell << shift) + (1 << shift >> 2)
        length = size & ~FREED
        data = arena[cell << step : (cell << step) + length]
        return Allocation(start, length, data, born, died if size & FREED else None)

    def held(self) -> Iterator[Allocation]:
        """The allocations that are not freed, by the sizes of their classes."""
        for number in self._memory:
            used = int(self._record(number)[CLASS.index("fresh")])
            allocations = (self._allocation(number, cell) for cell in range(used))
            yield from (allocation for allocation in allocations if allocation.died is None)

    def _record(self, number: int) -> Words:
        start = (HEADER_BYTES + (number << CLASS_SHIFT)) // 8
        return self.control[start : start + len(CLASS)]


def reserve(size: int, *, is_dense: bool = False) -> Bytes:
    """Memory that is zero, and takes none of the machine's before it is touched.

    Args:
        size: bytes.
        is_dense: whether most of it will be touched: then the machine may give it in huge pages.
    """
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _RESERVE_ONLY
    found = mmap.mmap(-1, max(size, mmap.PAGESIZE), flags=flags)
    if is_dense and hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without huge pages
            found.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(found, np.uint8)

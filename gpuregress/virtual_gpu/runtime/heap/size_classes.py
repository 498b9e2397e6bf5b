"""Size classes of the heap of kernels, and the layout of its records.

Each class has a slot of the address space, divided into cells of one power of two; an allocation starts a quarter into
its cell. So an address names its allocation by a shift (low-fat pointers: Duck and Yap, CC 2016), and what follows or
precedes an allocation belongs to no other one. The host's memory has no such gaps.
"""

from __future__ import annotations

from gpuregress.virtual_gpu.runtime.machine_layout import HEAP_CLASSES, HEAP_FIRST, REGION_SHIFT, slot_of

GRANULE = 16
"""Bytes to which the size of an allocation is rounded up when it is counted, and the smallest class."""
LEAST_SHIFT = GRANULE.bit_length() - 1
LEAST_CELL_SHIFT = 12
"""Cells have 4 KiB or more: an allocation starts at a multiple of 1024, and an overrun by a few hundred is found."""

HEADER = ("used", "limit", "live", "module")
"""Words of the heap's header: bytes and allocations that are held, the limit, and the number of the module that runs,
shifted left by 32 bits. An allocation of 0 bytes has an address, as on a card."""
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


def class_of(size: int) -> int:
    """The class of an allocation of so many bytes, from 1."""
    return max((size - 1).bit_length(), LEAST_SHIFT) - LEAST_SHIFT


def host_shift(number: int) -> int:
    """Log2 of the bytes of memory that each cell of a class has."""
    return number + LEAST_SHIFT


def cell_shift(number: int) -> int:
    """Log2 of the addresses of a cell: four times its memory, or more."""
    return max(host_shift(number) + 2, LEAST_CELL_SHIFT)


def base(number: int) -> int:
    """The address of a class's first cell."""
    return slot_of(HEAP_FIRST + number) << REGION_SHIFT

"""Regions of device memory, and the table in which compiled code finds them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.errors import DeviceError
from gpuregress.virtual_gpu.runtime.device_heap import Allocation, DeviceHeap
from gpuregress.virtual_gpu.runtime.machine_layout import (
    FIRST_REGION,
    HEAP_FIRST,
    MAX_REGIONS,
    REGION_SHIFT,
    region_address,
    region_of,
)
from gpuregress.virtual_gpu.runtime.program import ModuleFacts

Bytes = npt.NDArray[np.uint8]
_ALIGNMENT = 256


class Region:
    """A region of device memory: a buffer, a module's variable, or memory from a kernel's malloc.

    Args:
        number: its row in the table.
        name: in messages.
        size: bytes.
        itemsize: bytes of an element, for messages.
        zeros: whether it holds zeros, which take no memory before they are touched; otherwise it holds anything.
        data: its memory, where somebody else has allocated that.
        address: of its first byte, in the slot of its number; None: the usual one.

    Attributes:
        is_filled: whether its contents count as written before a kernel writes them.
        written: offset and size of the stretches that count as written since the last launch, where the others do not.
    """

    def __init__(
        self,
        number: int,
        name: str,
        size: int,
        itemsize: int,
        *,
        zeros: bool = False,
        data: Bytes | None = None,
        address: int | None = None,
    ) -> None:
        self.number, self.name, self.size, self.itemsize = number, name, size, max(1, itemsize)
        self.address = region_address(number) if address is None else address
        self.is_filled = zeros
        self.written: list[tuple[int, int]] = []
        if data is not None:
            self.data, self.host = data, int(data.ctypes.data)
            return
        try:
            block = np.zeros(size + _ALIGNMENT, np.uint8) if zeros else np.empty(size + _ALIGNMENT, np.uint8)
        except MemoryError as error:
            raise DeviceError(f"{name}: there is no memory for {size} bytes") from error
        start = -block.ctypes.data % _ALIGNMENT
        self.data = block[start : start + size]
        self.host = int(block.ctypes.data) + start

    @classmethod
    def of_heap(cls, allocation: Allocation) -> Region:
        """An allocation of a kernel's as a region, which has no row in the table."""
        size, data = allocation.size, allocation.data
        return cls(0, "malloc'ed memory", size, 1, zeros=True, data=data, address=allocation.address)

    def write(self, data: Bytes, offset: int = 0) -> None:
        """Copy bytes (one dimension, uint8) to the region."""
        flat = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self._check(offset, flat.size)
        self.data[offset : offset + flat.size] = flat
        self.is_filled = True

    def read(self, offset: int = 0, size: int | None = None) -> Bytes:
        """Copy bytes from the region into a new array; all from `offset` on where no size is given."""
        count = self.size - offset if size is None else size
        self._check(offset, count)
        return self.data[offset : offset + count].copy()

    def _check(self, offset: int, count: int) -> None:
        if offset < 0 or count < 0 or offset + count > self.size:
            raise DeviceError(f"{self.name} has {self.size} bytes: {count} from byte {offset} on are outside")


class AddressSpace:
    """All regions of a device, and the heap of its kernels.

    Args:
        rows: the numbers that regions may have; those above `MAX_REGIONS` are given by `place`.

    Attributes:
        table: a row for each region that there may ever be. Compiled code holds its address, so it never moves; rows
            that were never used take no memory.
        heap: of the kernels.
    """

    def __init__(self, rows: int = MAX_REGIONS) -> None:
        self._regions: dict[int, Region] = {}
        self._free: list[int] = []
        self._next = FIRST_REGION
        self.table = np.zeros((rows, 4), np.uint64)
        self.heap = DeviceHeap(self.table)

    def allocate(self, name: str, size: int, itemsize: int = 1, *, zeros: bool = False) -> Region:
        """A new region, its contents undefined, or zeros.

        Raises:
            DeviceError: no memory, or too many regions.
        """
        if not 0 <= size < 1 << (REGION_SHIFT - 2):
            raise DeviceError(f"{name}: {size} bytes are more than an address can reach")
        number = self._free.pop() if self._free else self._next
        if number >= HEAP_FIRST:
            raise DeviceError(f"{name}: there are {HEAP_FIRST - FIRST_REGION} regions already")
        region = Region(number, name, size, itemsize, zeros=zeros, data=self.memory(size))
        self._next = max(self._next, number + 1)
        self._add(region)
        return region

    def memory(self, size: int) -> Bytes | None:  # noqa: ARG002 - a default
        """Memory for a region, zeros; None: it has memory of its own."""
        return None

    def place(self, name: str, address: int, data: Bytes) -> Region:
        """A new region in memory that somebody else has allocated, at an address in a slot that no other region has.

        Raises:
            DeviceError: the slot is taken, or no row of the table stands for it.
        """
        number = region_of(address)
        if not 0 < number < len(self.table) or number in self._regions:
            raise DeviceError(f"{name}: no region can begin at {address:#x}")
        region = Region(number, name, data.size, 1, data=data, address=address)
        self._add(region)
        return region

    def _add(self, region: Region) -> None:
        self.table[region.number] = region.host, region.size, region.address, 0
        self._regions[region.number] = region

    @property
    def size(self) -> int:
        """Bytes of all regions."""
        return sum(region.size for region in self._regions.values())

    def free(self, address: int) -> bool:
        """Free the region that starts at an address; False where none does."""
        region = self._regions.get(region_of(address))
        if region is None or region.address != address:
            return False
        del self._regions[region.number]
        self.table[region.number] = 0
        if region.number < HEAP_FIRST:
            self._free.append(region.number)
        return True

    def find(self, address: int) -> Region | None:
        """Return the region or held allocation whose slot or cell holds an address, inside of it or not."""
        region = self._regions.get(region_of(address))
        if region is not None:
            return region
        allocation = self.heap.find(address)
        if allocation is None or allocation.died is not None:
            return None
        return Region.of_heap(allocation)

    def named(self, name: str) -> Region | None:
        """The first region of this name."""
        for region in self._regions.values():
            if region.name == name:
                return region
        return None

    def all(self) -> tuple[Region, ...]:
        """All regions, those of the kernels' heap excepted."""
        return tuple(self._regions.values())

    def clear(self) -> None:
        """Free all."""
        self.table[list(self._regions)] = 0
        self._regions.clear()
        self._free.clear()
        self._next = FIRST_REGION
        self.heap.clear()


def offset_in(region: Region, address: int) -> int:
    """An address's distance from the region's first byte, as a signed 64-bit number; negative before it."""
    return ((address - region.address + (1 << 63)) & (1 << 64) - 1) - (1 << 63)


# --- variables --------------------------------------------------------------------------------------------------------
# Memory of a loaded module's variables: a region each, with its initial contents.


def allocate_variables(facts: ModuleFacts, space: AddressSpace) -> dict[str, Region]:
    """Allocate a region for each variable, then fill them: one may hold another's address.

    Raises:
        DeviceError: an initializer names something that is not there.
    """
    regions = {item.name: space.allocate(item.name, item.size, item.itemsize, zeros=True) for item in facts.variables}
    for item in facts.variables:
        data = bytearray.fromhex(item.data)
        for slot in item.relocations:
            value = _address(facts, regions, slot.symbol, item.name) + slot.addend >> slot.shift
            end = slot.offset + slot.size
            data.extend(bytes(max(0, end - len(data))))
            data[slot.offset : end] = (value & (1 << 8 * slot.size) - 1).to_bytes(slot.size, "little")
        regions[item.name].write(np.frombuffer(bytes(data), np.uint8))
    return regions


def _address(facts: ModuleFacts, regions: dict[str, Region], symbol: str, variable: str) -> int:
    if symbol in regions:
        return regions[symbol].address
    if symbol in facts.functions:
        return facts.functions[symbol]
    raise DeviceError(f"the initializer of {variable} names {symbol}, which is not defined")

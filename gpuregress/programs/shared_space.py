"""Device memory in a file without a name that a program and its server both map: a copy is a memcpy."""

from __future__ import annotations

import mmap

import numpy as np

from gpuregress.gpu.errors import DeviceError
from gpuregress.programs.environment import NOTES, SHARED_BYTES
from gpuregress.virtual_gpu.runtime.machine_layout import SLOT_BITS
from gpuregress.virtual_gpu.runtime.memory import AddressSpace, Bytes, Region

_HEAD_BYTES = 1 << 20
"""What the file begins with: the number of the notes, then address and size of each."""
_PAGE = mmap.PAGESIZE
_MADV_REMOVE = 9
"""Of Linux; the module `mmap` has it where the headers did."""


class SharedSpace(AddressSpace):
    """The regions of a device whose memory lies in a file that another process maps, too.

    Args:
        descriptor: of the file.
    """

    def __init__(self, descriptor: int) -> None:
        # Each slot has a row: managed memory begins at addresses of the program's own choice.
        super().__init__(1 << SLOT_BITS)
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_NORESERVE", 0)
        self._file = mmap.mmap(descriptor, SHARED_BYTES, flags)
        self._bytes: Bytes = np.frombuffer(self._file, np.uint8)
        self._start = int(self._bytes.ctypes.data)
        self._end = _HEAD_BYTES
        self._unused: dict[int, list[int]] = {}
        self._aliases: set[int] = set()
        self._notes = self._bytes[: 8 + 16 * NOTES].view(np.uint64)

    def memory(self, size: int) -> Bytes:
        """Memory of the file for a region, zeros.

        Raises:
            DeviceError: all addresses of the file are taken.
        """
        room = _room(size)
        if self._unused.get(room):
            offset = self._unused[room].pop()
        else:
            offset, self._end = self._end, self._end + room
        if self._end > SHARED_BYTES:
            raise DeviceError(f"there is no memory for {size} bytes")
        return self._bytes[offset : offset + size]

    def place_alias(self, address: int, region: Region) -> None:
        """Make the memory of a region accessible at a second address.

        Raises:
            DeviceError: another region is there.
        """
        self.place(region.name, address, region.data).is_filled = True
        self._aliases.add(address)

    def free(self, address: int) -> bool:
        """Free the region that starts at an address; False where none does."""
        region = self.find(address)
        if region is None or not super().free(address):
            return False
        if address in self._aliases:
            self._aliases.remove(address)
            return True
        offset, room = self.offset(region), _room(region.size)
        self._file.madvise(_MADV_REMOVE, offset, room)  # The pages are given back, and are zeros again.
        self._unused.setdefault(room, []).append(offset)
        return True

    def offset(self, region: Region) -> int:
        """Where a region begins in the file."""
        return region.host - self._start

    def take_notes(self) -> None:
        """Note in each region what the program has written since the last launch."""
        count = int(self._notes[0])
        if count > NOTES:
            for region in self.all():
                region.is_filled = True
        for address, size in self._notes[1 : 1 + 2 * min(count, NOTES)].reshape(-1, 2).tolist():
            found = self.find(address)
            if found is not None:
                found.written.append((address - found.address, size))
        self._notes[0] = 0


def _room(size: int) -> int:
    """The bytes that a region takes in the file: of few kinds, so that others of about its size fit there later."""
    pages = -(-max(1, size) // _PAGE)
    unit = 1 << max(0, pages.bit_length() - 4)
    return -(-pages // unit) * unit * _PAGE

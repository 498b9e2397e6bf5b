"""Hash table of the shadow values of memory, which compiled code fills."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpuregress.virtual_gpu.runtime.machine_layout import SHADOW_SIZE_SHIFT
from gpuregress.virtual_gpu.runtime.memory import Bytes

_LEAST, _MOST = 1 << 18, 1 << 26
_WORDS = np.dtype([("key", "<u8"), ("bits", "<u8"), ("high", "<f8"), ("low", "<f8")])
Values = npt.NDArray[np.float64]


class ShadowTable:
    """The shadows of all memory of a device.

    Args:
        memory_bytes: of all regions; there is room for twice as many elements of four bytes.
    """

    def __init__(self, memory_bytes: int) -> None:
        wanted = _LEAST + memory_bytes // 2
        self.rows = np.zeros(min(_MOST, 1 << (wanted - 1).bit_length()), _WORDS)

    def read(self, host: int, data: Bytes, itemsize: int) -> tuple[Values, Values, npt.NDArray[np.bool_]]:
        """Return both parts of the shadow of each element, and which elements have one.

        Args:
            host: address of the first element.
            data: the memory as it is.
            itemsize: bytes of an element.
        """
        count = len(data) // itemsize
        high, low, known = np.zeros(count), np.zeros(count), np.zeros(count, np.bool_)
        size = self.rows["key"] >> np.uint64(SHADOW_SIZE_SHIFT)
        address = self.rows["key"] & np.uint64((1 << SHADOW_SIZE_SHIFT) - 1)
        inside = (size == itemsize) & (address >= host) & (address < host + count * itemsize)
        rows = self.rows[inside]
        offsets = address[inside] - np.uint64(host)
        rows, offsets = rows[offsets % itemsize == 0], offsets[offsets % itemsize == 0]
        numbers = (offsets // np.uint64(itemsize)).astype(np.int64)
        now = data[: count * itemsize].view(f"<u{itemsize}").astype(np.uint64)
        valid = now[numbers] == rows["bits"]
        numbers, rows = numbers[valid], rows[valid]
        high[numbers], low[numbers], known[numbers] = rows["high"], rows["low"], True
        return high, low, known

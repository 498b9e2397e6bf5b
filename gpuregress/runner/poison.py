"""What outputs hold before the first launch, and which elements still hold it afterwards.

The 16-bit word 0x7ffd over and over is a NaN as float16, bfloat16, float32 and float64, 2147319805 as int32 and 32765
as int16, and never a result by accident. What still holds it was never written; it is counted where the raw bytes are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.devices.base import Bytes

POISON = bytes.fromhex("fd7f")
MOST_RANGES = 2048
Array = npt.NDArray[np.generic]


def poison(size: int) -> Bytes:
    """`size` bytes of the pattern that outputs hold before the first launch."""
    word = np.frombuffer(POISON, np.uint8)
    return np.resize(word, size)


def unwritten(array: Array) -> dict[str, Any] | None:
    """Which elements still hold the poison: None, or how many, the first, the last and the first few ranges.

    Args:
        array: any shape and storage dtype, as it was read from the device.

    Returns:
        `{"elements": 3, "of": 8, "ranges": [[5, 8]]}`, ranges half open; where there are more, the first MOST_RANGES.
    """
    if array.size == 0:
        return None
    untouched = _holds_poison(array)
    if not untouched.any():
        return None
    edges = np.flatnonzero(np.diff(np.concatenate(([False], untouched, [False])).astype(np.int8)))
    ranges = edges.reshape(-1, 2)
    return {"elements": int(untouched.sum()), "of": int(array.size), "ranges": ranges[:MOST_RANGES].tolist()}


def _holds_poison(array: Array) -> npt.NDArray[np.bool_]:
    size = array.dtype.itemsize
    if size in (2, 4, 8):
        words = as_bytes(array).view(f"<u{size}")
        return np.asarray(words == int.from_bytes(POISON * (size // 2), "little"))
    rows = as_bytes(array).reshape(array.size, size)
    untouched = np.asarray((rows == poison(size)).all(axis=1))
    if size % 2:  # every other element of an odd size starts at the pattern's second byte
        untouched[1::2] = (rows[1::2] == poison(size + 1)[1:]).all(axis=1)
    return untouched


def as_bytes(array: Array) -> Bytes:
    """An array's memory as one row of bytes, without a copy where it is contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)

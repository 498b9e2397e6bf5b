"""What outputs hold before the first launch, and which elements still hold it afterwards.

The 16-bit word 0x7ffd over and over is a NaN as float16, bfloat16, float32 and float64, 2147319805 as int32 and 32765
as int16, and never a result by accident. What still holds it was never written; it is counted where the raw bytes are.
A second run under the complement of every bit makes a proof of it: no result equals both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.devices.base import Bytes

POISON = bytes.fromhex("fd7f")
COMPLEMENT = bytes(255 - byte for byte in POISON)
MOST_RANGES = 2048
Array = npt.NDArray[np.generic]


def poison(size: int, word: bytes = POISON) -> Bytes:
    """`size` bytes of the pattern that outputs hold before the first launch.

    Args:
        size: how many.
        word: two bytes, over and over.
    """
    return np.resize(np.frombuffer(word, np.uint8), size)


def unwritten(array: Array) -> dict[str, Any] | None:
    """Which elements still hold the poison: None, or how many, the first, the last and the first few ranges.

    Args:
        array: any shape and storage dtype, as it was read from the device.

    Returns:
        `{"elements": 3, "of": 8, "ranges": [[5, 8]]}`, ranges half open; where there are more, the first MOST_RANGES.
    """
    return unwritten_in([array])


def unwritten_in(pieces: Iterable[Array]) -> dict[str, Any] | None:
    """`unwritten` of a buffer that comes in pieces."""
    count, at, ranges = 0, 0, list[list[int]]()
    for piece in pieces:
        if at * piece.dtype.itemsize % len(POISON):
            untouched = holds(piece, POISON[1:] + POISON[:1])  # an odd element size: the pattern's other byte is first
        else:
            untouched = holds(piece, POISON)
        count += int(untouched.sum())
        _extend(ranges, untouched, at)
        at += piece.size
    return {"elements": count, "of": at, "ranges": ranges[:MOST_RANGES]} if count else None


def proven_unwritten(first: Array, second: Array) -> dict[str, Any] | None:
    """Which elements hold each run's own poison after two runs: those nobody wrote; as `unwritten` tells them.

    Args:
        first: after the run under POISON.
        second: after the run under COMPLEMENT; the same shape and dtype.
    """
    untouched = holds(first, POISON) & holds(second, COMPLEMENT)
    ranges: list[list[int]] = []
    _extend(ranges, untouched, 0)
    count = int(untouched.sum())
    return {"elements": count, "of": int(first.size), "ranges": ranges[:MOST_RANGES]} if count else None


def poison_shows(first: Array, second: Array) -> dict[str, int] | None:
    """The written elements that two runs under two poisons leave different: what was there before shows in them.

    Args:
        first: after the run under POISON.
        second: after the run under COMPLEMENT; the same shape and dtype.

    Returns:
        `{"elements": 2, "of": 8, "first": 5}`, or None where there are none.
    """
    size = first.dtype.itemsize
    rows = as_bytes(first).reshape(first.size, size), as_bytes(second).reshape(first.size, size)
    differing = np.asarray((rows[0] != rows[1]).any(axis=1)) & ~(holds(first, POISON) & holds(second, COMPLEMENT))
    places = np.flatnonzero(differing)
    return {"elements": places.size, "of": int(first.size), "first": int(places[0])} if places.size else None


def holds(array: Array, word: bytes) -> npt.NDArray[np.bool_]:
    """For each element, whether every byte of it is still the pattern's; flat.

    Args:
        array: any shape and storage dtype; its first byte lies where the pattern begins.
        word: the pattern's two bytes.
    """
    size = array.dtype.itemsize
    if size in (2, 4, 8):
        words = as_bytes(array).view(f"<u{size}")
        return np.asarray(words == int.from_bytes(word * (size // 2), "little"))
    rows = as_bytes(array).reshape(array.size, size)
    untouched = np.asarray((rows == poison(size, word)).all(axis=1))
    if size % 2:  # every other element of an odd size starts at the pattern's second byte
        untouched[1::2] = (rows[1::2] == poison(size + 1, word)[1:]).all(axis=1)
    return untouched


def as_bytes(array: Array) -> Bytes:
    """An array's memory as one row of bytes, without a copy where it is contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _extend(ranges: list[list[int]], untouched: npt.NDArray[np.bool_], at: int) -> None:
    """Adds the stretches of a piece that begins at element `at`; one that goes on over the border stays one."""
    if len(ranges) > MOST_RANGES or not untouched.any():
        return
    edges = np.flatnonzero(np.diff(np.concatenate(([False], untouched, [False])).astype(np.int8)))
    found = (edges.reshape(-1, 2)[: MOST_RANGES + 1] + at).tolist()
    if ranges and found and ranges[-1][1] == found[0][0]:
        ranges[-1][1] = found.pop(0)[1]
    ranges += found

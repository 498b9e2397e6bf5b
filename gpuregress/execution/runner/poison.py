"""Poison pattern of outputs, and detection of elements that were never written.

The 16-bit word 0x7ffd over and over is a NaN as float16, bfloat16, float32 and float64, 2147319805 as int32 and 32765
as int16, and never a result by accident. Elements that still hold it were never written.
A second run under the complement of every bit makes a proof of it: no result equals both.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.records import PoisonDependence, UnwrittenElements, WriteSurvey
from gpuregress.gpu.base import Bytes
from gpuregress.gpu.records import Record, replace

POISON = bytes.fromhex("fd7f")
COMPLEMENT = bytes(255 - byte for byte in POISON)
MOST_RANGES = 2048
Array = npt.NDArray[np.generic]


def poison(size: int, word: bytes = POISON) -> Bytes:
    """Return `size` bytes of the pattern.

    Args:
        size: how many.
        word: two bytes, over and over.
    """
    whole = np.tile(np.frombuffer(word, np.uint8), -(-size // len(word)))  # np.resize takes 4 ms for 64 KiB
    return whole[:size]


class Survey(Record):
    """Counts over the elements of one buffer.

    Attributes:
        nan: elements with a NaN that is not the poison.
        partly: elements of which one part holds the poison and another does not.
        unwritten: elements that hold the poison; None if there are none.
    """

    nan: int
    partly: int
    unwritten: UnwrittenElements | None

    def added_to(self, writes: WriteSurvey, buffer: str, *, is_unchanged: bool) -> WriteSurvey:
        """Add the counts of a buffer."""
        writes = replace(writes, nan={**writes.nan, buffer: self.nan})
        if self.unwritten:
            writes = replace(writes, unwritten={**writes.unwritten, buffer: self.unwritten})
        if self.partly:
            writes = replace(writes, partly={**writes.partly, buffer: self.partly})
        if is_unchanged:
            writes = replace(writes, unchanged=(*writes.unchanged, buffer))
        return writes


def survey(pieces: Iterable[Array], element: ElementType, *, poisoned: bool = True) -> Survey:
    """Count the elements that still hold the poison, and those that are NaN.

    Args:
        pieces: the buffer's elements in order, each piece of any shape; storage dtype of `element`.
        element: the element type.
        poisoned: whether the buffer held the poison before the first launch; without it only NaNs are counted.
    """
    count = partly = nans = start = 0
    ranges: list[list[int]] = []
    for piece in pieces:
        flat = piece.reshape(-1)
        untouched = np.zeros(flat.size, np.bool_)
        if poisoned:
            untouched = _holds_from(flat, start)
            count += int(untouched.sum())
            _extend(ranges, untouched, start)
            if len(element.parts) > 1:
                partly += int((_poisoned_long_parts(flat, element).any(axis=1) & ~untouched).sum())
        nans += int((_has_nan(flat, element) & ~untouched).sum())
        start += flat.size
    return Survey(nans, partly, _unwritten(count, start, ranges))


def _unwritten(count: int, of: int, ranges: list[list[int]]) -> UnwrittenElements | None:
    if not count:
        return None
    return UnwrittenElements(count, of, tuple((first, last) for first, last in ranges[:MOST_RANGES]))


def _holds_from(flat: Array, at: int) -> npt.NDArray[np.bool_]:
    """`holds` for elements of which the first is number `at` of its buffer."""
    if at * flat.dtype.itemsize % len(POISON):  # the pattern's other byte is first
        return holds(flat, POISON[1:] + POISON[:1])
    return holds(flat, POISON)


def _has_nan(flat: Array, element: ElementType) -> npt.NDArray[np.bool_]:
    has_nan = np.zeros(flat.size, np.bool_)
    for column, part in zip(element.columns(flat), element.parts, strict=True):
        if part.scalar.is_float:
            with np.errstate(invalid="ignore"):  # a signalling NaN is looked at
                has_nan |= np.isnan(dtypes.to_float(column, part.scalar))
    return has_nan


def poisoned_parts(flat: Array, element: ElementType) -> npt.NDArray[np.bool_]:
    """Find the parts that still hold the poison; those of less than four bytes only with their whole element.

    Args:
        flat: the whole buffer, flat; storage dtype of `element`.
        element: the element type.

    Returns:
        Shape (elements, parts).
    """
    return holds(flat, POISON)[:, np.newaxis] | _poisoned_long_parts(flat, element)


def _poisoned_long_parts(flat: Array, element: ElementType) -> npt.NDArray[np.bool_]:
    """Find the parts of at least four bytes that hold the poison: shorter ones may by chance."""
    held = np.zeros((flat.size, len(element.parts)), np.bool_)
    for number, (column, part) in enumerate(zip(element.columns(flat), element.parts, strict=True)):
        if part.scalar.size >= 4:
            held[:, number] = holds(np.ascontiguousarray(column), POISON)
    return held


def proven_unwritten(first: Array, second: Array) -> UnwrittenElements | None:
    """The elements that hold each run's own poison after two runs under two poisons.

    Args:
        first: after the run under POISON.
        second: after the run under COMPLEMENT; the same shape and dtype.
    """
    untouched = holds(first, POISON) & holds(second, COMPLEMENT)
    ranges: list[list[int]] = []
    _extend(ranges, untouched, 0)
    return _unwritten(int(untouched.sum()), int(first.size), ranges)


def poison_shows(first: Array, second: Array) -> PoisonDependence | None:
    """The written elements that differ between two runs under two poisons; None if there are none.

    Args:
        first: after the run under POISON.
        second: after the run under COMPLEMENT; the same shape and dtype.
    """
    size = first.dtype.itemsize
    rows = as_bytes(first).reshape(first.size, size), as_bytes(second).reshape(first.size, size)
    differing = np.asarray((rows[0] != rows[1]).any(axis=1)) & ~(holds(first, POISON) & holds(second, COMPLEMENT))
    indices = np.flatnonzero(differing)
    if not indices.size:
        return None
    return PoisonDependence(indices.size, int(first.size), int(indices[0]))


def holds(array: Array, word: bytes) -> npt.NDArray[np.bool_]:
    """Tell for each element whether every byte of it is still the pattern's; flat.

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
    # Every other element of an odd size starts at the pattern's second byte.
    if size % 2:
        untouched[1::2] = (rows[1::2] == poison(size + 1, word)[1:]).all(axis=1)
    return untouched


def as_bytes(array: Array) -> Bytes:
    """View an array's memory as one row of bytes, without a copy if it is contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _extend(ranges: list[list[int]], untouched: npt.NDArray[np.bool_], at: int) -> None:
    """Append the ranges of a piece that begins at element `at`; one across the border is joined."""
    if len(ranges) > MOST_RANGES or not untouched.any():
        return
    edges = np.flatnonzero(np.diff(np.concatenate(([False], untouched, [False])).astype(np.int8)))
    new = (edges.reshape(-1, 2)[: MOST_RANGES + 1] + at).tolist()
    if ranges and new and ranges[-1][1] == new[0][0]:
        ranges[-1][1] = new.pop(0)[1]
    ranges += new

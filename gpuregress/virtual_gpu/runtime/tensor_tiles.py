"""Geometry of tensor copies: elements of a box or of im2col pixels, and their place in shared memory.

PTX ISA manual, 5.5 "Tensors". Measured on an H200: slices of channels, gaps and whole chunks.
"""

from __future__ import annotations

import struct
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.descriptors import (
    ELEMENT_SIZES,
    INTERLEAVES,
    OOB_FILLS,
    PROMOTIONS,
    SPANS,
    TENSOR_MAP_BYTES,
    Im2col,
    TensorMap,
)
from gpuregress.gpu.records import replace

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]
CHUNK = 16
"""Bytes that a swizzle moves together, and that a store writes as a whole."""
_LINE_SHIFT = 7
"""The swizzle's pattern changes every 2^7 bytes."""
_PATTERN = 1024
"""Bytes after which every swizzle repeats."""
_FAR = -(1 << 58)
"""Keeps a sum of offsets below 0, whatever else is added to it."""
OUTSIDE = -1
"""The offset of an element outside the tensor."""


@lru_cache(maxsize=256)
def box_counts(given: TensorMap) -> tuple[int, ...]:
    """Return how many elements of a box are copied along each axis, fastest first.

    Of an interleaved tensor one slice is copied, whatever the box says of the last axis but one.
    """
    counts = [
        -(-most // _step(given, axis, step))
        for axis, (most, step) in enumerate(zip(given.box, given.element_strides, strict=True))
    ]
    if given.interleave != "none":
        counts[-2] = 1
    return tuple(counts)


def row_bytes(given: TensorMap) -> int:
    """Return the bytes that a copy has along the fastest axis."""
    if given.im2col is not None:
        return given.unit if given.interleave != "none" else given.im2col.channels * given.element_size
    return box_counts(given)[0] * given.unit


def spatial_axes(given: TensorMap) -> range:
    """Return the axes W, H and D of an im2col map: after the channels, but in front of slices of channels."""
    rank = len(given.extents)
    return range(rank - 2) if given.interleave != "none" else range(1, rank - 1)


def whole_chunks(given: TensorMap) -> TensorMap:
    """Return the map of what a store changes: its chunks are stored whole at the end of the fastest axis."""
    size = given.extents[0] * given.unit
    if not size % CHUNK:
        return given
    return replace(given, extents=(-(-size // CHUNK) * CHUNK // given.unit, *given.extents[1:]))


def element_offsets(given: TensorMap, start: tuple[int, ...], im2col: tuple[int, ...] = ()) -> Offsets:
    """Return the bytes from the tensor's first element to each that is copied, in order; `OUTSIDE` for those outside.

    Args:
        given: the map.
        start: the coordinates of the copy, fastest axis first.
        im2col: offsets along W, H, D, for an im2col map.
    """
    if given.im2col is not None:
        return _pixel_offsets(given, start, im2col)
    axes = []
    for axis, (first, count, step) in enumerate(zip(start, box_counts(given), given.element_strides, strict=True)):
        axes.append(first + _step(given, axis, step) * np.arange(count, dtype=np.int64))
    return _summed(given, axes).reshape(-1)


def _step(given: TensorMap, axis: int, step: int) -> int:
    """The step between elements; the fastest axis has none unless it counts slices."""
    return step if axis or given.interleave != "none" else 1


def _summed(given: TensorMap, axes: list[Offsets]) -> Offsets:
    """The offsets of all combinations of coordinates, slowest axis first."""
    total: Offsets = np.zeros((), np.int64)
    steps = (given.unit, *given.strides)
    for axis, coordinates in reversed(list(enumerate(axes))):
        total = total[..., None] + _steps(coordinates, given.extents[axis], steps[axis])
    return np.where(total < 0, OUTSIDE, total)


def _steps(coordinates: Offsets, extent: int, step: int) -> Offsets:
    """The bytes to each coordinate of one axis; `_FAR` to those outside."""
    inside = (coordinates >= 0) & (coordinates < extent)
    return np.where(inside, np.where(inside, coordinates, 0) * step, _FAR)


def _pixel_offsets(given: TensorMap, start: tuple[int, ...], offsets: tuple[int, ...]) -> Offsets:
    """Offsets of the channels of the pixels that follow the first one through the bounding box, W fastest.

    Of slices of channels, each pixel has one, whatever the number of channels.
    """
    box = given.im2col
    assert box is not None
    spatial, last = spatial_axes(given), len(given.extents) - 1
    inner = [start[axis] for axis in spatial]
    image = start[-1]
    pixels = []
    for _ in range(box.pixels):
        pixels.append((*(first + offset for first, offset in zip(inner, offsets, strict=True)), image))
        for number, axis in enumerate(spatial):
            inner[number] += given.element_strides[axis]
            if inner[number] < given.extents[axis] + box.upper[number]:
                break
            inner[number] = box.lower[number]
        else:
            image += given.element_strides[-1]
    places = np.array(pixels, np.int64).reshape(box.pixels, last)
    steps = (given.unit, *given.strides)
    channel, count = (0, box.channels) if given.interleave == "none" else (last - 1, 1)
    total = _steps(start[channel] + np.arange(count, dtype=np.int64), given.extents[channel], steps[channel])
    for column, axis in zip(places.T, (*spatial, last), strict=True):
        total = total + _steps(column, given.extents[axis], steps[axis])[:, None]
    return np.where(total < 0, OUTSIDE, total).reshape(-1)


@lru_cache(maxsize=64)
def shared_places(count: int, row: int, phase: int, swizzle: str) -> tuple[npt.NDArray[np.intp], int]:
    """Return the place of each 16-byte chunk of a swizzled copy in shared memory, and the bytes that they span.

    A row that is shorter than the swizzle's span is followed by a gap, so that the next one begins a span. Slices of
    channels have none.

    Args:
        count: chunks.
        row: chunks along the fastest axis; 0: there are no gaps.
        phase: the first byte's address modulo 1024: the pattern follows addresses.
        swizzle: of the map, not `none`.
    """
    pattern = SPANS[swizzle] // CHUNK
    numbers = np.arange(count)
    if row:
        numbers = numbers // row * max(row, pattern) + numbers % row
    addresses = phase + CHUNK * numbers
    moved = addresses ^ ((addresses >> _LINE_SHIFT & pattern - 1) * CHUNK)
    places = (moved - phase) // CHUNK
    return places, CHUNK * (int(places.max()) + 1)


def chunk_places(given: TensorMap, size: int, address: int) -> tuple[npt.NDArray[np.intp] | None, int]:
    """Return the places in shared memory of the chunks of a copy, None: in order; and the bytes that they span.

    Args:
        given: the map.
        size: bytes of the copy.
        address: where it begins in shared memory.
    """
    if given.swizzle == "none":
        return None, size
    row = row_bytes(given) // CHUNK if given.interleave == "none" else 0
    return shared_places(size // CHUNK, row, address % _PATTERN, given.swizzle)


# --- map bytes --------------------------------------------------------------------------------------------------------
# Encoding of a tensor map in the 128 bytes that kernels pass on, copy and hand to instructions.
#
# The format of a CUtensorMap is not documented; this one is the virtual GPU's own.

MAGIC = int.from_bytes(b"tensor\0m", "little")
"""The first 8 bytes of a map."""

FIELDS = {
    "global_address": (8, 8, 1), "rank": (16, 1, 1), "elemtype": (17, 1, 1), "interleave_layout": (18, 1, 1),
    "swizzle_mode": (19, 1, 1), "fill_mode": (21, 1, 1), "global_dim": (24, 4, 5), "global_stride": (44, 8, 4),
    "box_dim": (76, 2, 5), "element_stride": (86, 1, 5),
}  # fmt: skip
"""Field of `tensormap.replace` → its offset, bytes of one value, and the number of its values."""

_LAYOUT = struct.Struct("<QQ8B5I4Q5H5B3h3hHH")
_TYPES, _INTERLEAVES, _SPANS = list(ELEMENT_SIZES), list(INTERLEAVES), list(SPANS)
_MOST_AXES = 5


def pack(given: TensorMap, address: int) -> bytes:
    """Encode a tensor map.

    Args:
        given: the map.
        address: of the tensor's first element.
    """
    rank, im2col = len(given.extents), given.im2col
    head = (
        rank, _TYPES.index(given.type), _INTERLEAVES.index(given.interleave), _SPANS.index(given.swizzle),
        PROMOTIONS.index(given.l2_promotion), OOB_FILLS.index(given.oob_fill), im2col is not None, 0,
    )  # fmt: skip
    pixels = [0] * 8
    if im2col is not None:
        pixels = [*_padded(im2col.lower, 3), *_padded(im2col.upper, 3), im2col.channels, im2col.pixels]
    data = _LAYOUT.pack(
        MAGIC,
        address,
        *head,
        *_padded([extent - 1 for extent in given.extents], _MOST_AXES),
        *_padded(given.strides, _MOST_AXES - 1),
        *_padded(given.box, _MOST_AXES),
        *_padded(given.element_strides, _MOST_AXES),
        *pixels,
    )
    return data.ljust(TENSOR_MAP_BYTES, b"\0")


def _padded(values: tuple[int, ...] | list[int], count: int) -> list[int]:
    return list(values) + [0] * (count - len(values))


@lru_cache(maxsize=256)
def unpack(data: bytes) -> tuple[TensorMap, int] | None:
    """Decode a tensor map and its tensor's address; None if the bytes are no tensor map.

    Args:
        data: 128 bytes.
    """
    magic, address, *rest = _LAYOUT.unpack(data[: _LAYOUT.size])
    rank, type_, interleave, span, promotion, fill, is_im2col, _ = rest[:8]
    try:
        if magic != MAGIC or not 1 <= rank <= _MOST_AXES:
            return None
        corners = rest[27:33]
        im2col = Im2col(tuple(corners[: rank - 2]), tuple(corners[3 : rank + 1]), rest[33], rest[34])
        tensor_map = TensorMap(
            type=_TYPES[type_],
            extents=tuple(extent + 1 for extent in rest[8 : 8 + rank]),
            strides=tuple(rest[13 : 12 + rank]),
            box=() if is_im2col else tuple(rest[17 : 17 + rank]),
            element_strides=tuple(rest[22 : 22 + rank]),
            interleave=_INTERLEAVES[interleave],
            swizzle=_SPANS[span],
            l2_promotion=PROMOTIONS[promotion],
            oob_fill=OOB_FILLS[fill],
            im2col=im2col if is_im2col else None,
        )
    except IndexError:
        return None
    return tensor_map, address

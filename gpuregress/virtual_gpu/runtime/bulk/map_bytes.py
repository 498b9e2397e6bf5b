"""Encoding of a tensor map in the 128 bytes that kernels pass on, copy and hand to instructions.

The format of a CUtensorMap is not documented; this one is the virtual GPU's own.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from gpuregress.gpu.tensor_maps import (
    ELEMENT_SIZES,
    INTERLEAVES,
    OOB_FILLS,
    PROMOTIONS,
    SPANS,
    TENSOR_MAP_BYTES,
    Im2col,
    TensorMap,
)

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
    corners = _padded(im2col.lower, 3) + _padded(im2col.upper, 3) if im2col else [0] * 6
    data = _LAYOUT.pack(
        MAGIC,
        address,
        *head,
        *_padded([extent - 1 for extent in given.extents], _MOST_AXES),
        *_padded(given.strides, _MOST_AXES - 1),
        *_padded(given.box, _MOST_AXES),
        *_padded(given.element_strides, _MOST_AXES),
        *corners,
        im2col.channels if im2col else 0,
        im2col.pixels if im2col else 0,
    )
    return data.ljust(TENSOR_MAP_BYTES, b"\0")


def _padded(values: tuple[int, ...] | list[int], count: int) -> list[int]:
    return [*values, *[0] * (count - len(values))]


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
        found = TensorMap(
            _TYPES[type_],
            tuple(extent + 1 for extent in rest[8 : 8 + rank]),
            tuple(rest[13 : 12 + rank]),
            () if is_im2col else tuple(rest[17 : 17 + rank]),
            tuple(rest[22 : 22 + rank]),
            _INTERLEAVES[interleave],
            _SPANS[span],
            PROMOTIONS[promotion],
            OOB_FILLS[fill],
            im2col if is_im2col else None,
        )
    except IndexError:
        return None
    return found, address

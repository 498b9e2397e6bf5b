"""Textures and tensor maps as the driver API describes them, in records of gpuregress."""

from __future__ import annotations

import struct
from typing import Literal

from gpuregress.gpu.descriptors import (
    ELEMENT_SIZES,
    FORMAT_SIZES,
    INTERLEAVES,
    OOB_FILLS,
    PROMOTIONS,
    SPANS,
    Im2col,
    TensorMap,
    Texture,
    TextureDescription,
)

_TEXTURE = struct.Struct("<Q6I3I5I")
_MAP = struct.Struct("<Q9I5i5i5I5I4x5Q5Q")
_FORMATS = {
    1: "uint8", 2: "uint16", 3: "uint32", 8: "int8", 9: "int16", 10: "int32", 0x10: "float16", 0x20: "float32",
}  # fmt: skip
"""CUarray_format → format."""
_MODES = ("wrap", "clamp", "mirror", "border")
"""In the order of CUaddress_mode."""
_LAYERED, _CUBE = 1, 4
_KINDS: dict[int, Literal["plain", "layered", "cube", "cube-layered"]] = {
    0: "plain",
    _LAYERED: "layered",
    _CUBE: "cube",
    _LAYERED | _CUBE: "cube-layered",
}


def texture(data: bytes) -> tuple[int, TextureDescription]:
    """Read a request for a texture or surface object: the address of its memory, and how it is read."""
    address, format_, channels, width, height, depth, flags, *rest = _TEXTURE.unpack(data)
    modes, (is_linear, is_normalized, is_integer, is_surface, is_linear_memory) = rest[:3], rest[3:]
    format_name = _FORMATS[format_]
    is_read_as_float = "int" in format_name and FORMAT_SIZES[format_name] < 4 and not is_integer and not is_surface
    sampler = Texture(
        filter="linear" if is_linear else "point",
        address=(_MODES[modes[0] & 3], _MODES[modes[1] & 3], _MODES[modes[2] & 3]),
        normalized=bool(is_normalized),
        read="normalized_float" if is_read_as_float else "element",
        memory="linear" if is_linear_memory else "array",
        surface=bool(is_surface),
        kind=_KINDS[flags & (_LAYERED | _CUBE)],
    )
    return address, TextureDescription(format_name, channels, (width, height, depth), sampler)


def tensor_map(data: bytes) -> tuple[int, TensorMap | None]:
    """Read a request for a tensor map: the tensor's address, and the map; None where a number is out of range.

    The ranges are those of cuTensorMapEncodeTiled in the CUDA driver API's manual.
    """
    address, *rest = _MAP.unpack(data)
    type_, rank, interleave, swizzle, promotion, fill, is_im2col, channels, pixels = rest[:9]
    lower, upper, box, element_strides = rest[9:14], rest[14:19], rest[19:24], rest[24:29]
    extents, strides = rest[29:34], rest[34:39]
    tables = (ELEMENT_SIZES, INTERLEAVES, SPANS, PROMOTIONS, OOB_FILLS)
    numbers = (type_, interleave, swizzle, promotion, fill)
    if any(number >= len(table) for number, table in zip(numbers, tables, strict=True)):
        return address, None
    is_sound = (
        address % 16 == 0
        and all(0 < extent <= 1 << 32 for extent in extents[:rank])
        and all(stride % 16 == 0 and stride < 1 << 40 for stride in strides[: rank - 1])
        and all(0 < step <= 8 for step in element_strides[:rank])
        and (is_im2col or all(0 < side <= 256 for side in box[:rank]))
    )
    if not is_sound:
        return address, None
    im2col = None
    if is_im2col:
        im2col = Im2col(tuple(lower[: rank - 2]), tuple(upper[: rank - 2]), channels, pixels)
    return address, TensorMap(
        type=tuple(ELEMENT_SIZES)[type_],
        extents=tuple(extents[:rank]),
        strides=tuple(strides[: rank - 1]),
        box=() if is_im2col else tuple(box[:rank]),
        element_strides=tuple(element_strides[:rank]),
        interleave=tuple(INTERLEAVES)[interleave],
        swizzle=tuple(SPANS)[swizzle],
        l2_promotion=PROMOTIONS[promotion],
        oob_fill=OOB_FILLS[fill],
        im2col=im2col,
    )

"""Descriptors of memory that kernels are given in place of a pointer: tensor maps and textures."""

from __future__ import annotations

from typing import Literal

from gpuregress.gpu.records import Record

# --- tensor maps ------------------------------------------------------------------------------------------------------


TENSOR_MAP_BYTES = 128
TENSOR_MAP_ALIGNMENT = 64
"""Of a CUtensorMap: cuda.h."""
ELEMENT_SIZES = {
    "uint8": 1, "uint16": 2, "uint32": 4, "int32": 4, "uint64": 8, "int64": 8, "float16": 2, "float32": 4, "float64": 8,
    "bfloat16": 2, "float32_ftz": 4, "tfloat32": 4, "tfloat32_ftz": 4,
}  # fmt: skip
"""Type of a tensor's elements → bytes, in the order of CUtensorMapDataType."""
SPANS = {"none": 0, "32B": 32, "64B": 64, "128B": 128}
"""Swizzle → bytes of its pattern's rows, in the order of CUtensorMapSwizzle."""
INTERLEAVES = {"none": 0, "16B": 16, "32B": 32}
"""Interleave → bytes of a slice of channels, in the order of CUtensorMapInterleave."""
PROMOTIONS = ("none", "64B", "128B", "256B")
"""In the order of CUtensorMapL2promotion."""
OOB_FILLS = ("zeros", "nan")
"""In the order of CUtensorMapFloatOOBfill."""


class Im2col(Record):
    """The bounding box and the pixels of an im2col map.

    Attributes:
        lower: the lower corner along W, H, D, added to the first pixel.
        upper: the upper corner along W, H, D, added to the last pixel.
        channels: elements of each pixel that are loaded.
        pixels: pixels that are loaded.
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int


class TensorMap(Record):
    """A tensor in global memory and the boxes of it that are copied, fastest axis first, as the driver counts.

    Attributes:
        type: of an element, one of `ELEMENT_SIZES`.
        extents: elements along each axis.
        strides: bytes from one element to the next along each axis but the fastest.
        box: elements along each axis; empty for im2col.
        element_strides: elements from one that is loaded to the next, along each axis.
        interleave: one of `INTERLEAVES`.
        swizzle: one of `SPANS`.
        l2_promotion: one of `PROMOTIONS`.
        oob_fill: one of `OOB_FILLS`, for elements outside the tensor.
        im2col: None for a tiled map.
    """

    type: str
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    interleave: str = "none"
    swizzle: str = "none"
    l2_promotion: str = "none"
    oob_fill: str = "zeros"
    im2col: Im2col | None = None

    @property
    def element_size(self) -> int:
        """Bytes of an element."""
        return ELEMENT_SIZES[self.type]

    @property
    def unit(self) -> int:
        """Bytes of what the fastest axis counts: an element, or a slice of channels of an interleaved tensor."""
        return INTERLEAVES[self.interleave] or self.element_size

    @property
    def size(self) -> int:
        """Bytes from the tensor's first element to the end of its last."""
        steps = (self.unit, *self.strides)
        return sum((extent - 1) * step for extent, step in zip(self.extents, steps, strict=True)) + self.unit


# --- textures and surfaces --------------------------------------------------------------------------------------------
# Description of a texture or surface object: the elements of its buffer, and its sampler.


FORMAT_SIZES = {
    "uint8": 1, "int8": 1, "uint16": 2, "int16": 2, "uint32": 4, "int32": 4, "float16": 2, "float32": 4,
}  # fmt: skip
"""What a channel can be -> its bytes."""
FORMATS = tuple(FORMAT_SIZES)


class Texture(Record):
    """The sampling of a buffer that kernels take as a texture or a surface.

    Attributes:
        filter: `point` takes the nearest element, `linear` mixes its neighbours.
        address: along x, y, z: the address mode for coordinates outside.
        normalized: whether coordinates go from 0 to 1, not from 0 to the extent.
        read: `normalized_float` turns integers into 0 … 1 or -1 … 1.
        memory: `array`, or `linear` for tex1Dfetch.
        surface: whether it is a surface: then of the others only `kind` is used, which is `plain` or `layered`.
        kind: `layered`: the slowest axis counts images of their own; `cube`: six square faces, sampled by a direction;
            `cube-layered`: several such cubes.
    """

    filter: Literal["point", "linear"] = "point"
    address: tuple[str, str, str] = ("clamp", "clamp", "clamp")
    normalized: bool = False
    read: Literal["element", "normalized_float"] = "element"
    memory: Literal["array", "linear"] = "array"
    surface: bool = False
    kind: Literal["plain", "layered", "cube", "cube-layered"] = "plain"


class TextureDescription(Record):
    """The argument of `Device.texture`.

    Attributes:
        format: of a channel, one of `FORMATS`.
        channels: 1, 2 or 4.
        extents: width, height, depth in elements; 0 where there is no such axis, as the driver counts. The layers, and
            the faces of cubes, are the depth, of a layered row too.
        sampler: how it is read.
    """

    format: str
    channels: int
    extents: tuple[int, int, int]
    sampler: Texture

    @property
    def axes(self) -> int:
        """1, 2 or 3: those of one layer, or of a face."""
        return sum(extent > 0 for extent in self.extents) - (self.sampler.kind != "plain")

    @property
    def layered(self) -> bool:
        """Whether an instruction names a layer, or a cube of several."""
        return self.sampler.kind.endswith("layered")

    @property
    def cube(self) -> bool:
        """Whether it is sampled by a direction."""
        return self.sampler.kind.startswith("cube")

    @property
    def element_size(self) -> int:
        """Bytes of an element."""
        return self.channels * FORMAT_SIZES[self.format]

    @property
    def rows(self) -> int:
        """Number of rows of `width` elements."""
        return max(1, self.extents[1]) * max(1, self.extents[2])

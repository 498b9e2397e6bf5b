"""Description of a texture or surface object: the elements of its buffer, and its sampler."""

from __future__ import annotations

from typing import Literal

from gpuregress.gpu.records import Record

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

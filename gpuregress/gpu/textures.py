"""Description of a texture or surface object: the elements of its buffer, and its sampler."""

from __future__ import annotations

from gpuregress.foundation import dtypes
from gpuregress.foundation.records.cases.buffers import Buffer, Texture
from gpuregress.gpu.records import Record

FORMATS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32")
"""What a channel can be."""
_LAYERED_ROW = 2
"""Axes of a shape: layers and width."""


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
        return self.channels * dtypes.parse(self.format).size

    @property
    def rows(self) -> int:
        """Number of rows of `width` elements."""
        return max(1, self.extents[1]) * max(1, self.extents[2])


def describe(buffer: Buffer) -> TextureDescription | None:
    """A buffer's description; None where it is plain memory.

    Args:
        buffer: with its shape, slowest axis first.
    """
    if buffer.texture is None:
        return None
    parts = dtypes.parse(buffer.dtype).parts
    return TextureDescription(parts[0].scalar.name, len(parts), _extents(buffer.shape, buffer.texture), buffer.texture)


def _extents(shape: tuple[int, ...], texture: Texture) -> tuple[int, int, int]:
    if texture.kind == "cube-layered":
        cubes, faces, height, width = shape
        return (width, height, cubes * faces)
    if texture.kind == "layered" and len(shape) == _LAYERED_ROW:
        return (shape[1], 0, shape[0])
    width, height, depth = (*reversed(shape), 0, 0)[:3]
    return (width, height, depth)

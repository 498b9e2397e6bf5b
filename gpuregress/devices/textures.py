"""A texture or surface as a device is told of it: what its buffer holds, and how it is sampled."""

from __future__ import annotations

from dataclasses import dataclass

from gpuregress import dtypes
from gpuregress.records import Buffer, Texture

FORMATS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32")
"""What a channel can be."""


@dataclass(frozen=True, slots=True)
class TextureDescription:
    """What is asked of `Device.texture`.

    Attributes:
        format: of a channel, one of `FORMATS`.
        channels: 1, 2 or 4.
        extents: width, height, depth in elements; 0 where there is no such axis, as the driver counts.
        sampler: how it is read.
    """

    format: str
    channels: int
    extents: tuple[int, int, int]
    sampler: Texture

    @property
    def axes(self) -> int:
        """1, 2 or 3."""
        return sum(extent > 0 for extent in self.extents)

    @property
    def element_size(self) -> int:
        """Bytes of an element."""
        return self.channels * dtypes.parse(self.format).size

    @property
    def rows(self) -> int:
        """How many rows of `width` elements there are."""
        return max(1, self.extents[1]) * max(1, self.extents[2])


def describe(buffer: Buffer) -> TextureDescription | None:
    """A buffer's description; None where it is plain memory.

    Args:
        buffer: with its shape, slowest axis first.
    """
    if buffer.texture is None:
        return None
    parts = dtypes.parse(buffer.dtype).parts
    width, height, depth = (*reversed(buffer.shape), 0, 0)[:3]
    return TextureDescription(parts[0].scalar.name, len(parts), (width, height, depth), buffer.texture)

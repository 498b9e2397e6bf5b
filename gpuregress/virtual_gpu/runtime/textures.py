"""Texture and surface objects: handles, and the table in which compiled code looks them up."""

from __future__ import annotations

import numpy as np

from gpuregress.gpu.descriptors import FORMATS, TextureDescription
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime.machine_layout import TEXTURE_WINDOW, TEXTURE_WORDS
from gpuregress.virtual_gpu.runtime.memory import Region

MODES = ("clamp", "wrap", "mirror", "border")
LINEAR_FILTER, NORMALIZED_READ = 1, 2
SURFACE_KEY, LINEAR_MEMORY_KEY, LAYERED_KEY, CUBE_KEY = (1 << bit for bit in range(8, 12))
WORDS = {
    name: 8 * index
    for index, name in enumerate(
        (
            *("host", "width", "height", "depth", "element", "channels", "format", "flags"),
            *("mode0", "mode1", "mode2", "key", "bits0", "bits1", "bits2", "address"),
        )
    )
}
"""Word of a row → its first byte; `key` is that of the function `key`, `bitsN` of `fraction_bits`, `address` the first
byte's in device memory."""


_BITS = 21
_LONG, _VERY_LONG, _VERY_LONG_LAYER, _DEEP = 1 << 13, 1 << 16, 1 << 14, 2300


def key(
    axes: int, *, surface: bool = False, linear_memory: bool = False, layered: bool = False, cube: bool = False
) -> int:
    """Return the properties that an instruction needs an object to have, as one number."""
    kind = surface * SURFACE_KEY | linear_memory * LINEAR_MEMORY_KEY
    return axes | kind | layered * LAYERED_KEY | cube * CUBE_KEY


def fraction_bits(description: TextureDescription) -> tuple[int, int, int]:
    """Return the bits of fraction that a normalized coordinate keeps along x, y, z: measured on an H200.

    Longer axes have more: those of a plane together, and in three axes a deep image in all of them.
    """
    width, height, depth = description.extents
    longest = max(width, height)
    layered = description.sampler.kind != "plain"
    plane = _BITS + (longest > _LONG) + (longest > (_VERY_LONG_LAYER if layered else _VERY_LONG))
    deep = _BITS + (depth > _DEEP and not layered)
    return max(plane, deep), max(plane, deep), deep


class TextureObject(Record):
    """A buffer and how it is read."""

    region: Region
    description: TextureDescription

    @property
    def label(self) -> str:
        """`a texture of 2 axes`, `a layered cube texture`."""
        description = self.description
        label = "a layered" if description.layered else "a"
        if description.cube:
            return f"{label} cube texture"
        axes = "1 axis" if description.axes == 1 else f"{description.axes} axes"
        if description.sampler.surface:
            return f"{label} surface of {axes}"
        label = f"{label} texture of {axes}"
        if description.sampler.memory == "linear":
            label += " in linear memory"
        return label


class Textures:
    """All texture and surface objects of a device."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self.objects: list[TextureObject] = []
        self.table = np.zeros((16, TEXTURE_WORDS), np.uint64)

    def add(self, region: Region, description: TextureDescription) -> int:
        """A new object's handle."""
        number = len(self.objects)
        self.objects.append(TextureObject(region, description))
        if number >= len(self.table):
            self.table = np.concatenate([self.table, np.zeros_like(self.table)])
        row = _row(region, description)
        self.table[number, : len(row)] = row
        return TEXTURE_WINDOW + number + 1

    def find(self, handle: int) -> TextureObject | None:
        """Return the object of a handle; None if there is none."""
        number = handle - TEXTURE_WINDOW - 1
        if not 0 <= number < len(self.objects):
            return None
        return self.objects[number]


def _row(region: Region, description: TextureDescription) -> list[int]:
    sampler = description.sampler
    # CUDA programming guide, "Texture Object API": without normalized coordinates wrap and mirror are clamp.
    modes = [
        MODES.index(mode) if sampler.normalized or mode == "border" else MODES.index("clamp")
        for mode in sampler.address
    ]
    flags = 0
    if sampler.filter == "linear":
        flags |= LINEAR_FILTER
    if sampler.read == "normalized_float":
        flags |= NORMALIZED_READ
    fractions = (0, 0, 0)
    if sampler.normalized or description.cube:
        fractions = fraction_bits(description)
    return [
        region.host,
        *(max(1, extent) for extent in description.extents),
        description.element_size,
        description.channels,
        FORMATS.index(description.format),
        flags,
        *modes,
        key(
            description.axes,
            surface=sampler.surface,
            linear_memory=sampler.memory == "linear",
            layered=description.layered,
            cube=description.cube,
        ),
        *fractions,
        region.address,
    ]

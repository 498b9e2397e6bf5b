"""Accesses of textures and surfaces, and places of texels, in words."""

from __future__ import annotations

from gpuregress.virtual_gpu.runtime.memory import offset_in
from gpuregress.virtual_gpu.runtime.textures import TextureObject, Textures

FETCH, SURFACE_READ, SURFACE_WRITE = "texture fetch", "surface read", "surface write"
"""Actions of sites."""
INCOHERENT = (FETCH, SURFACE_READ)
"""Those that may miss what their own launch has written. CUDA programming guide, "Read/Write Coherency"."""
_FACES = ("+x", "-x", "+y", "-y", "+z", "-z")


def place(textures: Textures, address: int) -> str:
    """Return the coordinates of the texel that an address is in: `x 5, y 3`, `x 7, layer 2`, `x 1, y 0, face -y`.

    Args:
        textures: all objects of the device.
        address: in device memory.

    Returns:
        "" where no texture or surface is there, or it is a single row, in which the index says it.
    """
    for found in textures.objects:
        offset = offset_in(found.region, address)
        if 0 <= offset < found.region.size:
            return _coordinates(found, offset)
    return ""


def _coordinates(found: TextureObject, offset: int) -> str:
    description = found.description
    width, height, _ = (max(1, extent) for extent in description.extents)
    line, x = divmod(offset // description.element_size, width)
    z, y = divmod(line, height)
    words = [f"x {x}", f"y {y}", f"z {z}"][: description.axes]
    if description.cube:
        words.append(f"face {_FACES[z % len(_FACES)]}")
        z //= len(_FACES)
    if description.layered:
        words.append(f"layer {z}")
    return ", ".join(words) if len(words) > 1 else ""

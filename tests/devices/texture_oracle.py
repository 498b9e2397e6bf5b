"""What a texture gives at a place, element by element as the CUDA programming guide defines it ("Texture Fetching").

Written from the guide's formulas in numpy, with linear filtering's weights exact: what a device rounds there is judged
by a bound.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.devices.textures import TextureDescription

Floats = npt.NDArray[np.float64]
Image = npt.NDArray[np.generic]


def sample(image: Image, description: TextureDescription, places: tuple[npt.NDArray[np.float32], ...]) -> Floats:
    """The values at some places.

    Args:
        image: the channels last, the slowest axis first.
        description: how it is sampled.
        places: the coordinates along x, y, z; each of shape (n,).

    Returns:
        (n, channels).
    """
    extents = image.shape[-2::-1]
    scaled = [
        position.astype(np.float64) * (extent if description.sampler.normalized else 1)
        for position, extent in zip(places, extents, strict=True)
    ]
    values = read_as(image, description)
    if description.sampler.filter == "point":
        return _texels(values, description, [np.floor(position).astype(int) for position in scaled])
    total = np.zeros((len(places[0]), image.shape[-1]))
    for steps in product((0, 1), repeat=len(scaled)):
        weight = np.ones(len(places[0]))
        corner = []
        for position, step in zip(scaled, steps, strict=True):
            low = np.floor(position - 0.5)
            part = position - 0.5 - low
            weight = weight * (part if step else 1 - part)
            corner.append(low.astype(int) + step)
        total += weight[:, None] * _texels(values, description, corner)
    return total


def read_as(image: Image, description: TextureDescription) -> Floats:
    """The elements as kernels read them."""
    if description.sampler.read == "element":
        return image.astype(np.float64)
    largest = np.float32((1 << 8 * image.itemsize - (image.dtype.kind == "i")) - 1)
    share: npt.NDArray[np.float32] = np.maximum(image.astype(np.float32) / largest, np.float32(-1))
    return share.astype(np.float64)


def gather(
    image: Image, description: TextureDescription, x: npt.NDArray[Any], y: npt.NDArray[Any], channel: int
) -> Floats:
    """One channel of the four elements around each place, in tld4's order; (n, 4)."""
    left, top = np.floor(x - 0.5).astype(int), np.floor(y - 0.5).astype(int)
    corners = ((left, top + 1), (left + 1, top + 1), (left + 1, top), (left, top))
    values = image.astype(np.float64)
    return np.stack([_texels(values, description, list(corner))[:, channel] for corner in corners], 1)


def _texels(values: Floats, description: TextureDescription, indices: list[npt.NDArray[np.int_]]) -> Floats:
    inside = np.ones(len(indices[0]), bool)
    kept = []
    for index, extent, mode in zip(indices, values.shape[-2::-1], description.sampler.address, strict=False):
        if mode == "border":
            inside &= (index >= 0) & (index < extent)
        kept.append(_address(index, extent, mode if description.sampler.normalized else "clamp"))
    actual: Floats = values[tuple(reversed(kept))]
    return np.where(inside[:, None], actual, 0.0)


def _address(index: npt.NDArray[np.int_], extent: int, mode: str) -> npt.NDArray[np.int_]:
    if mode == "wrap":
        return index % extent
    if mode == "mirror":
        ahead = list(range(extent))
        return np.array(ahead + ahead[::-1])[index % (2 * extent)]
    return np.clip(index, 0, extent - 1)

"""What a texture gives at a place, in numpy.

From the CUDA programming guide, "Texture Fetching", and from a card where the guide leaves it open. A normalized
coordinate is floored to a multiple of 2^-21 (finer in long textures). Linear filtering and tld4 round the coordinate
minus half an element to a multiple of 1/256, half up.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.descriptors import TextureDescription
from tests.devices import filter_oracle

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]
Image = npt.NDArray[np.generic]
Places = tuple[npt.NDArray[np.float32], ...]


def sample(image: Image, description: TextureDescription, places: Places) -> Array:
    """The values at some places.

    Args:
        image: the channels last, the slowest axis first.
        description: how it is sampled.
        places: the coordinates along x, y, z; each of shape (n,).

    Returns:
        (n, channels).
    """
    sampler, extents = description.sampler, image.shape[-2::-1]
    if sampler.filter == "point":
        indices = [_element(place, extent, sampler.normalized) for place, extent in zip(places, extents, strict=True)]
        return read_as(_texels(image, description, indices), description)
    steps = []
    for place, extent, mode in zip(places, extents, sampler.address, strict=False):
        found = _steps(place, extent, sampler.normalized)
        clamps = mode == "clamp" or (mode != "border" and not sampler.normalized)
        steps.append(np.clip(found, 0, 256 * (extent - 1)) if clamps else found)
    return _filtered(image, description, steps)


def _filtered(image: Image, description: TextureDescription, steps: list[Integers]) -> npt.NDArray[np.float32]:
    first, fractions = [step >> 8 for step in steps], [step & 255 for step in steps]
    weight = filter_oracle.weights(fractions)
    corners = []
    for far in product((0, 1), repeat=len(steps)):
        sides = [
            index + (step & (fraction != 0))
            for index, fraction, step in zip(first, fractions, reversed(far), strict=True)
        ]
        corners.append(_texels(image, description, sides))
    texels = np.stack(corners, 1)
    return np.stack([filter_oracle.blend(texels[..., channel], weight) for channel in range(image.shape[-1])], 1)


def read_as(image: Image, description: TextureDescription) -> Array:
    """The elements as kernels read them."""
    if description.sampler.read == "element":
        return image
    largest = np.float32((1 << 8 * image.itemsize - (image.dtype.kind == "i")) - 1)
    return np.asarray(np.maximum(image.astype(np.float32) / largest, np.float32(-1)))


def gather(image: Image, description: TextureDescription, x: Array, y: Array, channel: int) -> Array:
    """One channel of the four elements around each place, in tld4's order; (n, 4)."""
    normalized = description.sampler.normalized
    left, top = (
        _steps(place, extent, normalized) >> 8 for place, extent in zip((x, y), image.shape[-2::-1], strict=True)
    )
    corners = ((left, top + 1), (left + 1, top + 1), (left + 1, top), (left, top))
    values = np.stack([_texels(image, description, list(corner))[:, channel] for corner in corners], 1)
    if image.dtype.kind != "f" and description.sampler.read == "element":
        return values
    alone = np.full((values.size, 1), 256)
    return filter_oracle.blend(values.reshape(-1, 1), alone).reshape(values.shape)


def _fixed(place: Array, extent: int) -> tuple[Array, int]:
    """A normalized coordinate in units of a power of two, and the number of bits."""
    bits = 21 + (extent > 1 << 13) + (extent > 1 << 16)
    return np.floor(np.ldexp(place.astype(np.float64), bits)).astype(np.int64), bits


def _element(place: Array, extent: int, normalized: bool) -> Integers:  # noqa: FBT001 - a property of the sampler
    if not normalized:
        return np.floor(place).astype(np.int64)
    fixed, bits = _fixed(place, extent)
    return np.asarray(fixed * extent >> bits)


def _steps(place: Array, extent: int, normalized: bool) -> Integers:  # noqa: FBT001 - a property of the sampler
    """The coordinate minus half an element, in 256ths."""
    if not normalized:
        return np.floor(256 * (place.astype(np.float64) - 0.5) + 0.5).astype(np.int64)
    fixed, bits = _fixed(place, extent)
    return np.asarray((fixed * extent * 512 + (1 << bits) >> bits + 1) - 128)


def _texels(image: Image, description: TextureDescription, indices: list[Integers]) -> Array:
    inside = np.ones(len(indices[0]), bool)
    kept = []
    for index, extent, mode in zip(indices, image.shape[-2::-1], description.sampler.address, strict=False):
        if mode == "border":
            inside &= (index >= 0) & (index < extent)
        kept.append(_address(index, extent, mode if description.sampler.normalized else "clamp"))
    actual = image[tuple(reversed(kept))]
    return np.where(inside[:, None], actual, np.zeros(1, image.dtype))


def _address(index: Integers, extent: int, mode: str) -> Integers:
    if mode == "wrap":
        return index % extent
    if mode == "mirror":
        ahead = list(range(extent))
        return np.array(ahead + ahead[::-1])[index % (2 * extent)]
    return np.clip(index, 0, extent - 1)

"""Coordinates of texels in words."""

from __future__ import annotations

from typing import Any

import pytest

from gpuregress.foundation.records import Dim3, Texture
from gpuregress.gpu.descriptors import TextureDescription
from gpuregress.virtual_gpu.runtime.checks.matrix_and_texel_reads import place
from gpuregress.virtual_gpu.runtime.memory import AddressSpace
from gpuregress.virtual_gpu.runtime.textures import Textures


@pytest.mark.parametrize(
    ("channels", "extents", "sampler", "offset", "expected"),
    [
        (1, (8, 0, 0), {}, 12, ""),
        (1, (8, 4, 0), {}, 4 * 29 + 3, "x 5, y 3"),
        (4, (8, 4, 0), {"surface": True}, 16 * 29 + 12, "x 5, y 3"),
        (1, (4, 4, 4), {}, 4 * 63, "x 3, y 3, z 3"),
        (1, (4, 0, 3), {"kind": "layered"}, 4 * 9, "x 1, layer 2"),
        (1, (4, 4, 3), {"kind": "layered"}, 4 * 38, "x 2, y 1, layer 2"),
        (1, (4, 4, 6), {"kind": "cube"}, 4 * 50, "x 2, y 0, face -y"),
        (1, (4, 4, 12), {"kind": "cube-layered"}, 4 * 100, "x 0, y 1, face +x, layer 1"),
    ],
)
def test_coordinates_of_a_texel(
    channels: int, extents: Dim3, sampler: dict[str, Any], offset: int, expected: str
) -> None:
    space, textures = AddressSpace(), Textures()
    before, region = space.allocate("before", 1024, 4), space.allocate("image", 2048, 4)
    textures.add(before, TextureDescription("float32", 1, (16, 16, 0), Texture()))
    textures.add(region, TextureDescription("float32", channels, extents, Texture(**sampler)))
    assert place(textures, region.address + offset) == expected
    assert place(textures, space.allocate("other", 64, 4).address) == ""

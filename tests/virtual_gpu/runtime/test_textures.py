from __future__ import annotations

from typing import Literal

import pytest

from gpuregress.foundation.records import Texture
from gpuregress.gpu.descriptors import FORMATS, TextureDescription
from gpuregress.virtual_gpu.runtime.memory import AddressSpace
from gpuregress.virtual_gpu.runtime.textures import WORDS, Textures, fraction_bits, key


def test_a_handle_leads_to_its_object_and_its_row() -> None:
    textures, region = Textures(), AddressSpace().allocate("image", 4096)
    description = TextureDescription("float32", 2, (8, 4, 0), Texture())
    handles = [textures.add(region, description) for _ in range(40)]
    assert len(set(handles)) == 40
    actual = textures.find(handles[-1])
    assert actual is not None
    assert (actual.region, actual.label) == (region, "a texture of 2 axes")
    row = textures.table[39]
    expected = {"host": region.host, "width": 8, "height": 4, "depth": 1, "element": 8, "channels": 2}
    expected |= {"format": FORMATS.index("float32"), "key": key(2)}
    assert {name: int(row[WORDS[name] // 8]) for name in expected} == expected
    assert textures.find(handles[-1] + 1) is None
    textures.clear()
    assert textures.find(handles[0]) is None


@pytest.mark.parametrize("flags", [{"surface": True}, {"linear_memory": True}, {"layered": True}, {"cube": True}])
def test_each_property_changes_the_key(flags: dict[str, bool]) -> None:
    assert key(2, **flags) != key(2)
    assert key(2, **flags) != key(1, **flags)


@pytest.mark.parametrize(
    ("extents", "kind", "expected"),
    [
        ((8192, 0, 0), "plain", (21, 21, 21)),
        ((8193, 7, 0), "plain", (22, 22, 21)),
        ((7, 65536, 0), "plain", (22, 22, 21)),
        ((65537, 7, 0), "plain", (23, 23, 21)),
        ((12000, 7, 5), "plain", (22, 22, 21)),
        ((7, 5, 5000), "plain", (22, 22, 22)),
        ((8191, 8191, 2300), "plain", (21, 21, 21)),
        ((2, 2, 2301), "plain", (22, 22, 22)),
        ((10000, 3, 9), "layered", (22, 22, 21)),
        ((20000, 0, 9), "layered", (23, 23, 21)),
        ((37, 3, 2048), "layered", (21, 21, 21)),
        ((4097, 4097, 6), "cube", (21, 21, 21)),
    ],
)
def test_long_textures_keep_more_bits_of_a_coordinate(
    extents: tuple[int, int, int], kind: Literal["plain", "layered", "cube"], expected: tuple[int, int, int]
) -> None:
    """An H200 gave the elements and weights of these bits."""
    assert fraction_bits(TextureDescription("float32", 1, extents, Texture(kind=kind))) == expected

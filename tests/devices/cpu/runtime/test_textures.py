from __future__ import annotations

import pytest

from gpuregress.devices.cpu.runtime.memory import AddressSpace
from gpuregress.devices.cpu.runtime.textures import WORDS, Textures, key
from gpuregress.devices.textures import FORMATS, TextureDescription
from gpuregress.records import Texture


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

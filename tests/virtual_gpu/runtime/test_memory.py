"""Regions of device memory: allocation, the table of compiled code, reads and writes."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.foundation.errors import DeviceError
from gpuregress.virtual_gpu.runtime import memory
from gpuregress.virtual_gpu.runtime.machine_layout import FIRST_REGION
from gpuregress.virtual_gpu.runtime.memory import AddressSpace, offset_in


def test_a_region_is_in_the_table_until_it_is_freed() -> None:
    space = AddressSpace()
    region = space.allocate("x", 100, 4)
    assert space.table[region.number].tolist() == [region.host, 100, region.address, 0]
    assert space.find(region.address + 1000) is region
    assert space.named("x") is region
    assert not space.free(region.address + 4)
    assert space.free(region.address)
    assert not space.table[region.number].any()
    assert space.find(region.address) is None
    assert space.allocate("y", 1).number == region.number


def test_the_table_never_moves() -> None:
    """Compiled code holds its address for the length of a launch."""
    space = AddressSpace()
    place = space.table.ctypes.data
    regions = [space.allocate(str(number), 8) for number in range(200)]
    assert len({region.address for region in regions}) == 200
    assert all(space.table[region.number][2] == region.address for region in regions)
    assert space.table.ctypes.data == place
    space.clear()
    assert space.table.ctypes.data == place
    assert space.find(regions[0].address) is None
    assert not space.table.any()


def test_the_rows_of_the_heap_are_no_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    space = AddressSpace()
    monkeypatch.setattr(memory, "HEAP_FIRST", FIRST_REGION + 1)
    space.allocate("x", 1)
    with pytest.raises(DeviceError, match="y: there are 1 regions already"):
        space.allocate("y", 1)


def test_reads_and_writes_stay_inside() -> None:
    region = AddressSpace().allocate("x", 8, zeros=True)
    region.write(np.arange(3, dtype=np.uint8), 4)
    assert region.read().tolist() == [0, 0, 0, 0, 0, 1, 2, 0]
    assert region.read(4, 2).tolist() == [0, 1]
    with pytest.raises(DeviceError, match="x has 8 bytes: 3 from byte 6"):
        region.write(np.zeros(3, np.uint8), 6)
    with pytest.raises(DeviceError):
        region.read(-1)


def test_offsets_are_signed() -> None:
    region = AddressSpace().allocate("x", 8)
    assert [offset_in(region, region.address + distance) for distance in (-4, 0, 9)] == [-4, 0, 9]


def test_no_region_is_larger_than_an_address_reaches() -> None:
    with pytest.raises(DeviceError, match="more than an address can reach"):
        AddressSpace().allocate("x", 1 << 60)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.errors import DeviceError
from gpuregress.virtual_gpu.runtime import machine_layout
from gpuregress.virtual_gpu.runtime.memory import AddressSpace, offset_in


@given(st.lists(st.tuples(st.integers(0, 100_000), st.sampled_from([1, 2, 4, 8, 16, 128, 1024])), max_size=20))
def test_shared_variables_are_aligned_and_apart(sizes: list[tuple[int, int]]) -> None:
    starts, dynamic = machine_layout.lay_out_shared(sizes)
    end = machine_layout.SHARED_START - machine_layout.SHARED_GAP
    for start, (size, alignment) in zip(starts, sizes, strict=True):
        assert start % alignment == 0
        assert start - end >= machine_layout.SHARED_GAP
        end = start + size
    assert dynamic >= end
    assert dynamic % 1024 == 0


@given(st.integers(machine_layout.FIRST_REGION, machine_layout.MAX_REGIONS - 1), st.integers(-(2**38), 2**39))
def test_a_negative_or_large_index_keeps_its_region(number: int, offset: int) -> None:
    assert machine_layout.region_of(machine_layout.region_address(number) + offset) == number


@given(
    st.integers(machine_layout.FIRST_REGION, machine_layout.MAX_REGIONS - 1),
    st.integers(machine_layout.REGION_SHIFT, 61),
    st.integers(1, 33),
    st.sampled_from([1, -1]),
)
def test_an_index_of_terabytes_reaches_no_other_region(number: int, bit: int, factor: int, sign: int) -> None:
    reached = machine_layout.region_address(number) + sign * (factor << bit)
    actual = machine_layout.region_of(reached)
    # Only where 2^64 is passed may the address be the region's own again.
    assert actual == number or not machine_layout.FIRST_REGION <= actual < machine_layout.MAX_REGIONS
    assert actual != number or (reached - machine_layout.region_address(number)) % (1 << 62) == 0


@given(st.integers(machine_layout.FIRST_REGION, machine_layout.MAX_REGIONS - 1), st.sampled_from([1, -1]))
def test_no_window_and_region_add_up_to_a_region(number: int, sign: int) -> None:
    for window in (machine_layout.SHARED_WINDOW, machine_layout.LOCAL_WINDOW, machine_layout.PARAM_WINDOW):
        actual = machine_layout.region_of(sign * window + machine_layout.region_address(number))
        assert not 0 <= actual < machine_layout.MAX_REGIONS


@given(st.integers(0, (1 << machine_layout.SLOT_BITS) - 1))
def test_every_region_has_a_slot_of_its_own(number: int) -> None:
    assert machine_layout.region_of(machine_layout.region_address(number)) == number
    assert machine_layout.region_address(number) < 1 << 62
    assert machine_layout.region_of(machine_layout.region_address(number) + (1 << 62)) == -1


def test_regions_are_found_by_any_address_near_them() -> None:
    space = AddressSpace()
    regions = [space.allocate(f"b{size}", size) for size in range(100)]
    assert space.find(regions[50].address - 8) is regions[50]
    assert offset_in(regions[50], regions[50].address - 8) == -8
    assert all(int(space.table[item.number][0]) == item.host for item in regions)
    assert all(item.host % 256 == 0 for item in regions)
    assert space.free(regions[3].address)
    assert space.allocate("again", 5).number == regions[3].number
    assert space.named("b50") is regions[50]
    assert space.named("c") is None
    assert offset_in(regions[50], regions[50].address - (1 << 61)) == -(1 << 61)
    assert offset_in(regions[50], (regions[50].address - (1 << 63) + 4) % (1 << 64)) == 4 - (1 << 63)
    space.clear()
    assert space.find(regions[50].address) is None


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(DeviceError, match="huge"):
        AddressSpace().allocate("huge", 1 << 45)

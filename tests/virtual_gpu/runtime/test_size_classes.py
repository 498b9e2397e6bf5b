"""Size classes of the kernels' heap: each size fits its class, and each class has a slot of its own."""

from __future__ import annotations

from gpuregress.virtual_gpu.runtime import device_heap
from gpuregress.virtual_gpu.runtime.machine_layout import (
    FIRST_REGION,
    HEAP_CLASSES,
    HEAP_FIRST,
    REGION_SHIFT,
    region_of,
)


def test_a_cell_has_room_on_both_sides_of_its_allocation() -> None:
    for number in range(HEAP_CLASSES):
        cell, memory = (1 << shift(number) for shift in (device_heap.cell_shift, device_heap.host_shift))
        assert cell // 4 + memory <= cell // 2
        assert cell // 4 % 1024 == 0


def test_classes_have_slots_that_no_region_has() -> None:
    numbers = [region_of(device_heap.base(number)) for number in range(HEAP_CLASSES)]
    assert numbers == list(range(HEAP_FIRST, HEAP_FIRST + HEAP_CLASSES))
    assert FIRST_REGION < HEAP_FIRST
    assert all(device_heap.base(number) % (1 << REGION_SHIFT) == 0 for number in range(HEAP_CLASSES))

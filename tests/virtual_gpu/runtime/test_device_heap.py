"""Memory of the kernels' heap: classes on demand, and the allocation at an address."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from gpuregress.foundation.records import DEFAULT_HEAP
from gpuregress.virtual_gpu.runtime import device_heap
from gpuregress.virtual_gpu.runtime.device_heap import (
    CELL,
    CLASS,
    CLASS_SHIFT,
    FREED,
    HEADER_BYTES,
    DeviceHeap,
    reserve,
)
from gpuregress.virtual_gpu.runtime.machine_layout import MAX_REGIONS, region_of


def _heap() -> tuple[DeviceHeap, np.ndarray[tuple[int, int], np.dtype[np.uint64]]]:
    table = np.zeros((MAX_REGIONS, 4), np.uint64)
    return DeviceHeap(table), table


def test_a_class_is_in_the_table_from_its_first_allocation_on() -> None:
    heap, table = _heap()
    row = table[region_of(device_heap.base(3))]
    assert (heap.limit, heap.used, int(row[3])) == (DEFAULT_HEAP, 0, 0)
    assert heap.add_class(3)
    record = HEADER_BYTES + (3 << CLASS_SHIFT)
    assert row.tolist() == [0, 0, 0, heap.control.ctypes.data + record]
    count = int(heap.control[record // 8 + CLASS.index("count")])
    assert count * 64 >= 2 * DEFAULT_HEAP
    heap.clear(1 << 20)
    assert not row.any()
    assert heap.limit == 1 << 20


def test_a_limit_beyond_all_memory_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    heap, _ = _heap()
    monkeypatch.setattr(mmap, "mmap", _refuse)
    assert not heap.add_class(0)
    assert heap.find(device_heap.base(0) + 1024) is None


def _refuse(*_arguments: object, **_options: object) -> None:
    raise OSError("no memory")


def test_an_address_names_the_allocation_of_its_cell() -> None:
    heap, _ = _heap()
    heap.add_class(0)
    record = HEADER_BYTES // 8
    heap.control[record + CLASS.index("fresh")] = 2
    cells = heap._memory[0][0]
    cells[len(CELL) : 2 * len(CELL)] = 12, (7 << 32) | 5, 0, 0
    start = device_heap.base(0) + 4096 + 1024
    for address in (start - 8, start, start + 3000):
        found = heap.find(address)
        assert found is not None
        assert (found.address, found.size, found.born, found.died) == (start, 12, (7 << 32) | 5, None)
    cells[len(CELL)] = 12 | FREED
    found = heap.find(start)
    assert found is not None
    assert (found.size, found.died) == (12, 0)
    assert heap.find(start + 4096) is None
    assert heap.find(device_heap.base(1)) is None


@pytest.mark.parametrize("is_dense", [False, True])
def test_reserved_memory_is_zero_and_may_be_written(*, is_dense: bool) -> None:
    memory = reserve(5 << 20, is_dense=is_dense)
    assert memory.size == 5 << 20
    assert not memory.any()
    memory[-1] = 7
    assert memory[-1] == 7

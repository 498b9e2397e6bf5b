"""Shadow memory: a cell for each granule, kept from launch to launch."""

from __future__ import annotations

import numpy as np

from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.checks.shadow_memory import BlockState, ShadowMemory
from gpuregress.virtual_gpu.runtime.memory import AddressSpace


def _cells(shadow: ShadowMemory, number: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return shadow._cells[number][2]


def test_a_launch_begins_with_a_stamp_of_its_own() -> None:
    shadow = ShadowMemory()
    shadow.begin_launch((), 2, 1)
    first = shadow.word("oldest")
    shadow.begin_launch((), 2, 1)
    assert shadow.word("oldest") > first


def test_what_is_written_stays_written_where_the_granule_changes() -> None:
    space, shadow = AddressSpace(), ShadowMemory()
    region = space.allocate("x", 64)
    shadow.begin_launch(space.all(), 2, 1)
    _cells(shadow, region.number)[2 * 3] = 99
    shadow.begin_launch(space.all(), 0, 1)
    written = np.flatnonzero(_cells(shadow, region.number)[: 2 * 64 : 2])
    assert written.tolist() == [12, 13, 14, 15]
    shadow.begin_launch(space.all(), 3, 1)
    assert np.flatnonzero(_cells(shadow, region.number)[: 2 * 8 : 2]).tolist() == [1]


def test_a_buffer_that_the_host_filled_is_marked() -> None:
    space, shadow = AddressSpace(), ShadowMemory()
    filled, other = space.allocate("x", 64), space.allocate("y", 64)
    filled.write(np.zeros(64, np.uint8))
    shadow.begin_launch(space.all(), 2, 1)
    assert [int(shadow._table[one.number, 0]) & 1 for one in (filled, other)] == [1, 0]


def test_stamps_begin_anew_before_they_end() -> None:
    space, shadow = AddressSpace(), ShadowMemory()
    region = space.allocate("x", 64)
    shadow.begin_launch(space.all(), 2, 1)
    _cells(shadow, region.number)[0] = 5 << layout.STAMP_SHIFT
    shadow._set("now", (1 << 32) - 9)
    assert shadow.begin_launch(space.all(), 2, 1)
    assert 0 < _cells(shadow, region.number)[0] < shadow.word("oldest")


def test_the_block_of_a_stamp() -> None:
    shadow = ShadowMemory()
    shadow.begin_launch((), 2, 1)
    for index, (stamp, block) in enumerate([(10, 4), (20, 7)]):
        shadow._turns[index] = stamp << 32 | block
    shadow._set("turn_count", 2)
    assert [shadow.block_at(stamp) for stamp in (9, 10, 19, 20, 99)] == [-1, 4, 4, 7, 7]


def test_a_block_has_cells_for_its_shared_memory() -> None:
    block = BlockState()
    assert block.address == 0
    block.prepare(100, 2)
    assert block.address
    cells = int(block._state[layout.BLOCK["cells"] // 8])
    block._state[layout.WARPS // 8] = block._state[layout.LANES // 8] = 9
    block.clear()
    assert np.flatnonzero(block._state).tolist() == [layout.BLOCK["cells"] // 8, layout.BLOCK["plane"] // 8]
    assert block._state[layout.BLOCK["cells"] // 8] == cells


def test_the_heap_keeps_its_cells_while_its_memory_stays() -> None:
    space, shadow = AddressSpace(), ShadowMemory()
    heap = space.heap
    assert heap.add_class(2)
    shadow.add_heap_class(2, heap, 2)
    shadow.add_heap_class(3, heap, 2)
    assert np.flatnonzero(shadow._heap_table[:, 0]).tolist() == [2]
    shadow.keep_heap(heap, 2)
    assert shadow._heap_table[2, 0]
    shadow.keep_heap(heap, 0)
    assert not shadow._heap_table.any()
    shadow.add_heap_class(2, heap, 2)
    heap.clear()
    shadow.keep_heap(heap, 2)
    assert not shadow._heap_table.any()


def test_many_cells_are_untouched_at_first() -> None:
    """Those of 1 MiB lie in memory of their own."""
    space, shadow = AddressSpace(), ShadowMemory()
    region = space.allocate("x", 1 << 20)
    shadow.begin_launch(space.all(), 2, 1)
    assert _cells(shadow, region.number).size == 4 * ((1 << 18) + 1)
    known = shadow.cells_of(region)
    assert known is not None
    known[1][:2, 0] = 1
    assert np.flatnonzero(_cells(shadow, region.number)).tolist() == [0, 2]

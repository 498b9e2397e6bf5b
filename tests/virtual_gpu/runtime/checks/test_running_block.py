"""The running block as the checks in Python see it: cells, readers, order."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.checks.running_block import READER, WRITE, RunningBlock, distinct
from gpuregress.virtual_gpu.runtime.checks.shadow_memory import BlockState, ShadowMemory
from gpuregress.virtual_gpu.runtime.machine_layout import SHARED_WINDOW, Machine

START, OPEN = 10, 20


class _Bench:
    """A block with 64 bytes of shared memory, that began at stamp 10 and had a barrier at stamp 20."""

    def __init__(self) -> None:
        self.shared, self.state, shadow = np.zeros(64, np.uint8), BlockState(), ShadowMemory()
        self.state.prepare(64, 2)
        machine = Machine()
        machine.shared, machine.block_checks, machine.cluster_count = self.shared.ctypes.data, self.state.address, 1
        shadow.begin_launch([], 2, 1)
        self.block = RunningBlock(machine, shadow, 2)
        words = self.state._state
        words[layout.BLOCK["start"] // 8], words[layout.BLOCK["open"] // 8] = epoch(START), epoch(OPEN)


def epoch(stamp: int, thread: int = 0, flags: int = 0) -> int:
    return stamp << layout.STAMP_SHIFT | thread << layout.THREAD_SHIFT | flags


@pytest.fixture
def bench() -> _Bench:
    return _Bench()


def test_the_cells_of_a_stretch_and_their_addresses(bench: _Bench) -> None:
    host = bench.shared.ctypes.data
    whole, _ = bench.block.shared.planes()
    assert len(whole) == 17
    part, second = bench.block.shared.cells(host + 9, 4)
    part[:, WRITE], second[:, WRITE] = 5, 6
    assert list(np.flatnonzero(whole[:, WRITE])) == [2, 3]
    assert [bench.block.shared.address(host + 9, number) - SHARED_WINDOW for number in (0, 1)] == [9, 12]


def test_a_reader_takes_the_place_of_older_ones_and_stands_beside_others(bench: _Bench) -> None:
    first, second = planes = bench.block.shared.planes()
    old, kept, replaced = epoch(OPEN - 1, 3), epoch(OPEN + 1, 4), epoch(OPEN + 2, 5)
    first[:3, READER] = old, kept, replaced
    now, stands = epoch(OPEN + 9, 7), np.array([True, False, True])
    bench.block.note_reader(planes, np.arange(3), now, stands, bench.block.word("open"))
    numbers, epochs = bench.block.accesses(first[:3, READER], second[:3, READER], layout.READER_LIST)
    assert {(int(one), int(other)) for one, other in zip(numbers, epochs, strict=True)} == {(0, now), (1, kept)}
    numbers, epochs = bench.block.accesses(first[1:2, READER], second[1:2, READER], layout.READER_LIST)
    assert sorted(epochs.tolist()) == sorted([now, kept])


def test_what_orders_an_earlier_epoch(bench: _Bench) -> None:
    others = np.array([epoch(OPEN - 1, 1), epoch(OPEN + 1, 1), epoch(OPEN + 1, 9), epoch(START - 1, 1)], np.uint64)
    assert bench.block.unordered(others, 9).tolist() == [False, True, False, False]
    words = bench.state._state.view(np.uint32)
    words[layout.LANES // 4 + 32 * 9 + 1] = OPEN + 1
    assert not bench.block.unordered(others, 9).any()
    assert bench.block.unordered(others, 2)[1]
    words[layout.WARPS // 4 :][:1] = OPEN + 1
    assert not bench.block.unordered(others, 2).any()


def test_writes_behind_an_epoch_are_those_of_the_block(bench: _Bench) -> None:
    written = np.array([epoch(START - 1), epoch(OPEN), epoch(OPEN + 1)], np.uint64)
    assert bench.block.is_behind(written, epoch(OPEN)).tolist() == [False, False, True]
    assert bench.block.is_behind(written, epoch(1)).tolist() == [False, True, True]


def test_one_of_each_epoch() -> None:
    assert distinct(np.array([7, 7, 3, 7, 3], np.uint64), np.array([1, 2, 3, 4])) == [1, 2]


def test_what_follows_an_access_has_a_later_stamp(bench: _Bench) -> None:
    one, other = (bench.block.begin(site=5, thread=6) for _ in range(2))
    assert (layout.epoch_site(one), layout.epoch_thread(one)) == (5, 6)
    assert layout.epoch_stamp(other) == layout.epoch_stamp(one) + 1

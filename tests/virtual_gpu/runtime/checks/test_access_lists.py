"""Lists of accesses, of many cells at once: what joined is there, once for each different access."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.checks.running_block import accesses, forget, join, replace_newest
from gpuregress.virtual_gpu.runtime.checks.shadow_memory import ShadowMemory

CELLS = 3
SINCE = 100 << layout.STAMP_SHIFT


def _launch() -> ShadowMemory:
    shadow = ShadowMemory()
    shadow.begin_launch([], 2, 1)
    return shadow


def _epoch(stamp: int, thread: int, flags: int = 0) -> int:
    return stamp << layout.STAMP_SHIFT | thread << layout.THREAD_SHIFT | flags


STEPS = st.lists(
    st.tuples(st.integers(0, 1023), st.lists(st.booleans(), min_size=CELLS, max_size=CELLS)), min_size=1, max_size=8
)


@given(STEPS, st.sampled_from([layout.READER_LIST, layout.WRITE_LIST]))
def test_the_list_has_what_joined(steps: list[tuple[int, list[bool]]], mark: int) -> None:
    shadow = _launch()
    newest, words = np.zeros(CELLS, np.uint64), np.zeros(CELLS, np.uint64)
    expected: list[list[int]] = [[] for _ in range(CELLS)]
    for number, (thread, replaces) in enumerate(steps):
        epoch = _epoch(101 + number, thread)
        join(shadow, newest, words, mark, (epoch, np.array(replaces), SINCE))
        for cell, is_replaced in enumerate(replaces):
            expected[cell] = [*expected[cell][: -1 if is_replaced else None], epoch]
    for cell in range(CELLS):
        _, epochs = accesses(shadow, newest[cell : cell + 1], words[cell : cell + 1], mark)
        assert sorted(epochs.tolist()) == sorted(expected[cell])
    numbers, epochs = accesses(shadow, newest, words, mark)
    assert set(epochs.tolist()) == {one for cell in expected for one in cell}
    assert all(epoch in expected[cell] for cell, epoch in zip(numbers, epochs.tolist(), strict=True))


def test_what_a_barrier_orders_is_forgotten() -> None:
    shadow = _launch()
    newest, words = np.array([_epoch(99, 5)], np.uint64), np.zeros(1, np.uint64)
    join(shadow, newest, words, layout.READER_LIST, (_epoch(101, 1), np.array([False]), SINCE))
    assert newest.tolist() == [_epoch(101, 1)]


def test_a_pair_is_two_accesses() -> None:
    one, other = _epoch(101, 3), _epoch(102, 40)
    newest, words = np.array([other | layout.READER_PAIR], np.uint64), np.array([one], np.uint64)
    assert sorted(accesses(_launch(), newest, words, layout.READER_LIST)[1].tolist()) == [one, other]


def test_what_joins_a_pair_is_a_third_access() -> None:
    one, other, third = _epoch(101, 3), _epoch(102, 40), _epoch(103, 7)
    shadow = _launch()
    newest, words = np.array([other | layout.READER_PAIR], np.uint64), np.array([one], np.uint64)
    join(shadow, newest, words, layout.READER_LIST, (third, np.array([False]), SINCE))
    assert sorted(accesses(shadow, newest, words, layout.READER_LIST)[1].tolist()) == [one, other, third]


def test_lanes_of_a_node_are_accesses_of_their_own() -> None:
    newest = np.array([_epoch(101, 34) | 1 << layout.LEVEL_SHIFT], np.uint64)
    words = np.array([0b110], np.uint64)
    _, epochs = accesses(_launch(), newest, words, layout.READER_LIST)
    assert sorted(epochs.tolist()) == [_epoch(101, 33), _epoch(101, 34)]


def test_a_plain_write_behind_a_strong_one_is_exposed() -> None:
    newest, words = np.array([_epoch(101, 1)], np.uint64), np.zeros(1, np.uint64)
    shadow, strong = _launch(), _epoch(102, 2, layout.WIDE)
    join(shadow, newest, words, layout.WRITE_LIST, (strong, np.array([False]), SINCE))
    assert newest.tolist() == [strong | layout.WRITE_LIST]
    join(shadow, newest, words, layout.WRITE_LIST, (_epoch(103, 3, layout.WIDE), np.array([False]), SINCE))
    assert int(newest[0]) & layout.WRITE_LIST == layout.WRITE_LIST


def test_an_epoch_of_another_lane_stands_for_the_newest_access_alone() -> None:
    """A copy that has arrived is known by the thread that waited, beside what was there before its issue."""
    shadow, earlier, issued, arrived = _launch(), _epoch(101, 40), _epoch(102, 63), _epoch(105, 5)
    for known in (earlier, 0):
        newest, words = np.array([known], np.uint64), np.zeros(1, np.uint64)
        join(shadow, newest, words, layout.READER_LIST, (issued, np.array([False]), SINCE))
        replace_newest(newest, words, layout.READER_LIST, (issued, arrived))
        _, epochs = accesses(shadow, newest, words, layout.READER_LIST)
        assert sorted(epochs.tolist()) == sorted({known, arrived} - {0})
    others, words = np.array([earlier], np.uint64), np.zeros(1, np.uint64)
    replace_newest(others, words, layout.READER_LIST, (issued, arrived))
    assert others.tolist() == [earlier]


def test_nodes_that_nothing_refers_to_are_used_again() -> None:
    shadow = _launch()
    newest, words = np.zeros(CELLS, np.uint64), np.zeros(CELLS, np.uint64)
    keeps = np.zeros(CELLS, np.bool_)
    for turn in range(5):
        since = 100 * turn + 100 << layout.STAMP_SHIFT
        for stamp in (1, 2, 3):
            epoch = _epoch(100 * turn + 100 + stamp, stamp)
            join(shadow, newest, words, layout.READER_LIST, (epoch, keeps, since))
        assert len(accesses(shadow, newest, words, layout.READER_LIST)[1]) == 3
        if turn % 2:
            forget(shadow, newest, words, layout.READER_LIST)
            newest[:] = 0
    assert shadow.word("node_count") == 1 + 2 * CELLS

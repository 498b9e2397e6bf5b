"""Epochs: their parts do not overlap, and the states' words have room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.virtual_gpu.runtime.checks import layout


@given(st.integers(0, 2**32 - 1), st.integers(0, 1023), st.integers(0, layout.MOST_SITES - 1), st.integers(0, 63))
def test_the_parts_of_an_epoch(stamp: int, thread: int, site: int, flags: int) -> None:
    epoch = stamp << layout.STAMP_SHIFT | thread << layout.THREAD_SHIFT | site << layout.SITE_SHIFT | flags
    parts = (layout.epoch_stamp(epoch), layout.epoch_thread(epoch), layout.epoch_site(epoch))
    assert parts == (stamp, thread, site)


def test_the_states_have_room() -> None:
    assert max(layout.LAUNCH.values()) < layout.REPORT
    assert layout.REPORT + 8 * 6 <= layout.LAUNCH_BYTES  # six words: see `ShadowMemory.report`
    assert max(layout.BLOCK.values()) < layout.WARPS

"""Pending copies: when the source is read, and what is written where."""

from __future__ import annotations

import numpy as np

from gpuregress.virtual_gpu.runtime.bulk_elements import PendingLoad, PendingStore
from gpuregress.virtual_gpu.runtime.memory import Region


def test_a_load_writes_its_chunks_in_their_places() -> None:
    memory = np.zeros(64, np.uint8)
    load = PendingLoad(memory.ctypes.data, np.repeat(np.array([1, 2], np.uint8), 16), 0, places=np.array([3, 1]))
    assert load.extent == 64
    load.write()
    assert memory[::16].tolist() == [0, 2, 0, 1]


def test_a_load_that_reduces_adds_to_what_is_there() -> None:
    memory = np.arange(4, dtype=np.uint32)
    PendingLoad(memory.ctypes.data, np.full(4, 10, np.uint32).view(np.uint8), 0, ("add", "u32")).write()
    assert memory.tolist() == [10, 11, 12, 13]


def test_a_store_writes_what_its_source_held_when_it_was_read() -> None:
    source, region = np.arange(8, dtype=np.uint8), Region(0, "y", 8, 1, zeros=True)
    store = PendingStore(source, region, np.array([7, 6, 5]), np.array([1, 2, 3]), ("", ""))
    assert store.size == 3
    store.read()
    source[:] = 99
    store.write()
    assert region.data.tolist() == [0, 0, 0, 0, 0, 3, 2, 1]


def test_a_store_that_was_not_read_writes_what_its_source_holds_now() -> None:
    source, region = np.arange(8, dtype=np.uint8), Region(0, "y", 8, 1, zeros=True)
    store = PendingStore(source, region, slice(0, 8), None, ("", ""))
    source[:] = 99
    store.write()
    assert region.data.tolist() == [99] * 8

"""Bulk copies that have arrived, and the threads that know of it.

A thread knows of the arrival if it has waited at an mbarrier since, or comes behind the wait of another thread. At
which mbarrier it waited is not asked. What a copy has read counts like what it has written.

PTX ISA manual, 9.7.13.15.16 "mbarrier.test_wait/mbarrier.try_wait".
"""

from __future__ import annotations

import ctypes
from bisect import bisect_left
from collections.abc import Callable, Sequence

import numpy as np

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.checks.running_block import RunningBlock


class _Arrival(Record):
    """The arrival of a copy: its stamp, and the epoch of the issue."""

    stamp: int
    issued: int


class Deliveries:
    """The arrivals of one launch.

    Args:
        block: the running one.
        is_released: whether releases order one of some earlier epochs before one of the running thread.
    """

    def __init__(self, block: RunningBlock, is_released: Callable[[Sequence[int], int], bool]) -> None:
        self._block, self._is_released = block, is_released
        self._arrivals: dict[int, _Arrival] = {}
        self._initialized: dict[int, int] = {}
        self._waits: dict[int, dict[int, list[int]]] = {}

    def note_initialization(self, host: int, epoch: int) -> None:
        """Note that an mbarrier was initialized: its host address, and the epoch."""
        self._initialized[host] = epoch

    def initialized(self, host: int) -> int:
        """The epoch at which an mbarrier was initialized; 0 where that is not known."""
        return self._initialized.get(host, 0)

    def add(self, epoch: int, issued: int, stamp: int) -> None:
        """Note an epoch that stands for an arrival, the epoch of the copy's issue, and the stamp of the arrival."""
        self._arrivals[epoch >> layout.SITE_SHIFT] = _Arrival(stamp, issued)

    def issued(self, epoch: int) -> int | None:
        """The epoch at which the copy of an arrival was issued; None for other epochs."""
        arrival = self._arrivals.get(epoch >> layout.SITE_SHIFT)
        return None if arrival is None else arrival.issued

    def note_wait(self, thread: int) -> None:
        """Note that a wait of a thread at an mbarrier is over."""
        waits = self._waits.setdefault(self._block.word("number"), {})
        waits.setdefault(thread, []).append(self._block.shadow.word("now"))

    def is_known(self, other: int, epoch: int) -> bool:
        """Whether an earlier epoch is an arrival of which the running thread knows from another one.

        Args:
            other: the epoch of the arrival, in the memory of the running block or another one of its cluster.
            epoch: of the running thread's access.
        """
        arrival = self._arrivals.get(other >> layout.SITE_SHIFT)
        if arrival is None:
            return False
        thread, number = layout.epoch_thread(epoch), self._block.shadow.block_at(arrival.stamp)
        threads = self._waits.get(number, {}).items()
        firsts = ((whose, bisect_left(stamps, arrival.stamp), stamps) for whose, stamps in threads)
        waits = [
            stamps[at] << layout.STAMP_SHIFT | whose << layout.THREAD_SHIFT
            for whose, at, stamps in firsts
            if at < len(stamps)
        ]
        is_ordered = bool(waits) and not self._block.unordered_anywhere(np.array(waits, np.uint64), thread).all()
        if not is_ordered and not self._is_released(waits, epoch):
            return False
        if number == self._block.word("number"):
            # Compiled code need not ask for this thread again.
            known = ctypes.c_uint32.from_address(self._block.machine.block_checks + layout.WAITED + 4 * thread)
            known.value = max(known.value, arrival.stamp)
        return True

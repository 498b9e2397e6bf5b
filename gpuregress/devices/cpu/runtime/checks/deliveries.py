"""Bulk copies that have arrived in shared memory, and the threads that know of it.

A thread knows of the arrival if it has waited at an mbarrier since, or comes behind the wait of another thread. At
which mbarrier it waited is not asked.

PTX ISA manual, 9.7.13.15.16 "mbarrier.test_wait/mbarrier.try_wait".
"""

from __future__ import annotations

import ctypes
from bisect import bisect_left
from collections.abc import Callable, Sequence

import numpy as np

from gpuregress.devices.cpu.runtime.checks import layout
from gpuregress.devices.cpu.runtime.checks.running_block import RunningBlock


class Deliveries:
    """The arrivals of one launch.

    Args:
        block: the running one.
        is_released: whether releases order one of some earlier epochs before one of the running thread.
    """

    def __init__(self, block: RunningBlock, is_released: Callable[[Sequence[int], int], bool]) -> None:
        self._block, self._is_released = block, is_released
        self._issued: dict[int, int] = {}
        self._waits: dict[int, dict[int, list[int]]] = {}

    def add(self, epoch: int, issued: int) -> None:
        """Note an arrival: its epoch, which has the thread that waits, and that of the copy's issue."""
        self._issued[epoch >> layout.SITE_SHIFT] = issued

    def issued(self, epoch: int) -> int | None:
        """The epoch at which the copy of an arrival was issued; None for other epochs."""
        return self._issued.get(epoch >> layout.SITE_SHIFT) if _is_arrival(epoch) else None

    def note_wait(self, thread: int) -> None:
        """Note that a wait of a thread at an mbarrier is over."""
        waits = self._waits.setdefault(self._block.word("number"), {})
        waits.setdefault(thread, []).append(self._block.shadow.word("now"))

    def is_known(self, other: int, epoch: int) -> bool:
        """Whether an earlier epoch is an arrival of which the running thread knows from another one.

        Args:
            other: the epoch of the arrival.
            epoch: of the running thread's access.
        """
        stamp, thread = layout.epoch_stamp(other), layout.epoch_thread(epoch)
        number = self._block.word("number")
        if not _is_arrival(other) or self._block.shadow.block_at(stamp) != number:
            return False
        firsts = ((whose, bisect_left(stamps, stamp), stamps) for whose, stamps in self._waits.get(number, {}).items())
        waits = [
            stamps[at] << layout.STAMP_SHIFT | whose << layout.THREAD_SHIFT
            for whose, at, stamps in firsts
            if at < len(stamps)
        ]
        is_ordered = bool(waits) and not self._block.unordered(np.array(waits, np.uint64), thread).all()
        if not is_ordered and not self._is_released(waits, epoch):
            return False
        # Compiled code need not ask for this thread again.
        known = ctypes.c_uint32.from_address(self._block.machine.block_checks + layout.WAITED + 4 * thread)
        known.value = max(known.value, stamp)
        return True


def _is_arrival(epoch: int) -> bool:
    return epoch & (layout.STRONG | layout.LEVEL_MASK) == layout.DELIVERED

"""Race checks of the shared memory that bulk copies read and write.

A copy's write is in flight from its issue to its arrival; then it counts as ordered before all that comes, for a
thread has waited for it. A copy's read lasts until its thread has waited for it. In global memory a copy's write counts
as ordered.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection

import numpy as np
import numpy.typing as npt

from gpuregress.devices.cpu.runtime.checks import layout
from gpuregress.devices.cpu.runtime.checks.shadow_memory import ShadowMemory
from gpuregress.devices.cpu.runtime.machine_layout import SHARED_WINDOW, Machine
from gpuregress.devices.cpu.runtime.memory import Region

_Words = npt.NDArray[np.uint64]
Report = Callable[[int, int, int, int], None]
"""Takes a finding: kind, address, epoch of the access, epoch of the earlier one."""
_WRITE, _READER, _STAMP_SHIFT = 0, 1, np.uint64(layout.STAMP_SHIFT)
_SHORT = np.uint64(0xFFFF_FFFF)


class BulkNotes:
    """The bulk copies of one launch as the dynamic checks see them.

    Args:
        machine: the launch's.
        shadow: the cells of global memory.
        granules: log2 of the bytes of a granule, in shared and in global memory.
        checks: those that are asked for.
        report: takes what is found.
    """

    def __init__(
        self,
        machine: Machine,
        shadow: ShadowMemory,
        granules: tuple[int, ...],
        checks: Collection[str],
        report: Report,
    ) -> None:
        self._machine, self._shadow, self._shift, self._report = machine, shadow, granules[0], report
        self._races, self._uninitialized = "races" in checks, "uninitialized" in checks

    # --- copies to shared memory --------------------------------------------------------------------------------------

    def load_issued(self, site: int, thread: int, host: int, size: int) -> None:
        """A thread of the running block has issued a copy to the block's shared memory."""
        epoch = self._begin(site, thread)
        first, plane = self._cells(host, size)
        if self._races:
            self._check_writes(first, plane, host, epoch)
            self._check_readers(first, plane, host, epoch)
            first[:, _WRITE] = epoch | layout.IN_FLIGHT
            first[:, _READER] = 0

    def in_shared(self, host: int, size: int) -> None:
        """A copy to the running block's shared memory has arrived."""
        first, _ = self._cells(host, size)
        first[:, _WRITE] = self._word("start")

    # --- copies from shared memory ------------------------------------------------------------------------------------

    def store_issued(self, site: int, thread: int, host: int, size: int) -> int:
        """A thread of the running block has issued a copy from the block's shared memory: return its epoch."""
        epoch = self._begin(site, thread)
        first, plane = self._cells(host, size)
        if self._uninitialized:
            for number in np.flatnonzero(first[:, _WRITE] < self._word("start"))[:1]:
                self._report(layout.UNINITIALIZED, self._address(host, int(number)), epoch, 0)
        if self._races:
            self._check_writes(first, plane, host, epoch)
            self._check_proxies(first, host, epoch)
        return epoch

    def source_read(self, host: int, size: int, epoch: int) -> None:
        """The copy from shared memory that was issued at an epoch has been waited for."""
        if not self._races:
            return
        first, plane = self._cells(host, size)
        written = first[:, _WRITE]
        late = np.flatnonzero((written >> _STAMP_SHIFT > layout.epoch_stamp(epoch)) & (written >= self._word("start")))
        for number in _distinct(written, late):
            self._report(layout.UNARRIVED, self._address(host, number), int(written[number]), epoch)
        # Whoever writes next must come behind the wait.
        waited = self._begin(layout.epoch_site(epoch), layout.epoch_thread(epoch))
        self._shadow.join(first[:, _READER], plane[:, _READER], self._word("open"), waited)

    def in_global(self, region: Region, places: slice | npt.NDArray[np.int64]) -> None:
        """A copy to a region has arrived."""
        self._shadow.note_written(region, places)

    # --- order --------------------------------------------------------------------------------------------------------

    def _check_writes(self, first: _Words, plane: _Words, host: int, epoch: int) -> None:
        written = first[:, _WRITE]
        flying = (written & np.uint64(layout.IN_FLIGHT) != 0) & (written >= self._word("start"))
        for number in _distinct(written, np.flatnonzero(flying)):
            self._report(layout.UNARRIVED, self._address(host, number), epoch, int(written[number]))
        self._check(np.where(flying, np.uint64(0), written), host, epoch)
        self._check_lists(written, plane[:, _WRITE], layout.WRITE_LIST, host, epoch)

    def _check_proxies(self, first: _Words, host: int, epoch: int) -> None:
        """Report the ordered writes of the block that no fence between the proxies shows to a copy.

        What a bulk copy has written, whose cells begin with the block, needs no fence, nor has CUTLASS one behind
        cp.async.
        """
        written = first[:, _WRITE]
        flags = written & np.uint64(layout.STRONG | layout.COPIED)
        ordered = (
            (written > self._word("start"))
            & (written & np.uint64(layout.IN_FLIGHT) == 0)
            & (flags != np.uint64(layout.COPIED))
        )
        ordered &= ~self._unordered(written, layout.epoch_thread(epoch))
        for number in _distinct(written, np.flatnonzero(ordered)):
            if self._shadow.block_at(int(written[number] >> _STAMP_SHIFT)) == self._word("number"):
                self._report(layout.UNFENCED, self._address(host, number), epoch, int(written[number]))

    def _check_readers(self, first: _Words, plane: _Words, host: int, epoch: int) -> None:
        readers = first[:, _READER]
        self._check(readers, host, epoch)
        self._check_lists(readers, plane[:, _READER], layout.READER_LIST, host, epoch)

    def _check(self, others: _Words, host: int, epoch: int) -> None:
        """Report the accesses that no barrier orders before one; what takes reports knows of fences and releases."""
        for number in _distinct(others, np.flatnonzero(self._unordered(others, layout.epoch_thread(epoch)))):
            self._report(layout.RACE, self._address(host, number), epoch, int(others[number]))

    def _check_lists(self, newest: _Words, words: _Words, mark: int, host: int, epoch: int) -> None:
        """Report the accesses behind the newest ones that no barrier orders before one."""
        listed = (newest & np.uint64(mark) != 0) & (newest >= self._word("start"))
        for number in np.flatnonzero(listed):
            others = np.fromiter(self._shadow.listed(int(newest[number]), int(words[number]), mark), np.uint64)
            for other in others[self._unordered(others, layout.epoch_thread(epoch))]:
                self._report(layout.RACE, self._address(host, int(number)), epoch, int(other))

    def _unordered(self, others: _Words, thread: int) -> npt.NDArray[np.bool_]:
        """Whether no barrier of the block orders epochs before the running thread's next access.

        What other blocks of a cluster did counts as ordered.
        """
        their = (others & np.uint64(layout.THREAD_MASK)) >> np.uint64(layout.THREAD_SHIFT)
        stamps = others >> _STAMP_SHIFT
        warps = self._row(layout.WARPS, thread // 32)[(their // np.uint64(32)).astype(np.intp)]
        lanes = self._row(layout.LANES, thread)[(their % np.uint64(32)).astype(np.intp)]
        same_warp = their // np.uint64(32) == thread // 32
        result: npt.NDArray[np.bool_] = (others >= max(self._word("start"), self._word("open"))) & (their != thread)
        result &= (stamps > warps) & ~(same_warp & (stamps <= lanes))
        if self._machine.cluster_count > 1:
            result &= np.array([self._shadow.block_at(int(one)) == self._word("number") for one in stamps])
        return result

    # --- state --------------------------------------------------------------------------------------------------------

    def _begin(self, site: int, thread: int) -> int:
        """The epoch of an access by a thread at this moment; what comes next has a later one."""
        stamp = self._shadow.word("now")
        self._shadow.pass_time()
        return stamp << layout.STAMP_SHIFT | thread << layout.THREAD_SHIFT | site << layout.SITE_SHIFT

    def _cells(self, host: int, size: int) -> tuple[_Words, _Words]:
        """Both planes of the cells of a stretch of the block's shared memory, two words each."""
        offset = host - self._machine.shared
        number = offset >> self._shift
        count = (offset + size - 1 >> self._shift) + 1 - number
        start = self._word("cells") + (number << layout.CELL_SHIFT)
        first, plane = (
            np.ctypeslib.as_array((ctypes.c_uint64 * (2 * count)).from_address(where)).reshape(count, 2)
            for where in (start, start + self._word("plane"))
        )
        return first, plane

    def _address(self, host: int, number: int) -> int:
        """The address of the cell behind another one."""
        machine = self._machine
        inside = (host - machine.shared >> self._shift) + number << self._shift
        return int(SHARED_WINDOW + machine.shared_base + max(inside, host - machine.shared))

    def _word(self, name: str) -> int:
        return ctypes.c_uint64.from_address(self._machine.block_checks + layout.BLOCK[name]).value

    def _row(self, table: int, number: int) -> npt.NDArray[np.uint32]:
        words = (ctypes.c_uint32 * 32).from_address(self._machine.block_checks + table + 128 * number)
        return np.ctypeslib.as_array(words)


def _distinct(words: _Words, numbers: npt.NDArray[np.intp]) -> list[int]:
    """The first of each group of numbers whose epochs are the same."""
    _, first = np.unique(words[numbers], return_index=True)
    return sorted(int(numbers[index]) for index in first)

"""Race checks of the memory that bulk copies read and write.

A copy's write is in flight from its issue to its arrival; `deliveries` knows who comes behind that. A copy's read lasts
until its thread has waited for it. The rules of global memory are in `global_copies`.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.checks.access_lists import Numbers, Words, forget
from gpuregress.virtual_gpu.runtime.checks.deliveries import Deliveries
from gpuregress.virtual_gpu.runtime.checks.global_copies import CopiedCells, GlobalCopies, Places
from gpuregress.virtual_gpu.runtime.checks.running_block import (
    READER,
    STAMP_SHIFT,
    WRITE,
    Report,
    RunningBlock,
    SharedCells,
    distinct,
)
from gpuregress.virtual_gpu.runtime.memory import Region


class _Stretch(Record):
    """A stretch of shared memory.

    Attributes:
        cells: those of the whole memory.
        host: host address of the stretch.
        first: the first plane of its cells.
        second: the second one.
    """

    cells: SharedCells
    host: int
    first: Words
    second: Words


class BulkNotes:
    """The bulk copies of one launch as the dynamic checks see them.

    Args:
        block: the running one.
        checks: those that are asked for.
        deliveries: told of copies that arrive in shared memory.
        report: takes what is found.
    """

    def __init__(self, block: RunningBlock, checks: Collection[str], deliveries: Deliveries, report: Report) -> None:
        self._block, self._shadow, self._report = block, block.shadow, report
        self._deliveries = deliveries
        self._global = GlobalCopies(block, checks, deliveries, report)
        self._races, self._uninitialized = "races" in checks, "uninitialized" in checks
        self._reducing: dict[int, dict[int, None]] = {}

    # --- copies to shared memory --------------------------------------------------------------------------------------

    def load_issued(self, issuer: tuple[int, int], home: int, host: int, size: int, *, reduces: bool) -> int:
        """A copy by a site and a thread to shared memory of the cluster was issued: return its epoch.

        Args:
            issuer: the site and the thread.
            home: host address of the shared memory, of the running block or another one of its cluster.
            host: that of the first byte.
            size: bytes.
            reduces: whether it is a reduction: those that have not arrived do not race with each other.
        """
        epoch, cells = self._block.begin(*issuer), self._block.shared_at(home)
        epoch |= layout.STRONG if reduces else 0
        first, plane = cells.cells(host, size)
        if reduces:
            self._check_written(cells, host, first, epoch)
        if self._races:
            stretch = _Stretch(cells, host, first, plane)
            self._check_writes(stretch, epoch)
            self._check_readers(stretch, epoch)
            for word, mark in ((WRITE, layout.WRITE_LIST), (READER, layout.READER_LIST)):
                forget(self._block.shadow, first[:, word], plane[:, word], mark)
            first[:, WRITE], first[:, READER] = epoch | layout.IN_FLIGHT, 0
            if reduces:
                for place in cells.hosts(host, size):
                    self._reducing.setdefault(place, {})[epoch] = None
        return epoch

    def signals(self, issued: int, home: int, barrier: int) -> None:
        """The copy of an epoch will signal an mbarrier in the shared memory that begins at a host address."""
        cells, initialized = self._block.shared_at(home), self._deliveries.initialized(barrier)
        if self._races and initialized >= cells.word("start"):
            self._report(layout.UNFENCED_INIT, cells.address(barrier, 0), issued, initialized)

    def in_shared(self, issued: int, waiter: int, host: int, size: int) -> None:
        """The copy that was issued at an epoch is in the running block's shared memory, because a thread waits."""
        first, _ = self._block.shared.cells(host, size)
        epoch = self._block.begin(layout.epoch_site(issued), waiter)
        epoch |= layout.REDUCED if issued & layout.STRONG else layout.DELIVERED
        first[:, WRITE] = epoch if self._races else self._block.word("start")
        if self._races and issued & layout.STRONG:
            # The sum is whole when the last one arrives, at whichever mbarrier; those to blocks that ended never do.
            for number, place in enumerate(self._block.shared.hosts(host, size)):
                others = self._reducing[place]
                others.pop(issued)
                last = next(reversed(others), 0)
                if last >= self._block.word("start"):
                    first[number, WRITE] = last | layout.IN_FLIGHT
        self._deliveries.add(epoch, issued, layout.epoch_stamp(epoch))

    # --- copies from shared memory ------------------------------------------------------------------------------------

    def store_issued(self, site: int, thread: int, host: int, size: int) -> int:
        """A thread of the running block has issued a copy from the block's shared memory: return its epoch."""
        epoch, cells = self._block.begin(site, thread), self._block.shared
        first, plane = cells.cells(host, size)
        self._check_written(cells, host, first, epoch)
        if self._races:
            stretch = _Stretch(cells, host, first, plane)
            self._check_writes(stretch, epoch)
            self._check_proxies(stretch, epoch)
        return epoch

    def source_read(self, host: int, size: int, epoch: int) -> None:
        """The copy from shared memory that was issued at an epoch has been waited for."""
        if not self._races:
            return
        self.source_copied(self._block.machine.shared, host, size, epoch)
        first, plane = self._block.shared.cells(host, size)
        # Whoever writes next must come behind the wait.
        now = self._block.begin(layout.epoch_site(epoch), layout.epoch_thread(epoch))
        is_free = first[:, READER] < self._block.word("open")
        self._block.note_reader((first, plane), np.arange(len(first)), now, is_free, self._block.word("open"))

    def source_copied(self, home: int, host: int, size: int, epoch: int) -> None:
        """The copy that was issued at an epoch, from the shared memory that begins at a host address, has arrived."""
        if not self._races:
            return
        cells = self._block.shared_at(home)
        written = cells.cells(host, size)[0][:, WRITE]
        late = (written >> STAMP_SHIFT > layout.epoch_stamp(epoch)) & (written >= cells.word("start"))
        for number in distinct(written, np.flatnonzero(late)):
            self._report(layout.UNARRIVED, cells.address(host, number), int(written[number]), epoch)

    def source_ended(self, home: int, host: int, size: int, epoch: int) -> None:
        """The running block ends, and nothing orders the copy before it that was issued at an epoch, from its memory.

        See `block_end`.
        """
        if self._races:
            self.source_copied(home, host, size, epoch)
            address = self._block.shared_at(home).address(host, 0)
            self._report(layout.ENDED, address, epoch, self._block.begin(0, layout.epoch_thread(epoch)))

    # --- global memory ------------------------------------------------------------------------------------------------

    def global_read(self, site: int, thread: int, region: Region, places: Places) -> object:
        """A copy from a region was issued; return what `global_read_ended` is to be told."""
        return self._global.read(self._block.begin(site, thread), region, places)

    def global_read_ended(self, read: object, waiter: int) -> None:
        """The copy from a region has arrived, because a thread waits."""
        if isinstance(read, CopiedCells):
            self._global.end_read(read, waiter)

    def global_write(self, epoch: int, region: Region, places: Places, *, reduces: bool) -> object:
        """A copy to a region, or a reduction there, was issued; return what `global_write_ended` is to be told."""
        return self._global.write(epoch, region, places, reduces=reduces)

    def global_write_ended(self, write: object) -> None:
        """The copy to a region has arrived."""
        if isinstance(write, CopiedCells):
            self._global.end_write(write)

    # --- contents -----------------------------------------------------------------------------------------------------

    def _check_written(self, cells: SharedCells, host: int, first: Words, epoch: int) -> None:
        """Report that a copy reads, or reduces into, shared memory that its block has not written."""
        if self._uninitialized:
            for number in np.flatnonzero(first[:, WRITE] < cells.word("start"))[:1]:
                self._report(layout.UNINITIALIZED, cells.address(host, int(number)), epoch, 0)

    # --- order --------------------------------------------------------------------------------------------------------

    def _check_writes(self, at: _Stretch, epoch: int) -> None:
        written = at.first[:, WRITE]
        flying = (written & np.uint64(layout.IN_FLIGHT) != 0) & (written >= at.cells.word("start"))
        both_reduce = flying & (written & np.uint64(layout.STRONG & epoch) != 0)
        for number in distinct(written, np.flatnonzero(flying & ~both_reduce)):
            self._report(layout.UNARRIVED, at.cells.address(at.host, number), epoch, int(written[number]))
        if epoch & layout.STRONG:
            both_reduce |= written & np.uint64(layout.STRONG | layout.REDUCED) == np.uint64(layout.REDUCED)
        landed = np.where(flying | both_reduce, np.uint64(0), written)
        self._check(at, self._block.accesses(landed, at.second[:, WRITE], layout.WRITE_LIST), epoch)

    def _check_proxies(self, at: _Stretch, epoch: int) -> None:
        """Report the ordered writes of the block that no fence between the proxies shows to a copy.

        What a bulk copy has written needs no fence, nor has CUTLASS one behind cp.async.
        """
        written = at.first[:, WRITE]
        is_copy = (written & np.uint64(layout.STRONG) == 0) & (written & np.uint64(layout.LEVEL_MASK) != 0)
        ordered = (written > self._block.word("start")) & (written & np.uint64(layout.IN_FLIGHT) == 0) & ~is_copy
        ordered &= ~self._block.unordered(written, layout.epoch_thread(epoch))
        for number in distinct(written, np.flatnonzero(ordered)):
            if self._shadow.block_at(int(written[number] >> STAMP_SHIFT)) == self._block.word("number"):
                self._report(layout.UNFENCED, at.cells.address(at.host, number), epoch, int(written[number]))

    def _check_readers(self, at: _Stretch, epoch: int) -> None:
        found = self._block.accesses(at.first[:, READER], at.second[:, READER], layout.READER_LIST)
        self._check(at, found, epoch)

    def _check(self, at: _Stretch, found: tuple[Numbers, Words], epoch: int) -> None:
        """Report the accesses that no barrier orders before one; what takes reports knows of fences and releases."""
        numbers, epochs = found
        recent = epochs >= at.cells.word("start")
        numbers, epochs = numbers[recent], epochs[recent]
        apart = self._block.unordered_anywhere(epochs, layout.epoch_thread(epoch))
        for number, other in zip(numbers[apart], epochs[apart], strict=True):
            self._report(layout.RACE, at.cells.address(at.host, int(number)), epoch, int(other))

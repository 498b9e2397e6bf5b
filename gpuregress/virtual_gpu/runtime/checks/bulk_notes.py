"""Race checks of the memory that bulk copies read and write.

A copy's write is in flight from its issue to its arrival; `deliveries` knows who comes after that. A copy's read lasts
until its thread has waited for it. The rules of global memory are in `global_copies`.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.checks.running_block import (
    READER,
    STAMP_SHIFT,
    WRITE,
    Numbers,
    Report,
    RunningBlock,
    SharedCells,
    Words,
    distinct,
    forget,
    join,
    replace_newest,
)
from gpuregress.virtual_gpu.runtime.memory import Region

# --- deliveries -------------------------------------------------------------------------------------------------------
# Bulk copies that have arrived, and the threads that know of it.
#
# A thread knows of the arrival if it has waited at an mbarrier since, or comes after the wait of another thread. At
# which mbarrier it waited is not asked. What a copy has read counts like what it has written.
#
# PTX ISA manual, 9.7.13.15.16 "mbarrier.test_wait/mbarrier.try_wait".


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
        return arrival.issued if arrival is not None else None

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


# --- global copies ----------------------------------------------------------------------------------------------------
# Race checks of the global memory that bulk copies read and write.
#
# A copy to shared memory reads its source from its issue to its arrival. A copy to global memory writes its target, or
# reduces into it, from its issue to the wait of its thread for the write; a wait for the read (`.read`) frees the
# source alone. The reductions of a copy are relaxed ones at the scope of the GPU, so that two of them do not race.
#
# PTX ISA manual, 9.7.9.25.5.2 "cp.async.bulk" and 9.7.9.25.5.3 "cp.reduce.async.bulk".

Places: TypeAlias = "slice | npt.NDArray[np.int64]"
"""Bytes of a region: from one to another, or the offset of each."""
_UNWRITTEN = np.uint64(0)
_WORDS = {layout.WRITE_LIST: WRITE, layout.READER_LIST: READER}


class CopiedCells(Record):
    """The cells of global memory that a copy reads or writes.

    Attributes:
        epoch: of its issue.
        region: that they are of.
        shift: log2 of the bytes of a cell.
        numbers: of the cells.
        planes: all cells of the region.
    """

    epoch: int
    region: Region
    shift: int
    numbers: npt.NDArray[np.intp]
    planes: tuple[Words, Words]

    @property
    def written(self) -> Words:
        """The last write of each cell."""
        written: Words = self.planes[0][self.numbers, WRITE]
        return written

    @property
    def readers(self) -> Words:
        """The reader of each cell."""
        readers: Words = self.planes[0][self.numbers, READER]
        return readers

    def address(self, at: int) -> int:
        """The address of one of the cells."""
        return self.region.address + (int(self.numbers[at]) << self.shift)


class GlobalCopies:
    """The accesses of one launch's bulk copies to global memory.

    Args:
        block: the running one.
        checks: those that are asked for.
        deliveries: is notified of copies that have arrived.
        report: takes what is found.
    """

    def __init__(self, block: RunningBlock, checks: Collection[str], deliveries: Deliveries, report: Report) -> None:
        self._block, self._shadow, self._deliveries, self._report = block, block.shadow, deliveries, report
        self._races, self._uninitialized = "races" in checks, "uninitialized" in checks

    def read(self, epoch: int, region: Region, places: Places) -> CopiedCells | None:
        """Check the source of a copy at its issue; None where it is not watched."""
        cells = self._cells(epoch, region, places)
        if cells is None:
            return None
        written = cells.written
        if self._uninitialized and not region.is_filled:
            for number in np.flatnonzero(written == _UNWRITTEN)[:1]:
                self._report(layout.UNINITIALIZED, cells.address(int(number)), epoch, 0)
        if not self._races or self._shadow.is_race_free(region):
            return None
        self._check(cells, *self._accesses(cells, layout.WRITE_LIST))
        self._check_proxies(cells)
        # Who waits for this copy need not come after an earlier read of its thread, unless that is a copy, too.
        is_free = ~self._block.unordered_anywhere(cells.readers, layout.epoch_thread(epoch))
        is_free &= cells.readers & np.uint64(layout.STRONG | layout.ARRIVED) == np.uint64(layout.ARRIVED)
        self._block.note_reader(cells.planes, cells.numbers, epoch, is_free, self._shadow.word("oldest"))
        return cells

    def end_read(self, cells: CopiedCells, waiter: int) -> None:
        """Report what was written since the issue of a copy that has read it; who waits may write from now on."""
        self._report_late(cells, *self._accesses(cells, layout.WRITE_LIST))
        arrived = self._block.begin(layout.epoch_site(cells.epoch), waiter) | layout.ARRIVED
        self._replace(cells, layout.READER_LIST, arrived)
        for epoch in (arrived, cells.epoch):
            self._deliveries.add(epoch, cells.epoch, layout.epoch_stamp(arrived))

    def write(self, epoch: int, region: Region, places: Places, *, reduces: bool) -> CopiedCells | None:
        """Check the target of a copy at its issue; None where it is not watched."""
        if reduces:
            epoch |= layout.STRONG | layout.SCOPES["gpu"] << layout.LEVEL_SHIFT
        else:
            epoch |= layout.COPIED
        cells = self._cells(epoch, region, places)
        if cells is None:
            return None
        if reduces and self._uninitialized and not region.is_filled:
            for number in np.flatnonzero(cells.written == _UNWRITTEN)[:1]:
                self._report(layout.UNINITIALIZED, cells.address(int(number)), epoch, 0)
        if self._races and not self._shadow.is_race_free(region):
            for mark in (layout.WRITE_LIST, layout.READER_LIST):
                self._check(cells, *self._racing(cells, mark))
            self._note_write(cells)
        return cells

    def end_write(self, cells: CopiedCells) -> None:
        """Report what was accessed since the issue of a copy that has written, and have the write last until now."""
        if not self._races or self._shadow.is_race_free(cells.region):
            cells.planes[0][cells.numbers, WRITE] = 1  # as before the launch
            return
        for mark in (layout.WRITE_LIST, layout.READER_LIST):
            self._report_late(cells, *self._racing(cells, mark))
        now = self._block.begin(layout.epoch_site(cells.epoch), layout.epoch_thread(cells.epoch))
        self._replace(cells, layout.WRITE_LIST, now | cells.epoch & (layout.STRONG | layout.LEVEL_MASK))

    # --- cells --------------------------------------------------------------------------------------------------------

    def _cells(self, epoch: int, region: Region, places: Places) -> CopiedCells | None:
        known = self._shadow.cells_of(region)
        if known is None:
            return None
        shift, *planes = known
        if isinstance(places, slice):
            first, end, _ = places.indices(region.size)
            numbers = np.arange(first >> shift, (end - 1 >> shift) + 1)
        else:
            numbers = np.unique(places >> shift)
        return CopiedCells(epoch, region, shift, numbers.astype(np.intp), (planes[0], planes[1]))

    @staticmethod
    def _replace(cells: CopiedCells, mark: int, epoch: int) -> None:
        """Let an epoch stand for the copy among the writes of its cells, or among their readers."""
        word = _WORDS[mark]
        newest_plane, word_plane = cells.planes
        newest, words = newest_plane[cells.numbers, word], word_plane[cells.numbers, word]
        replace_newest(newest, words, mark, (cells.epoch, epoch))
        newest_plane[cells.numbers, word] = newest
        word_plane[cells.numbers, word] = words

    def _note_write(self, cells: CopiedCells) -> None:
        first, second = cells.planes
        if not cells.epoch & layout.STRONG:
            for word, mark in ((WRITE, layout.WRITE_LIST), (READER, layout.READER_LIST)):
                forget(self._shadow, first[cells.numbers, word], second[cells.numbers, word], mark)
            first[cells.numbers, WRITE], first[cells.numbers, READER] = cells.epoch, 0
            return
        # As a strong write of a thread, a reduction hides no other write, and no reader.
        written, words = cells.written, second[cells.numbers, WRITE]
        replaces = np.zeros(len(written), np.bool_)
        join(self._shadow, written, words, layout.WRITE_LIST, (cells.epoch, replaces, self._shadow.word("oldest")))
        first[cells.numbers, WRITE], second[cells.numbers, WRITE] = written, words

    # --- order --------------------------------------------------------------------------------------------------------

    def _accesses(self, cells: CopiedCells, mark: int) -> tuple[Numbers, Words]:
        """The writes of the cells, or their readers: the index of a cell for each, and the epochs."""
        first, second = cells.planes
        word = _WORDS[mark]
        return self._block.accesses(first[cells.numbers, word], second[cells.numbers, word], mark)

    def _racing(self, cells: CopiedCells, mark: int) -> tuple[Numbers, Words]:
        """Those of the accesses that race with a write of the copy where nothing orders them.

        A reduction does not race with what is strong for all threads of the device.
        """
        numbers, epochs = self._accesses(cells, mark)
        if not cells.epoch & layout.STRONG:
            return numbers, epochs
        flags, strong = layout.STRONG | layout.NARROW, layout.STRONG
        if mark == layout.WRITE_LIST:
            flags = strong = layout.WIDE
        weak = epochs & np.uint64(flags) != np.uint64(strong)
        return numbers[weak], epochs[weak]

    def _check(self, cells: CopiedCells, numbers: Numbers, others: Words) -> None:
        """Report accesses that no barrier orders before a copy; what takes reports knows of fences and releases."""
        apart = self._block.unordered_anywhere(others, layout.epoch_thread(cells.epoch))
        for other in np.unique(others[apart]):
            apart &= (others != other) | (not self._deliveries.is_known(int(other), cells.epoch))
        for number, other in zip(numbers[apart], others[apart], strict=True):
            self._report(layout.RACE, cells.address(int(number)), cells.epoch, int(other))

    def _check_proxies(self, cells: CopiedCells) -> None:
        """Report the ordered writes of the block that no fence between the proxies shows to a copy."""
        written = cells.written
        numbers = distinct(written, np.flatnonzero(written >= max(self._block.word("turn"), self._block.word("start"))))
        apart = self._block.unordered(written[numbers], layout.epoch_thread(cells.epoch))
        for number, is_apart in zip(numbers, apart, strict=True):
            # What bulk copies have written needs no fence.
            if not is_apart and not int(written[number]) & (layout.STRONG | layout.COPIED):
                self._report(layout.UNFENCED, cells.address(number), cells.epoch, int(written[number]))

    def _report_late(self, cells: CopiedCells, numbers: Numbers, others: Words) -> None:
        """Report accesses after the issue of a copy that ends now."""
        recent = (others >> STAMP_SHIFT > layout.epoch_stamp(cells.epoch)) & (others >= self._shadow.word("oldest"))
        for at in distinct(others, np.flatnonzero(recent)):
            self._report(layout.UNARRIVED, cells.address(int(numbers[at])), int(others[at]), cells.epoch)


# --- bulk notes -------------------------------------------------------------------------------------------------------


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
        deliveries: is notified of copies that arrive in shared memory.
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
        if reduces:
            epoch |= layout.STRONG
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
        # Whoever writes next must come after the wait.
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
        """A copy from a region was issued; return what `global_read_ended` is to be given."""
        return self._global.read(self._block.begin(site, thread), region, places)

    def global_read_ended(self, read: object, waiter: int) -> None:
        """The copy from a region has arrived, because a thread waits."""
        if isinstance(read, CopiedCells):
            self._global.end_read(read, waiter)

    def global_write(self, epoch: int, region: Region, places: Places, *, reduces: bool) -> object:
        """A copy to a region, or a reduction there, was issued; return what `global_write_ended` is to be given."""
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

        What a bulk copy has written needs no fence, nor has CUTLASS one after cp.async.
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

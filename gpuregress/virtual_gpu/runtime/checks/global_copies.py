"""Race checks of the global memory that bulk copies read and write.

A copy to shared memory reads its source from its issue to its arrival. A copy to global memory writes its target, or
reduces into it, from its issue to the wait of its thread for the write; a wait for the read (`.read`) frees the source
alone. The reductions of a copy are relaxed ones at the scope of the GPU, so that two of them do not race.

PTX ISA manual, 9.7.9.25.5.2 "cp.async.bulk" and 9.7.9.25.5.3 "cp.reduce.async.bulk".
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.checks.access_lists import Numbers, Words, forget, join, replace_newest
from gpuregress.virtual_gpu.runtime.checks.deliveries import Deliveries
from gpuregress.virtual_gpu.runtime.checks.running_block import (
    READER,
    STAMP_SHIFT,
    WRITE,
    Report,
    RunningBlock,
    distinct,
)
from gpuregress.virtual_gpu.runtime.memory import Region

Places: TypeAlias = "slice | npt.NDArray[np.int64]"
"""Bytes of a region: from one to another, or the offset of each."""
_UNWRITTEN = np.uint64(0)


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
        deliveries: told of copies that have arrived.
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
        # Who waits for this copy need not come behind an earlier read of its thread, unless that is a copy, too.
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
        epoch |= layout.STRONG | layout.SCOPES["gpu"] << layout.LEVEL_SHIFT if reduces else layout.COPIED
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
            first, end = places.start or 0, region.size if places.stop is None else places.stop
            numbers = np.arange(first >> shift, (end - 1 >> shift) + 1)
        else:
            numbers = np.unique(places >> shift)
        return CopiedCells(epoch, region, shift, numbers.astype(np.intp), (planes[0], planes[1]))

    @staticmethod
    def _replace(cells: CopiedCells, mark: int, epoch: int) -> None:
        """Let an epoch stand for the copy among the writes of its cells, or among their readers."""
        word = WRITE if mark == layout.WRITE_LIST else READER
        newest, words = (plane[cells.numbers, word] for plane in cells.planes)
        replace_newest(newest, words, mark, (cells.epoch, epoch))
        for plane, changed in zip(cells.planes, (newest, words), strict=True):
            plane[cells.numbers, word] = changed

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
        word = WRITE if mark == layout.WRITE_LIST else READER
        first, second = (plane[cells.numbers, word] for plane in cells.planes)
        return self._block.accesses(first, second, mark)

    def _racing(self, cells: CopiedCells, mark: int) -> tuple[Numbers, Words]:
        """Those of the accesses that race with a write of the copy where nothing orders them.

        A reduction does not race with what is strong for all threads of the device.
        """
        numbers, epochs = self._accesses(cells, mark)
        if not cells.epoch & layout.STRONG:
            return numbers, epochs
        flags = layout.WIDE if mark == layout.WRITE_LIST else layout.STRONG | layout.NARROW
        strong = layout.WIDE if mark == layout.WRITE_LIST else layout.STRONG
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
        """Report accesses behind the issue of a copy that ends now."""
        recent = (others >> STAMP_SHIFT > layout.epoch_stamp(cells.epoch)) & (others >= self._shadow.word("oldest"))
        for at in distinct(others, np.flatnonzero(recent)):
            self._report(layout.UNARRIVED, cells.address(int(numbers[at])), int(others[at]), cells.epoch)

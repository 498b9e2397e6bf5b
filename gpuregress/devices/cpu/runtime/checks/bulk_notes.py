"""Race checks of the memory that bulk copies read and write.

A copy's write is in flight from its issue to its arrival; `deliveries` knows who comes behind that. A copy's read lasts
until its thread has waited for it. The rules of global memory are in `global_copies`.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from gpuregress.devices.cpu.runtime.checks import layout
from gpuregress.devices.cpu.runtime.checks.access_lists import Numbers, Words, forget
from gpuregress.devices.cpu.runtime.checks.deliveries import Deliveries
from gpuregress.devices.cpu.runtime.checks.global_copies import CopiedCells, GlobalCopies, Places
from gpuregress.devices.cpu.runtime.checks.running_block import (
    READER,
    STAMP_SHIFT,
    WRITE,
    Report,
    RunningBlock,
    distinct,
)
from gpuregress.devices.cpu.runtime.memory import Region


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
        self._global = GlobalCopies(block, checks, report)
        self._races, self._uninitialized = "races" in checks, "uninitialized" in checks

    # --- copies to shared memory --------------------------------------------------------------------------------------

    def load_issued(self, site: int, thread: int, host: int, size: int) -> None:
        """A thread of the running block has issued a copy to the block's shared memory."""
        epoch = self._block.begin(site, thread)
        first, plane = self._block.cells(host, size)
        if self._races:
            self._check_writes(first, plane, host, epoch)
            self._check_readers(first, plane, host, epoch)
            for word, mark in ((WRITE, layout.WRITE_LIST), (READER, layout.READER_LIST)):
                forget(self._block.shadow, first[:, word], plane[:, word], mark)
            first[:, WRITE], first[:, READER] = epoch | layout.IN_FLIGHT, 0

    def in_shared(self, issuer: tuple[int, int], waiter: int, host: int, size: int) -> None:
        """A copy by a site and a thread has arrived in the running block's shared memory, because a thread waits."""
        first, _ = self._block.cells(host, size)
        site, thread = issuer
        epoch = self._block.begin(site, waiter) | layout.DELIVERED
        first[:, WRITE] = epoch if self._races else self._block.word("start")
        self._deliveries.add(epoch, thread)

    # --- copies from shared memory ------------------------------------------------------------------------------------

    def store_issued(self, site: int, thread: int, host: int, size: int) -> int:
        """A thread of the running block has issued a copy from the block's shared memory: return its epoch."""
        epoch = self._block.begin(site, thread)
        first, plane = self._block.cells(host, size)
        if self._uninitialized:
            for number in np.flatnonzero(first[:, WRITE] < self._block.word("start"))[:1]:
                self._report(layout.UNINITIALIZED, self._block.address(host, int(number)), epoch, 0)
        if self._races:
            self._check_writes(first, plane, host, epoch)
            self._check_proxies(first, host, epoch)
        return epoch

    def source_read(self, host: int, size: int, epoch: int) -> None:
        """The copy from shared memory that was issued at an epoch has been waited for."""
        if not self._races:
            return
        first, plane = self._block.cells(host, size)
        written = first[:, WRITE]
        for number in distinct(written, np.flatnonzero(self._block.is_behind(written, epoch))):
            self._report(layout.UNARRIVED, self._block.address(host, number), int(written[number]), epoch)
        # Whoever writes next must come behind the wait.
        now = self._block.begin(layout.epoch_site(epoch), layout.epoch_thread(epoch))
        is_free = first[:, READER] < self._block.word("open")
        self._block.note_reader((first, plane), np.arange(len(first)), now, is_free, self._block.word("open"))

    # --- global memory ------------------------------------------------------------------------------------------------

    def global_read(self, site: int, thread: int, region: Region, places: Places) -> object:
        """A copy from a region was issued; return what `global_read_ended` is to be told."""
        return self._global.read(self._block.begin(site, thread), region, places)

    def global_read_ended(self, read: object) -> None:
        """The copy from a region has arrived."""
        if isinstance(read, CopiedCells):
            self._global.end_read(read)

    def global_write(self, epoch: int, region: Region, places: Places, *, reduces: bool) -> object:
        """A copy to a region, or a reduction there, was issued; return what `global_write_ended` is to be told."""
        return self._global.write(epoch, region, places, reduces=reduces)

    def global_write_ended(self, write: object) -> None:
        """The copy to a region has arrived."""
        if isinstance(write, CopiedCells):
            self._global.end_write(write)

    # --- order --------------------------------------------------------------------------------------------------------

    def _check_writes(self, first: Words, plane: Words, host: int, epoch: int) -> None:
        written = first[:, WRITE]
        flying = (written & np.uint64(layout.IN_FLIGHT) != 0) & (written >= self._block.word("start"))
        for number in distinct(written, np.flatnonzero(flying)):
            self._report(layout.UNARRIVED, self._block.address(host, number), epoch, int(written[number]))
        self._check(
            self._block.accesses(np.where(flying, np.uint64(0), written), plane[:, WRITE], layout.WRITE_LIST),
            host,
            epoch,
        )

    def _check_proxies(self, first: Words, host: int, epoch: int) -> None:
        """Report the ordered writes of the block that no fence between the proxies shows to a copy.

        What a bulk copy has written needs no fence, nor has CUTLASS one behind cp.async.
        """
        written = first[:, WRITE]
        is_copy = (written & np.uint64(layout.STRONG) == 0) & (written & np.uint64(layout.LEVEL_MASK) != 0)
        ordered = (written > self._block.word("start")) & (written & np.uint64(layout.IN_FLIGHT) == 0) & ~is_copy
        ordered &= ~self._block.unordered(written, layout.epoch_thread(epoch))
        for number in distinct(written, np.flatnonzero(ordered)):
            if self._shadow.block_at(int(written[number] >> STAMP_SHIFT)) == self._block.word("number"):
                self._report(layout.UNFENCED, self._block.address(host, number), epoch, int(written[number]))

    def _check_readers(self, first: Words, plane: Words, host: int, epoch: int) -> None:
        readers = first[:, READER]
        self._check(self._block.accesses(readers, plane[:, READER], layout.READER_LIST), host, epoch)

    def _check(self, found: tuple[Numbers, Words], host: int, epoch: int) -> None:
        """Report the accesses that no barrier orders before one; what takes reports knows of fences and releases."""
        numbers, epochs = found
        apart = self._block.unordered(epochs, layout.epoch_thread(epoch))
        for number, other in zip(numbers[apart], epochs[apart], strict=True):
            self._report(layout.RACE, self._block.address(host, int(number)), epoch, int(other))

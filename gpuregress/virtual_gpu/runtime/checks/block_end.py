"""Accesses of other blocks to the shared memory of a block of a cluster, when that block ends.

The end of a block is like a write to all of its shared memory: each access of another block has to come before it.
Threads end in any order, so that it suffices if one thread of the block knows of the access when it exits.
CUDA C++ programming guide, "Distributed shared memory".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.checks.access_lists import Numbers, Words
from gpuregress.virtual_gpu.runtime.checks.running_block import READER, STAMP_SHIFT, WRITE, Report, RunningBlock


class BlockEnd:
    """The ends of the blocks of one launch.

    Args:
        block: the running one.
        is_released: whether releases order an earlier epoch before an access of any thread of the running block.
        report: takes what is found.
    """

    def __init__(self, block: RunningBlock, is_released: Callable[[int], bool], report: Report) -> None:
        self._block, self._is_released, self._report = block, is_released, report

    def take(self, _arguments: int) -> None:
        """Report what other blocks have accessed in the block that ends, and nothing orders before its end."""
        now, machine = self._block.begin(0, 0), self._block.machine
        for numbers, epochs in self._accesses():
            known = np.array([self._is_known(int(one)) for one in epochs], np.bool_)
            for number, epoch in zip(numbers[~known], epochs[~known], strict=True):
                self._report(layout.ENDED, self._block.shared.address(machine.shared, int(number)), int(epoch), now)

    def _accesses(self) -> Iterator[tuple[Numbers, Words]]:
        """Cells with the epochs of other blocks' accesses, one cell for each epoch."""
        first, second = self._block.shared.planes()
        for word, mark in ((WRITE, layout.WRITE_LIST), (READER, layout.READER_LIST)):
            yield self._of_others(*self._block.accesses(first[:, word], second[:, word], mark))

    def _of_others(self, numbers: Numbers, epochs: Words) -> tuple[Numbers, Words]:
        recent = epochs >= self._block.word("start")
        epochs, numbers = epochs[recent], numbers[recent]
        own = self._block.word("number")
        others = np.array([self._block.shadow.block_at(int(one)) != own for one in epochs >> STAMP_SHIFT], np.bool_)
        return numbers[others], epochs[others]

    def _is_known(self, epoch: int) -> bool:
        """Whether a thread of the block that ends has waited, at the cluster's barrier or for a release, behind it."""
        whose = self._block.shadow.block_at(layout.epoch_stamp(epoch))
        return self._block.has_met(whose, epoch) or self._is_released(epoch)

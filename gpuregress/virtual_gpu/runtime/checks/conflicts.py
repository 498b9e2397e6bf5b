"""Conflicting accesses of a launch: those that only the order of its blocks, warps and lanes orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.records import Record
from gpuregress.gpu.schedules import BLOCKS, COPIES, THREADS, WARPS, Conflict
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.machine_layout import REGION_SHIFT

MOST_PAIRS = 4_096
"""Of blocks, warps or threads at a buffer or variable: those behind are not kept."""


class _Pair(Record):
    part: str
    earlier: int
    later: int
    memory: int
    """The region that both access: a buffer, a variable, shared memory."""


@dataclass(slots=True)
class ConflictLog:
    """The pairs of blocks, warps and threads of one launch whose accesses conflict.

    Attributes:
        block_at: the linear number of the block that ran at a stamp.
        cluster: the number of the cluster of a block.
        is_cut: whether there were more pairs than are kept.
    """

    block_at: Callable[[int], int]
    cluster: Callable[[int], int]
    is_cut: bool = False
    _found: dict[_Pair, tuple[int, int, int, int]] = field(default_factory=dict)

    def add(self, kind: int, address: int, epoch: int, other: int) -> None:
        """Note a report of the check of races: its words."""
        pair = _Pair(*self._ordered(kind, epoch, other), address >> REGION_SHIFT)
        if len(self._found) < MOST_PAIRS:
            self._found.setdefault(pair, (kind, address, epoch, other))
        else:
            self.is_cut = self.is_cut or pair not in self._found

    def all(self, describe: Callable[[int, int, int, int], tuple[str, str, str]]) -> tuple[Conflict, ...]:
        """Return the conflicts in the order in which they came.

        Args:
            describe: the words of a report → both accesses in words, their source lines, and the element.
        """
        return tuple(self._conflict(pair, *describe(*report)) for pair, report in self._found.items())

    @staticmethod
    def _conflict(pair: _Pair, text: str, lines: str, element: str) -> Conflict:
        return Conflict(pair.part, pair.earlier, pair.later, text, lines, element.strip("`").partition("[")[0])

    def _ordered(self, kind: int, epoch: int, other: int) -> tuple[str, int, int]:
        """What orders the two accesses, and the numbers of the earlier and the later of that."""
        if kind == layout.UNARRIVED:
            return COPIES, 0, 0
        blocks = [self.block_at(layout.epoch_stamp(one)) for one in (other, epoch)]
        if blocks[0] != blocks[1]:
            clusters = [self.cluster(block) for block in blocks]
            return BLOCKS if clusters[0] != clusters[1] else "", clusters[0], clusters[1]
        threads = layout.epoch_thread(other), layout.epoch_thread(epoch)
        warps = threads[0] // SM_90.warp_size, threads[1] // SM_90.warp_size
        return (WARPS, *warps) if warps[0] != warps[1] else (THREADS, *threads)

"""Permutations of a launch's blocks and threads for each named schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpuregress.devices.cpu.runtime.machine_layout import AT_ANY_WAIT, AT_ONCE, LATEST
from gpuregress.records import SM_90
from gpuregress.records.instrumentation.schedules import (
    BLOCKS,
    COPIES,
    FORWARD,
    LANES,
    LOCKSTEP,
    REVERSE,
    SHUFFLED,
    SWITCH,
    WARPS,
)

_BLOCKS, _WARPS, _LANES = range(3)


@dataclass(frozen=True, slots=True)
class NamedSchedule:
    """A schedule of `gpuregress.records.instrumentation.schedules`.

    Attributes:
        name: `forward` is the usual order; or one that `part_of` or `switch_of` makes.
    """

    name: str = FORWARD

    @property
    def is_usual(self) -> bool:
        """Whether programs are compiled and run as always."""
        return self.name == FORWARD

    @property
    def is_in_step(self) -> bool:
        """Whether the lanes of a warp make each access to memory together."""
        return self.name == LOCKSTEP

    @property
    def arrival(self) -> int:
        """When asynchronous copies arrive: a value of the machine's `arrival`."""
        if not self._permutes(COPIES):
            return LATEST
        if self._base == REVERSE:
            return AT_ONCE
        return (AT_ONCE, AT_ANY_WAIT, LATEST)[self._seed % 3] if self._is_shuffled else LATEST

    def blocks(self, total: int) -> Sequence[int] | None:
        """Return the blocks' linear numbers in the order in which they run; None for the usual one."""
        if not self._permutes(BLOCKS):
            return None
        if self._base == SWITCH:
            switched: list[int] = _switched(np.arange(total, dtype=np.uint32), self._switch, 1).tolist()
            return switched
        if self._is_shuffled:
            order: list[int] = np.argsort(_hashes(self._seed, _BLOCKS, total), kind="stable").tolist()
            return order
        return range(total - 1, -1, -1) if self._base == REVERSE else None

    def threads(self, count: int) -> npt.NDArray[np.uint32]:
        """Return the numbers of a block's threads in the order in which they run, shape (count,).

        The threads of a warp follow each other: a schedule changes the order of the warps, and of the lanes in each.
        """
        numbers = np.arange(count, dtype=np.uint32)
        warps, lanes = numbers // SM_90.warp_size, numbers.astype(np.uint64)
        ranks = warps.astype(np.uint64)
        if self._permutes(WARPS):
            if self._base == SWITCH:
                return _switched(numbers, self._switch, SM_90.warp_size)
            ranks = ranks.max() - ranks if self._base == REVERSE else ranks
            ranks = _hashes(self._seed, _WARPS, int(warps[-1]) + 1)[warps] if self._is_shuffled else ranks
        if self._permutes(LANES):
            if self._base == SWITCH:
                return _switched(numbers, self._switch, 1)
            lanes = lanes.max() - lanes if self._base == REVERSE else lanes
            lanes = _hashes(self._seed, _LANES, count) if self._is_shuffled else lanes
        return numbers[np.lexsort((lanes, warps, ranks))]

    @property
    def _is_shuffled(self) -> bool:
        return self._base.startswith(SHUFFLED)

    @property
    def _base(self) -> str:
        return self.name.partition("/")[0]

    def _permutes(self, part: str) -> bool:
        """Whether a part of the schedule is not the usual one."""
        only = self.name.partition("/")[2].partition("/")[0]
        return only in ("", part)

    @property
    def _switch(self) -> int:
        """The number of the first of the two neighbours that are exchanged."""
        return int(self.name.rpartition("/")[2])

    @property
    def _seed(self) -> int:
        return int(self._base.removeprefix(SHUFFLED))


def _switched(numbers: npt.NDArray[np.uint32], first: int, size: int) -> npt.NDArray[np.uint32]:
    """Exchange two neighbouring groups of numbers."""
    start, middle, end = (size * number for number in (first, first + 1, first + 2))
    return np.concatenate((numbers[:start], numbers[middle:end], numbers[start:middle], numbers[end:]))


def _hashes(seed: int, stream: int, count: int) -> npt.NDArray[np.uint64]:
    """Pseudo-random numbers that are the same with every version of NumPy (splitmix64 of the seed and the index)."""
    with np.errstate(over="ignore"):
        start = np.uint64((seed * 3 + stream + 1) * 0x9E3779B97F4A7C15 % (1 << 64))
        return _mixed(np.arange(count, dtype=np.uint64) + _mixed(np.full(count, start)))


def _mixed(value: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))

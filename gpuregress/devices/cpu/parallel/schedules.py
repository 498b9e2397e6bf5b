"""Permutations of a launch's blocks and threads for each named schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpuregress.devices.cpu.runtime.machine_layout import AT_ANY_WAIT, AT_ONCE, LATEST
from gpuregress.records import SM_90
from gpuregress.records.instrumentation.schedules import FORWARD, LOCKSTEP, REVERSE, SHUFFLED

_BLOCKS, _WARPS, _LANES = range(3)


@dataclass(frozen=True, slots=True)
class NamedSchedule:
    """A schedule of `gpuregress.records.instrumentation.schedules`.

    Attributes:
        name: `forward` is the usual order.
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
        if self.name == REVERSE:
            return AT_ONCE
        return (AT_ONCE, AT_ANY_WAIT, LATEST)[self._seed % 3] if self._is_shuffled else LATEST

    def blocks(self, total: int) -> Sequence[int] | None:
        """Return the blocks' linear numbers in the order in which they run; None for the usual one."""
        if self._is_shuffled:
            order: list[int] = np.argsort(_hashes(self._seed, _BLOCKS, total), kind="stable").tolist()
            return order
        return range(total - 1, -1, -1) if self.name == REVERSE else None

    def threads(self, count: int) -> npt.NDArray[np.uint32]:
        """Return the numbers of a block's threads in the order in which they run, shape (count,).

        The threads of a warp follow each other: a schedule changes the order of the warps, and of the lanes in each.
        """
        numbers = np.arange(count, dtype=np.uint32)
        if self._is_shuffled:
            warps = _hashes(self._seed, _WARPS, count // SM_90.warp_size + 1)[numbers // SM_90.warp_size]
            return numbers[np.lexsort((_hashes(self._seed, _LANES, count), numbers // SM_90.warp_size, warps))]
        return numbers[::-1].copy() if self.name == REVERSE else numbers

    @property
    def _is_shuffled(self) -> bool:
        return self.name.startswith(SHUFFLED)

    @property
    def _seed(self) -> int:
        return int(self.name.removeprefix(SHUFFLED))


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

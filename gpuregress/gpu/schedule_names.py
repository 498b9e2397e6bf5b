"""Permutations of a launch's blocks and threads for each named schedule."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.records import Record
from gpuregress.gpu.schedules import (
    AT_ANY_WAIT,
    AT_ISSUE,
    AT_WAIT,
    BLOCKS,
    COPIES,
    FORWARD,
    LOCKSTEP,
    REVERSE,
    SHUFFLED,
    THREADS,
    WARPS,
    Switch,
    switches_in,
)

_BLOCKS, _WARPS, _LANES = range(3)
_Pairs = list[tuple[int, int]]


class NamedSchedule(Record):
    """A schedule of `gpuregress.gpu.schedules`.

    Attributes:
        name: `forward` is the usual order. `adversarial` has no order of its own: its switches are spelled when the
            conflicting accesses are known.
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
    def arrival(self) -> str:
        """When asynchronous copies arrive: `AT_WAIT`, `AT_ISSUE` or `AT_ANY_WAIT`."""
        if self.name == REVERSE:
            return AT_ISSUE
        if self._is_shuffled:
            return (AT_ISSUE, AT_ANY_WAIT, AT_WAIT)[self._seed % 3]
        for switch in self._switches:
            if switch.part == COPIES:
                return switch.arrival
        return AT_WAIT

    def blocks(self, total: int) -> Sequence[int] | None:
        """Return the blocks' linear numbers in the order in which they run; None for the usual one."""
        if self._is_shuffled:
            order: list[int] = np.argsort(_hashes(self._seed, _BLOCKS, total), kind="stable").tolist()
            return order
        if self.name == REVERSE:
            return range(total - 1, -1, -1)
        pairs = self._pairs(BLOCKS)
        return switched(total, pairs) if pairs else None

    def threads(self, count: int) -> npt.NDArray[np.uint32]:
        """Return the numbers of a block's threads in the order in which they run, shape (count,).

        The threads of a warp follow each other: a schedule changes the order of the warps, and of the lanes in each.
        """
        numbers = np.arange(count, dtype=np.uint32)
        warps, lanes = numbers // SM_90.warp_size, numbers.astype(np.uint64)
        ranks = warps.astype(np.uint64)
        warp_pairs, lane_pairs = self._pairs(WARPS), self._pairs(THREADS)
        if self.name == REVERSE:
            ranks, lanes = ranks.max() - ranks, lanes.max() - lanes
        elif self._is_shuffled:
            ranks = _hashes(self._seed, _WARPS, int(warps[-1]) + 1)[warps]
            lanes = _hashes(self._seed, _LANES, count)
        if warp_pairs:
            ranks = np.argsort(switched(int(warps[-1]) + 1, warp_pairs)).astype(np.uint64)[warps]
        if lane_pairs:
            lanes = np.argsort(switched(count, lane_pairs)).astype(np.uint64)
        return numbers[np.lexsort((lanes, warps, ranks))]

    def chain(self, part: str, count: int) -> list[Switch]:
        """Return switches that have one order of a part only: this schedule's.

        Args:
            part: one of `PARTS`.
            count: of blocks, or of threads in a block.
        """
        if part == COPIES:
            return [] if self.arrival == AT_WAIT else [Switch(COPIES, arrival=self.arrival)]
        order: Iterable[int] = self.blocks(count) or range(count)
        if part != BLOCKS:
            order = self.threads(count).tolist()
        if part == WARPS:
            order = dict.fromkeys(number // SM_90.warp_size for number in order)
        numbers = list(order)
        switches = []
        for first, second in itertools.pairwise(numbers):
            if part != THREADS or first // SM_90.warp_size == second // SM_90.warp_size:
                switches.append(Switch(part, first, second))
        return switches

    @property
    def _is_shuffled(self) -> bool:
        return self.name.startswith(SHUFFLED)

    @property
    def _switches(self) -> tuple[Switch, ...]:
        return switches_in(self.name) or ()

    def _pairs(self, part: str) -> _Pairs:
        return [(one.first, one.second) for one in self._switches if one.part == part]

    @property
    def _seed(self) -> int:
        return int(self.name.removeprefix(SHUFFLED))


def switched(total: int, pairs: _Pairs) -> list[int]:
    """Return the numbers below `total` in the order nearest to the usual one that has the first of each pair first.

    A number that must run before another one is moved to the place directly before it. Pairs with a number that there
    is not are left out.
    """
    before: dict[int, list[int]] = {}
    for first, second in sorted(pairs):
        if max(first, second) < total:
            before.setdefault(second, []).append(first)
    if not before:
        return list(range(total))
    order: list[int] = []
    is_done = bytearray(total)
    for number in range(total):
        path = [number]
        while path:
            waiting = [one for one in before.pop(path[-1], ()) if not is_done[one]]
            if waiting:
                path += reversed(waiting)
                continue
            last = path.pop()
            if not is_done[last]:
                is_done[last] = 1
                order.append(last)
    return order


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

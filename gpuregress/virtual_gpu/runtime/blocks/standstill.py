"""Detection of a grid in which all blocks wait for each other, by its state.

The virtual GPU is deterministic: where a whole round of turns leaves threads and memory as they were some rounds
before, they will be so for ever. The state is compared only after a launch has run for a while, and ever more rarely.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import xxhash

from gpuregress.virtual_gpu.runtime.arena import Arena
from gpuregress.virtual_gpu.runtime.machine_layout import ROW, Machine
from gpuregress.virtual_gpu.runtime.memory import AddressSpace
from gpuregress.virtual_gpu.runtime.thread_context import ROWS

FIRST_LOOK_S = 1.0
"""Time after which the state is looked at."""
ROUNDS = 64
"""Rounds after which the state is compared: a loop that spins may have as many waits."""
MOST_BYTES = 1 << 26
"""Memory beyond which the state is not compared."""


class StandstillDetector:
    """The state of a grid some rounds ago.

    Args:
        machine: the launch's.
        space: the device's memory.
    """

    def __init__(self, machine: Machine, space: AddressSpace) -> None:
        self._machine, self._space = machine, space
        self._pause_s = FIRST_LOOK_S
        self._restart()

    def _restart(self) -> None:
        self._due = time.perf_counter() + self._pause_s
        self._before = ""
        self._rounds = 0

    def is_reached(self, arenas: Sequence[Arena]) -> bool:
        """Return whether nothing will ever change again; called after each round.

        Args:
            arenas: memory of the blocks that are left.
        """
        if not self._before:
            if time.perf_counter() >= self._due:
                self._before = self._state(arenas)
            return False
        self._rounds += 1
        if self._state(arenas) == self._before:
            return True
        if self._rounds >= ROUNDS:
            self._pause_s *= 4
            self._restart()
        return False

    def _state(self, arenas: Sequence[Arena]) -> str:
        """Return a digest of all that threads can read; never the same twice where it would be too much."""
        arrays = [region.data for region in self._space.regions()]
        for arena in arenas:
            arrays += [*_context(arena.context), arena.shared, arena.local, arena.copies]
        if self._space.heap.used or sum(array.nbytes for array in arrays) > MOST_BYTES:
            return f"{time.perf_counter_ns()}"
        digest = xxhash.xxh3_128(f"{self._machine.clock}".encode())
        for array in arrays:
            digest.update(array.data)
        return digest.hexdigest()


def _context(context: npt.NDArray[np.uint8]) -> list[npt.NDArray[np.uint8]]:
    """Return the parts of a block's context that threads depend on: not the numbers of waits, which are counted up."""
    parts, start = [], 0
    for first, size in ((ROWS["met"][0], ROWS["met"][1] * ROW), ROWS["meetings"]):
        parts.append(context[start:first])
        start = first + size
    return [*parts, context[start:]]

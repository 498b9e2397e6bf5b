"""Co-resident blocks of a cooperative grid or a cluster: all are in memory at once, and take turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import numpy.typing as npt
import xxhash

from gpuregress.gpu.programs import Dim3
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime import machine_layout
from gpuregress.virtual_gpu.runtime.arena import Arena
from gpuregress.virtual_gpu.runtime.fault_context import ClusterBlock, coordinates
from gpuregress.virtual_gpu.runtime.machine_layout import DONE, ROW, ROWS, Machine
from gpuregress.virtual_gpu.runtime.memory import AddressSpace
from gpuregress.virtual_gpu.runtime.program import KernelFacts

# --- standstill -------------------------------------------------------------------------------------------------------
# Detection of a grid in which all blocks wait for each other, by its state.
#
# The virtual GPU is deterministic: where a whole round of turns leaves threads and memory as they were some rounds
# before, they will be so for ever. The state is compared only after a launch has run for a while, and ever more rarely.

FIRST_LOOK_S = 1.0
"""Time after which the state is looked at."""
ROUNDS = 64
"""Rounds after which the state is compared: a loop that spins may have as many waits."""
MOST_BYTES = 1 << 26
"""Memory beyond which the state is not compared."""


class StandstillDetector:
    """The state of a grid some rounds ago."""

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
        arrays = [region.data for region in self._space.all()]
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


# --- co resident blocks -----------------------------------------------------------------------------------------------

PASSES_PER_TURN = 64
"""Passes of a block over its threads before the next block has its turn."""
_WORKSPACE_BYTES = 256


@dataclass(slots=True, eq=False)
class CoResidentBlock:
    """One of several co-resident blocks.

    Attributes:
        number: its linear number in the grid.
        arena: its memory; None before it has begun.
        at_barrier: it waits at the cluster's barrier.
        done: all of its threads have exited.
    """

    number: int
    arena: Arena | None = None
    at_barrier: bool = False
    done: bool = False


@dataclass(slots=True, eq=False)
class Cluster:
    """The blocks that share their shared memory; a single block where a kernel has no clusters.

    Attributes:
        blocks: by rank.
        shared: host pointer to each one's shared memory; 0 where it has not begun, or is done.
        checks: host pointer to the state of each one's dynamic checks.
        phase: how often the barrier has opened.
    """

    blocks: list[CoResidentBlock]
    shared: np.ndarray[tuple[int], np.dtype[np.uint64]] = field(init=False)
    checks: np.ndarray[tuple[int], np.dtype[np.uint64]] = field(init=False)
    phase: int = 0

    def __post_init__(self) -> None:
        self.shared, self.checks = (np.zeros(len(self.blocks), np.uint64) for _ in range(2))

    @property
    def done(self) -> bool:
        """Whether all blocks are done."""
        return all(block.done for block in self.blocks)

    def open_barrier(self, threads: int) -> bool:
        """Open the barrier if every thread that has not exited has arrived; return whether a block can continue.

        Args:
            threads: of a block.
        """
        left = [block for block in self.blocks if not block.done]
        if not any(block.at_barrier for block in left):
            return True
        if all(block.arena is not None and self._all_came(block.arena, threads) for block in left):
            self.phase += 1
            for block in left:
                block.at_barrier = False
                assert block.arena is not None
                block.arena.context[ROWS["phase"][0] :][:4].view(np.uint32)[:] = self.phase
        return any(not block.at_barrier for block in left)

    def _all_came(self, arena: Arena, threads: int) -> bool:
        states, counts = (arena.context[ROWS[name][0] :][: 4 * threads].view(np.int32) for name in ("state", "cluster"))
        return bool(((counts > 2 * self.phase) | (states == DONE)).all())


class CoResidentGrid:
    """The blocks of one launch, each with memory of its own.

    Args:
        machine: the launch's; its parameters and variables serve all blocks.
        facts: the kernel's.
        space: where the grid's barrier is placed.
        shared_bytes: of a block's shared window.
        sequence: the clusters' linear numbers in the order in which they run; None for the usual one.
    """

    def __init__(
        self,
        machine: Machine,
        facts: KernelFacts,
        space: AddressSpace,
        shared_bytes: int,
        sequence: Sequence[int] | None = None,
    ) -> None:
        self._machine, self._facts, self._space, self._shared_bytes = machine, facts, space, shared_bytes
        self._threads = machine.block_x * machine.block_y * machine.block_z
        self._sequence = sequence
        self._free: list[Arena] = []
        self.arena = Arena()
        """The memory of the block that runs, or ran last."""
        self._current = Cluster([])

    def run(self, call: Callable[[], int]) -> int:
        """Run the blocks in turns until all are done; return the status of a fault, or 0.

        Args:
            call: runs the block that the machine names.
        """
        machine = self._machine
        machine.passes_per_turn = PASSES_PER_TURN
        if not self._facts.cooperative:
            for cluster in self._clusters():
                status = self._run_in_turns([cluster], call)
                if status:
                    return status
            return 0
        workspace = self._space.allocate("the grid's barrier", _WORKSPACE_BYTES)
        workspace.data[:] = 0
        workspace.is_filled = True
        machine.workspace = workspace.address
        try:
            return self._run_in_turns(list(self._clusters()), call)
        finally:
            self._space.free(workspace.address)

    def cluster_blocks(self) -> tuple[ClusterBlock, ...]:
        """The blocks of the cluster that ran last, by rank."""
        grid = self._grid()
        blocks = []
        for block in self._current.blocks:
            context = block.arena.context if block.arena is not None else None
            blocks.append(ClusterBlock(coordinates(block.number, grid), context, block.done))
        return tuple(blocks)

    def _grid(self) -> Dim3:
        return (self._machine.grid_x, self._machine.grid_y, self._machine.grid_z)

    def _clusters(self) -> Iterator[Cluster]:
        grid, sides = self._grid(), self._facts.cluster
        counts = (grid[0] // sides[0], grid[1] // sides[1], grid[2] // sides[2])
        ranks = [coordinates(rank, sides) for rank in range(sides[0] * sides[1] * sides[2])]
        usual = range(counts[0] * counts[1] * counts[2])
        for number in self._sequence or usual:
            x, y, z = coordinates(number, counts)
            first = (x * sides[0], y * sides[1], z * sides[2])
            yield Cluster([CoResidentBlock(_linear_number(first, own, grid)) for own in ranks])

    def _run_in_turns(self, clusters: list[Cluster], call: Callable[[], int]) -> int:
        waiting = clusters
        standstill = StandstillDetector(self._machine, self._space)
        while waiting:
            for cluster in waiting:
                status = self._run_cluster(cluster, call)
                if status:
                    return status
            arenas = []
            for cluster in waiting:
                arenas += [block.arena for block in cluster.blocks if not block.done and block.arena is not None]
            if standstill.is_reached(arenas):
                self._current = Cluster([*chain.from_iterable(cluster.blocks for cluster in clusters)])
                self._machine.fault_kind = machine_layout.FAULT_SPIN
                return 1
            waiting = [cluster for cluster in waiting if not cluster.done]
        return 0

    def _run_cluster(self, cluster: Cluster, call: Callable[[], int]) -> int:
        """Run each block that can continue; return the status of a fault, or 0."""
        self._current = cluster
        for rank, block in enumerate(cluster.blocks):
            if not block.done and not block.at_barrier:
                status = self._run_block(cluster, rank, call)
                if status:
                    return status
        if cluster.done or cluster.open_barrier(self._threads):
            return 0
        self._machine.fault_kind = machine_layout.FAULT_STUCK
        return 1

    def _run_block(self, cluster: Cluster, rank: int, call: Callable[[], int]) -> int:
        """Run one block until it waits for others or is done; return the status of a fault, or 0."""
        block = cluster.blocks[rank]
        self._enter(cluster, rank)
        status = call()
        if status == 0:
            block.done = True
            cluster.shared[rank] = 0
            self._free.append(self.arena)
        elif status == machine_layout.HELD:
            block.at_barrier = True
        return 0 if status in (machine_layout.SUSPENDED, machine_layout.HELD) else status

    def _enter(self, cluster: Cluster, rank: int) -> None:
        machine, block = self._machine, cluster.blocks[rank]
        machine.first_block, machine.end_block = block.number, block.number + 1
        machine.resuming = int(block.arena is not None)
        if block.arena is None:
            block.arena = self._free.pop() if self._free else Arena()
            block.arena.prepare(b"", self._shared_bytes, self._facts, self._threads)
        self.arena = arena = block.arena
        arena.enter(machine)
        cluster.shared[rank], cluster.checks[rank] = machine.shared, machine.block_checks
        machine.cluster_checks = cluster.checks.ctypes.data
        machine.cluster_rank, machine.shared_base = rank, rank << machine_layout.CLUSTER_SHIFT
        machine.cluster_shared, machine.cluster_count = cluster.shared.ctypes.data, len(cluster.blocks)


def _linear_number(first: Dim3, own: Dim3, grid: Dim3) -> int:
    """The linear number, in the grid, of a block of a cluster."""
    x, y, z = (a + b for a, b in zip(first, own, strict=True))
    return x + grid[0] * (y + grid[1] * z)


# --- resident blocks --------------------------------------------------------------------------------------------------
# Resident blocks of a kernel that spins: when one waits for another, the next one begins.
#
# A GPU holds as many blocks at once as its multiprocessors have room for, and starts another one when one ends. So do
# these: a block that can change nothing before another one has run is suspended, with its memory, and the next block
# begins. Blocks that are suspended get a turn whenever their number has grown by a quarter, and before the launch is
# given up. It is given up where no block can change anything, or where all of them only repeat what they did before.


class _Suspended(Record):
    number: int
    arena: Arena


class ResidentBlocks:
    """The blocks of one launch.

    Args:
        machine: the launch's.
        facts: the kernel's.
        space: the device's memory.
        arena: memory of the first block, with the parameters of the launch.
        most: blocks that are resident at once.
        sequence: the blocks' linear numbers in the order in which they begin; None for the usual one.
    """

    def __init__(
        self,
        machine: Machine,
        facts: KernelFacts,
        space: AddressSpace,
        arena: Arena,
        most: int,
        sequence: Sequence[int] | None = None,
    ) -> None:
        self._machine, self._facts, self._space, self._most = machine, facts, space, most
        self._threads = machine.block_x * machine.block_y * machine.block_z
        self._total: int = machine.grid_x * machine.grid_y * machine.grid_z
        self._sequence = sequence
        self._begun = 0
        self._suspended: list[_Suspended] = []
        self._free = [arena]
        self.arena = arena
        """The memory of the block that runs, or ran last."""

    def run(self, call: Callable[[], int]) -> int:
        """Run the blocks until all are done; return the status of a fault, or 0.

        Args:
            call: runs the blocks that the machine names.
        """
        due, left = 0, -1
        standstill = StandstillDetector(self._machine, self._space)
        while self._begun < self._total or self._suspended:
            if self._begun < self._total and len(self._suspended) < min(self._most, due or 1):
                status = self._begin(call)
                if status:
                    return status
                continue
            advanced = False
            # Backwards first: in a chain of blocks that wait for the next one, each goes on in the same round.
            self._suspended.reverse()
            for block in list(self._suspended):
                status = self._resume(block, call)
                if status not in (0, machine_layout.SUSPENDED):
                    return status
                advanced = advanced or status == 0 or bool(self._machine.advanced)
            count = len(self._suspended)
            if self._begun == self._total or count >= self._most:
                if count != left:
                    left, standstill = count, StandstillDetector(self._machine, self._space)
                if not advanced or standstill.is_reached([block.arena for block in self._suspended]):
                    self._machine.fault_kind = machine_layout.FAULT_SPIN
                    return 1
            due = count + 1 + count // 4
        return 0

    def blocks(self) -> tuple[ClusterBlock, ...]:
        """The blocks that are suspended."""
        sides = (self._machine.grid_x, self._machine.grid_y, self._machine.grid_z)
        return tuple(
            ClusterBlock(coordinates(item.number, sides), item.arena.context, done=False)
            for item in sorted(self._suspended, key=lambda item: item.number)
        )

    @property
    def waiting(self) -> int:
        """The number of blocks that have not begun."""
        return self._total - self._begun

    @property
    def ended(self) -> int:
        """The number of blocks that have ended."""
        return self._begun - len(self._suspended)

    # --- one block ----------------------------------------------------------------------------------------------------

    def _begin(self, call: Callable[[], int]) -> int:
        """Begin the next block, or all that are left while none is suspended; return the status of a fault, or 0."""
        machine = self._machine
        arena = self._free.pop() if self._free else self._new_arena()
        self.arena = arena
        arena.enter(machine)
        machine.resuming = 0
        machine.first_block = self._begun
        if self._sequence is not None:
            machine.first_block = self._sequence[self._begun]
        machine.end_block = machine.first_block + 1
        begun = self._begun + 1
        if self._sequence is None and not self._suspended:
            machine.end_block = begun = self._total
        status: int = call()
        if status == machine_layout.SUSPENDED:
            # Compiled code leaves the number of the suspended block.
            self._begun = machine.first_block + 1 if self._sequence is None else begun
            self._suspended.append(_Suspended(machine.first_block, arena))
            return 0
        self._begun = begun
        self._free.append(arena)
        return status

    def _resume(self, block: _Suspended, call: Callable[[], int]) -> int:
        machine = self._machine
        self.arena = block.arena
        block.arena.enter(machine)
        machine.first_block, machine.end_block, machine.resuming = block.number, block.number + 1, 1
        status = call()
        if status != machine_layout.SUSPENDED:
            self._suspended.remove(block)
            self._free.append(block.arena)
        return status

    def _new_arena(self) -> Arena:
        arena = Arena()
        arena.prepare(b"", len(self.arena.shared), self._facts, self._threads)
        return arena

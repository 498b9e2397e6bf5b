"""Co-resident blocks of a cooperative grid or a cluster: all are in memory at once, and take turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpuregress.gpu.programs import Dim3
from gpuregress.virtual_gpu.runtime import machine_layout
from gpuregress.virtual_gpu.runtime.arena import Arena
from gpuregress.virtual_gpu.runtime.blocks.standstill import StandstillDetector
from gpuregress.virtual_gpu.runtime.faults import ClusterBlock
from gpuregress.virtual_gpu.runtime.machine_layout import Machine
from gpuregress.virtual_gpu.runtime.memory import AddressSpace
from gpuregress.virtual_gpu.runtime.program import KernelFacts
from gpuregress.virtual_gpu.runtime.thread_context import DONE, ROWS

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
            return next((status for cluster in self._clusters() if (status := self._run_in_turns([cluster], call))), 0)
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
        return tuple(
            ClusterBlock(
                _coordinates(block.number, grid), None if block.arena is None else block.arena.context, block.done
            )
            for block in self._current.blocks
        )

    def _grid(self) -> Dim3:
        return (self._machine.grid_x, self._machine.grid_y, self._machine.grid_z)

    def _clusters(self) -> Iterator[Cluster]:
        grid, sides = self._grid(), self._facts.cluster
        counts = (grid[0] // sides[0], grid[1] // sides[1], grid[2] // sides[2])
        ranks = [_coordinates(rank, sides) for rank in range(sides[0] * sides[1] * sides[2])]
        usual = range(counts[0] * counts[1] * counts[2])
        for x, y, z in (_coordinates(number, counts) for number in self._sequence or usual):
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
            left = [block for cluster in waiting for block in cluster.blocks if not block.done]
            if standstill.is_reached([block.arena for block in left if block.arena is not None]):
                self._current = Cluster([block for cluster in clusters for block in cluster.blocks])
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
        cluster.shared[rank] = arena.shared.ctypes.data
        machine.shared, machine.local = arena.shared.ctypes.data, arena.local.ctypes.data
        machine.context, machine.copies = arena.context.ctypes.data, arena.copies.ctypes.data
        cluster.checks[rank] = machine.block_checks = arena.checks.address
        machine.cluster_checks = cluster.checks.ctypes.data
        machine.cluster_rank, machine.shared_base = rank, rank << machine_layout.CLUSTER_SHIFT
        machine.cluster_shared, machine.cluster_count = cluster.shared.ctypes.data, len(cluster.blocks)


def _coordinates(number: int, sides: Sequence[int]) -> Dim3:
    """The coordinates along x, y, z of a linear number."""
    rest, x = divmod(number, sides[0])
    z, y = divmod(rest, sides[1])
    return (x, y, z)


def _linear_number(first: Dim3, own: Dim3, grid: Dim3) -> int:
    """The linear number, in the grid, of a block of a cluster."""
    x, y, z = (a + b for a, b in zip(first, own, strict=True))
    return x + grid[0] * (y + grid[1] * z)

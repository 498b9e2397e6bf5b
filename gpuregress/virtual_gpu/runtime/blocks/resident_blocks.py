"""Resident blocks of a kernel that spins: when one waits for another, the next one begins.

A card holds as many blocks at once as its multiprocessors have room for, and starts another one when one ends. So do
these: a block that can change nothing before another one has run is suspended, with its memory, and the next block
begins. Blocks that are suspended get a turn whenever their number has grown by a quarter, and before the launch is
given up. It is given up where no block can change anything, or where all of them only repeat what they did before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpuregress.gpu.programs import Dim3
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime import machine_layout
from gpuregress.virtual_gpu.runtime.arena import Arena
from gpuregress.virtual_gpu.runtime.blocks.standstill import StandstillDetector
from gpuregress.virtual_gpu.runtime.faults import ClusterBlock
from gpuregress.virtual_gpu.runtime.machine_layout import Machine
from gpuregress.virtual_gpu.runtime.memory import AddressSpace
from gpuregress.virtual_gpu.runtime.program import KernelFacts


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
        x, y = self._machine.grid_x, self._machine.grid_y
        return tuple(
            ClusterBlock(_coordinates(item.number, x, y), item.arena.context, done=False)
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
        self._enter(arena)
        machine.resuming = 0
        if self._sequence is None and not self._suspended:
            machine.first_block, machine.end_block = self._begun, self._total
        else:
            number = self._begun if self._sequence is None else self._sequence[self._begun]
            machine.first_block, machine.end_block = number, number + 1
        last = self._total if machine.end_block == self._total and self._sequence is None else self._begun + 1
        status: int = call()
        if status == machine_layout.SUSPENDED:
            self._begun = self._begun + 1 if self._sequence is not None else machine.first_block + 1
            self._suspended.append(_Suspended(machine.first_block, arena))
            return 0
        self._begun = last
        self._free.append(arena)
        return status

    def _resume(self, block: _Suspended, call: Callable[[], int]) -> int:
        machine = self._machine
        self._enter(block.arena)
        machine.first_block, machine.end_block, machine.resuming = block.number, block.number + 1, 1
        status = call()
        if status != machine_layout.SUSPENDED:
            self._suspended.remove(block)
            self._free.append(block.arena)
        return status

    def _enter(self, arena: Arena) -> None:
        self.arena, machine = arena, self._machine
        machine.shared, machine.local = arena.shared.ctypes.data, arena.local.ctypes.data
        machine.context, machine.copies = arena.context.ctypes.data, arena.copies.ctypes.data
        machine.block_checks, machine.cluster_checks = arena.checks.address, arena.checks.alone
        machine.cluster_shared = arena.alone.ctypes.data

    def _new_arena(self) -> Arena:
        arena = Arena()
        arena.prepare(b"", len(self.arena.shared), self._facts, self._threads)
        return arena


def _coordinates(number: int, x: int, y: int) -> Dim3:
    rest, column = divmod(number, x)
    plane, row = divmod(rest, y)
    return (column, row, plane)

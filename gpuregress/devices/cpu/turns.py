"""Grids whose blocks wait for each other: all blocks are there at once, and take turns."""

from __future__ import annotations

from collections.abc import Callable

from gpuregress.devices.cpu.arena import Arena
from gpuregress.devices.cpu.machine import layout
from gpuregress.devices.cpu.machine.layout import Machine
from gpuregress.devices.cpu.machine.memory import AddressSpace
from gpuregress.devices.cpu.machine.program import KernelFacts
from gpuregress.errors import DeviceError

TURNS = 64
"""Times that a block's waiting threads are looked after before the next block has its turn."""
_MULTIPROCESSORS, _THREADS, _BLOCKS = 132, 2048, 32
"""An H200's, and what one of its multiprocessors holds at once."""
_WORKSPACE_BYTES = 256


def check_residence(blocks: int, threads: int) -> None:
    """Refuses a grid that a GPU could not hold at once.

    Raises:
        DeviceError: there are too many blocks.
    """
    most = _MULTIPROCESSORS * min(_BLOCKS, _THREADS // max(1, -(-threads // 32) * 32))
    if blocks > most:
        raise DeviceError(
            f"the kernel waits for its whole grid: at most {most} blocks of {threads} threads can be there at once, "
            f"not {blocks}"
        )


class Grid:
    """The blocks of one launch, each with memory of its own.

    Args:
        machine: the launch's; its parameters and variables serve all blocks.
        facts: the kernel's.
        space: where the grid's barrier is placed.
        shared_bytes: of a block's shared window.
    """

    def __init__(self, machine: Machine, facts: KernelFacts, space: AddressSpace, shared_bytes: int) -> None:
        self._machine, self._facts, self._space, self._shared_bytes = machine, facts, space, shared_bytes
        self._threads = machine.block_x * machine.block_y * machine.block_z
        self.arena = Arena()
        """The memory of the block that runs, or ran last."""

    def run(self, call: Callable[[], int]) -> int:
        """Lets the blocks take turns until all are done; gives the status that is not 0, if there is one.

        Args:
            call: runs the block that the machine names.
        """
        workspace = self._space.allocate("the grid's barrier", _WORKSPACE_BYTES)
        workspace.data[:] = 0
        machine = self._machine
        machine.table, machine.table_count = self._space.table.ctypes.data, len(self._space.table)
        machine.workspace, machine.turns = workspace.address, TURNS
        try:
            return self._take_turns(call)
        finally:
            self._space.free(workspace.address)

    def _take_turns(self, call: Callable[[], int]) -> int:
        waiting: dict[int, Arena | None] = dict.fromkeys(range(self._machine.end_block))
        while waiting:
            for number, arena in list(waiting.items()):
                self.arena = self._enter(number, arena)
                status = call()
                if status == 0:
                    del waiting[number]
                elif status == layout.SUSPENDED:
                    waiting[number] = self.arena
                else:
                    return status
        return 0

    def _enter(self, number: int, arena: Arena | None) -> Arena:
        machine = self._machine
        machine.first_block, machine.end_block = number, number + 1
        machine.resuming = int(arena is not None)
        if arena is None:
            arena = Arena()
            arena.prepare(b"", self._shared_bytes, self._facts, self._threads)
        machine.shared, machine.local = arena.shared.ctypes.data, arena.local.ctypes.data
        machine.context = arena.context.ctypes.data
        return arena

"""Counter of executed instructions, in a register of each LLVM function until it returns."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.builder.address_resolution import field, set_field
from gpuregress.virtual_gpu.builder.region_bounds import MachineView
from gpuregress.virtual_gpu.builder.structured import Cell, i64
from gpuregress.virtual_gpu.isa.matrix.mma_batches import instruction_count
from gpuregress.virtual_gpu.ptx.opcode_table import Wait, info
from gpuregress.virtual_gpu.ptx.tree import Instruction, Label


class InstructionCounter:
    """The instructions that the threads of one function have executed.

    An instruction whose guard is false counts: it is issued. A loop that waits for other threads does not count.

    Args:
        view: the machine, as the LLVM function sees it.
        flow: control flow of the function.
        is_wanted: whether code that counts is built.
    """

    def __init__(self, view: MachineView, flow: ControlFlowGraph, *, is_wanted: bool) -> None:
        self._view, self._flow = view, flow
        self._cell = Cell(view.entry, i64(0)) if is_wanted else None

    def total(self, b: ir.IRBuilder) -> ir.Value:
        """The number counted since it was last stored, i64; 0 where nothing is counted."""
        return i64(0) if self._cell is None else self._cell.get(b)

    def add(self, b: ir.IRBuilder, number: ir.Value) -> None:
        """Count further instructions."""
        if self._cell is not None:
            self._cell.add(number, b)

    def add_run(self, b: ir.IRBuilder, number: int, start: int) -> None:
        """Count the instructions of a block from a statement on, to its end or the next one that a thread may leave.

        Args:
            b: the builder.
            number: of the block.
            start: the first statement.
        """
        if self._cell is None or number in self._flow.waiting_blocks:
            return
        total = 0
        for index in range(start, self._flow.blocks[number].end):
            statement = self._flow.statements[index]
            is_step = isinstance(statement, Instruction) and info(statement).wait is Wait.STEP
            total += 0 if is_step or isinstance(statement, Label) else instruction_count(statement)
            if self._flow.may_leave(index):
                break
        if total:
            self._cell.add(i64(total), b)

    def store(self, b: ir.IRBuilder) -> None:
        """Add the count to the machine's, and begin again at 0."""
        if self._cell is not None:
            machine = self._view.machine
            set_field(b, machine, "instructions", b.add(field(b, machine, "instructions"), self._cell.get(b)))
            self._cell.set(i64(0), b)

"""Registers whose values never leave a stretch of straight-line code between two waits."""

from __future__ import annotations

from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.effects import CARRY


def local_registers(flow: ControlFlowGraph) -> frozenset[str]:
    """Return the registers that need no memory.

    All statements that name such a register are in one basic block with no wait between them, the first of them
    sets it, and none sets it under a guard. Statements that wait are built twice, so what they name is not local.
    """
    stretch_of: dict[str, int] = {}
    others = {CARRY}
    stretch = 0
    for block in flow.blocks:
        stretch += 1
        for index in range(block.start, block.end):
            statement = flow.statements[index]
            reads, sets = effects.reads(statement), effects.sets(statement)
            others.update(name for name in reads if stretch_of.get(name) != stretch)
            for name in sets:
                if stretch_of.setdefault(name, stretch) != stretch or statement.guard is not None:
                    others.add(name)
            if index in flow.waits:
                others.update(reads, sets)
                stretch += 1
    return frozenset(stretch_of) - others

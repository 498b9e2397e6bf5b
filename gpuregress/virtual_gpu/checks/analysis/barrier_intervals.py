"""Barrier intervals that only read shared memory: code between two barriers of the whole block.

No thread races there: all earlier writes are ordered by the barrier before, all later ones by the barrier behind.
"""

from __future__ import annotations

from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.checks.analysis.granules import meets_in_part
from gpuregress.virtual_gpu.ptx.modifiers import space_of
from gpuregress.virtual_gpu.ptx.opcode_table import MemoryEffect, info
from gpuregress.virtual_gpu.ptx.tree import Instruction, Label, Statement

_OTHER_BARRIERS = frozenset(["warp", "step", "cluster"])
_OTHER_SPACES = frozenset(["global", "local", "param", "const"])


def shared_reads(flow: ControlFlowGraph, index: int) -> tuple[Instruction, ...] | None:
    """Return the reads of shared memory from one wait to the next ones.

    Args:
        flow: control flow of the kernel.
        index: the statement behind which the code starts; -1: the start of the kernel.

    Returns:
        None where the code may write shared memory, or is not between barriers of the whole block.
    """
    if index >= 0 and not _is_barrier(flow.statements[index]):
        return None
    reads: dict[Instruction, None] = {}
    for start, end in flow.until_waits(index).values():
        for at in range(start, end):
            statement = flow.statements[at]
            if isinstance(statement, Label):
                continue
            if at in flow.waits or not isinstance(statement, Instruction) or not _only_reads(statement):
                return None
            if info(statement).memory is MemoryEffect.READ and space_of(statement) == "shared":
                reads[statement] = None
        if end in flow.waits and not _is_barrier(flow.statements[end]):
            return None
    return tuple(reads)


def _is_barrier(statement: Statement) -> bool:
    """Whether a statement is a barrier for all threads of the block."""
    if not isinstance(statement, Instruction) or statement.opcode not in ("bar", "barrier"):
        return False
    is_whole = _OTHER_BARRIERS.isdisjoint(statement.modifiers) and not meets_in_part(statement)
    return is_whole and statement.guard is None


def _only_reads(instruction: Instruction) -> bool:
    """Whether an instruction writes no shared memory."""
    facts = info(instruction)
    if facts.memory in (MemoryEffect.NONE, MemoryEffect.READ):
        return True
    is_plain = facts.memory in (MemoryEffect.WRITE, MemoryEffect.UPDATE) and "async" not in instruction.modifiers
    return is_plain and (facts.space or space_of(instruction)) in _OTHER_SPACES

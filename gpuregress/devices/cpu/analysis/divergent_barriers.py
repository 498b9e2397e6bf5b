"""Barriers of a block in divergent control flow, and the joins by which a thread goes past them.

The lanes of a warp must execute an aligned barrier together (PTX ISA manual, 9.7.13.1). A branch that threads may take
differently can separate them: if a barrier lies between the branch and its immediate postdominator, a lane that reaches
the postdominator without a wait went past the barrier. A lane that returns early did not: where the lanes of its branch
would meet, all of them leave the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpuregress.devices.cpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.devices.cpu.analysis.uniformity import Uniformity
from gpuregress.devices.cpu.ptx.opcode_table import Control, info
from gpuregress.devices.cpu.ptx.tree import Instruction, Label, Statement


@dataclass(frozen=True, slots=True)
class DivergentBarriers:
    """The barriers of one kernel that the lanes of a warp may fail to reach together.

    Attributes:
        joins: the blocks where lanes meet again that a barrier may have separated.
        is_possible: whether there are any, or two barriers at which the lanes of a warp may wait at once.
        conditional: the blocks with barriers that a lane goes past where it comes to a join.
    """

    joins: frozenset[int] = frozenset()
    is_possible: bool = False
    conditional: frozenset[int] = frozenset()


def is_aligned_barrier(statement: Statement) -> bool:
    """Whether a statement is `bar.sync`, `bar.red` or the like of `barrier`, for a block or some of its warps."""
    if not isinstance(statement, Instruction) or statement.opcode not in ("bar", "barrier"):
        return False
    words = statement.modifiers
    if {"sync", "red"}.isdisjoint(words) or "warp" in words or "cluster" in words:
        return False
    return statement.opcode == "bar" or "aligned" in words


def divergent_barriers(flow: ControlFlowGraph, uniformity: Uniformity) -> DivergentBarriers:
    """Find the barriers of a kernel that lanes of a warp may fail to reach together, and their joins.

    Args:
        flow: its control flow.
        uniformity: of its registers.
    """
    barriers = frozenset(flow.block_at(index) for index in flow.waits if is_aligned_barrier(flow.statements[index]))
    if not barriers:
        return DivergentBarriers()
    joins: set[int] = set()
    conditional: set[int] = set()
    is_possible = False
    for branch in uniformity.divergent_branches():
        sides = [barriers & region for region in branch.sides]
        if not any(sides):
            continue
        is_join = branch.join is not None and not _only_leaves(flow, branch.join)
        if branch.join is not None and is_join:
            joins.add(branch.join)
            conditional.update(*sides)
        is_possible |= is_join or sum(map(bool, sides)) > 1
    return DivergentBarriers(frozenset(joins), is_possible, frozenset(conditional))


def _only_leaves(flow: ControlFlowGraph, number: int) -> bool:
    """Whether a thread that comes to a block does nothing more but leave the kernel."""
    block = flow.blocks[number]
    statements = [item for item in flow.statements[block.start : block.end] if not isinstance(item, Label)]
    return all(isinstance(item, Instruction) and info(item).control is Control.LEAVE for item in statements)

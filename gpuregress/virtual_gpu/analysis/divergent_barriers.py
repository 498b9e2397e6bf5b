"""Barriers of a block in divergent control flow, and the joins by which a thread goes past them.

The lanes of a warp must execute an aligned barrier together (PTX ISA manual, 9.7.13.1). A branch that threads may take
differently can separate them: if a barrier lies between the branch and its immediate postdominator, a lane that reaches
the postdominator without a wait went past the barrier.

Where the lanes of a branch would meet only to leave the kernel, PTX does not tell `if (even) { __syncthreads(); … }`
from the early return of the odd lanes, which is allowed. But a lane whose side of the branch has an effect on memory,
and stands behind the barrier in the source, is on the `else` side of the barrier: it went past it, too.
"""

from __future__ import annotations

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.uniformity import DivergentBranch, Uniformity
from gpuregress.virtual_gpu.ptx.modifiers import space_of
from gpuregress.virtual_gpu.ptx.opcode_table import Control, MemoryEffect, info
from gpuregress.virtual_gpu.ptx.tree import Call, Instruction, Label, Statement


class DivergentBarriers(Record):
    """The barriers of one kernel that the lanes of a warp may fail to reach together.

    Attributes:
        joins: the blocks where lanes meet again that a barrier may have separated.
        is_possible: whether there are any, or two barriers at which the lanes of a warp may wait at once, or `passing`.
        conditional: the blocks with barriers that a lane goes past where it comes to a join.
        passing: the statements with effects by which a lane that leaves the kernel goes past a barrier.
        skipped: the blocks with barriers that it goes past by them.
        may_exit: whether lanes of a warp may leave the kernel before the others execute a barrier.
    """

    joins: frozenset[int] = frozenset()
    is_possible: bool = False
    conditional: frozenset[int] = frozenset()
    passing: frozenset[int] = frozenset()
    skipped: frozenset[int] = frozenset()
    may_exit: bool = False


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
    passing: set[int] = set()
    skipped: set[int] = set()
    is_possible = may_exit = False
    for branch in uniformity.divergent_branches():
        sides = [barriers & region for region in branch.sides]
        if not any(sides):
            continue
        if branch.join is not None and not only_leaves(flow, branch.join):
            joins.add(branch.join)
            conditional.update(*sides)
            is_possible = True
        else:
            statements = _passing(flow, branch, barriers)
            passing |= statements
            skipped.update(*sides if statements else ())
            may_exit = True
            is_possible |= bool(statements) or sum(map(bool, sides)) > 1
    return DivergentBarriers(
        joins=frozenset(joins),
        is_possible=is_possible,
        conditional=frozenset(conditional),
        passing=frozenset(passing),
        skipped=frozenset(skipped),
        may_exit=may_exit,
    )


def _passing(flow: ControlFlowGraph, branch: DivergentBranch, barriers: frozenset[int]) -> set[int]:
    """Return the effects on a side of a branch without a barrier that are behind the barrier of another side."""
    found: set[int] = set()
    start = _position(flow, branch.index)
    for side in branch.sides:
        others = frozenset[int]().union(*(other for other in branch.sides if other is not side))
        waits = (index for index in flow.waits if flow.block_at(index) in barriers & others - side)
        places = [place for place in (_position(flow, index) for index in waits) if place[0] == start[0]]
        first = min((place for place in places if place > start), default=None)
        if first is None or not start[0]:
            continue
        for number in side - others:
            if _comes_to(flow, number, barriers):
                continue
            block = flow.blocks[number]
            effects = (index for index in range(block.start, block.end) if _has_effect(flow.statements[index]))
            for index in effects:
                place = _position(flow, index)
                if place[0] == first[0] and place > first:
                    found.add(index)
    return found


def _position(flow: ControlFlowGraph, index: int) -> tuple[str, int, int, int]:
    """Return where the source has a statement: file, line, column, and the order in PTX of code at one place.

    Of inlined code it is that of the outermost call. The file is "" where it is not known.
    """
    statement = flow.statements[index]
    source = None if isinstance(statement, Label) else statement.source
    return (*source.inner[-1], index) if source is not None and source.inner else ("", 0, 0, index)


def _has_effect(statement: Statement) -> bool:
    """Whether other threads, or the host, may notice that a statement was executed."""
    if isinstance(statement, Call):
        return True
    if not isinstance(statement, Instruction) or space_of(statement) in ("local", "param"):
        return False
    return info(statement).memory in (MemoryEffect.WRITE, MemoryEffect.UPDATE, MemoryEffect.COPY)


def _comes_to(flow: ControlFlowGraph, number: int, targets: frozenset[int]) -> bool:
    """Whether one of some blocks can be reached from a block, itself included."""
    seen, pending = {number}, [number]
    while pending:
        block = pending.pop()
        if block in targets:
            return True
        pending += [item for item in flow.blocks[block].successors if item not in seen]
        seen.update(flow.blocks[block].successors)
    return False


def only_leaves(flow: ControlFlowGraph, number: int) -> bool:
    """Whether a thread that comes to a block does nothing more but leave the kernel."""
    block = flow.blocks[number]
    statements = [item for item in flow.statements[block.start : block.end] if not isinstance(item, Label)]
    return all(isinstance(item, Instruction) and info(item).control is Control.LEAVE for item in statements)

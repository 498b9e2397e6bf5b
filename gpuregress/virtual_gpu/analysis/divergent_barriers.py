"""Barriers of a block in divergent control flow, and the joins by which a thread goes past them.

The lanes of a warp must execute an aligned barrier together (PTX ISA manual, 9.7.13.1). A branch that threads may take
differently can separate them: if a barrier lies between the branch and its immediate postdominator, a lane that reaches
the postdominator without a wait went past the barrier.

Where the lanes of a branch would meet only to leave the kernel, PTX does not tell `if (even) { __syncthreads(); … }`
from the early return of the odd lanes, which is allowed. But a lane whose side of the branch has an effect on memory,
and stands after the barrier in the source, is on the `else` side of the barrier: it went past it, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, TypeGuard

from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.uniformity import DivergentBranch, Uniformity
from gpuregress.virtual_gpu.ptx.modifiers import space_of
from gpuregress.virtual_gpu.ptx.opcode_table import Arithmetic, Control, MemoryEffect, ResultKind, Wait, info
from gpuregress.virtual_gpu.ptx.tree import (
    Call,
    Function,
    Guard,
    Instruction,
    Integer,
    Label,
    Operand,
    Register,
    Statement,
    Symbol,
)

_Position: TypeAlias = tuple[str, int, int, int]
"""File, line and column in the source, and the statement, for the order in PTX of code at one place."""


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
            may_exit = True
            if statements:
                skipped.update(*sides)
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
    """Return the effects on a side of a branch without a barrier that are after the barrier of another side."""
    start = _position(flow, branch.index)
    if start is None:
        return set()
    passing: set[int] = set()
    for side in branch.sides:
        others = frozenset[int]().union(*(other for other in branch.sides if other is not side))
        first: _Position | None = None
        for index in flow.waits:
            position = _position(flow, index)
            if flow.block_at(index) in barriers & others - side and _is_behind(position, start):
                first = position if first is None else min(first, position)
        if first is None:
            continue
        for number in side - others:
            if not barriers.isdisjoint(flow.reachable([number])):
                continue
            for index in flow.indices(number):
                if _has_effect(flow.statements[index]) and _is_behind(_position(flow, index), first):
                    passing.add(index)
    return passing


def _position(flow: ControlFlowGraph, index: int) -> _Position | None:
    """Return where the source has a statement; of inlined code that of the outermost call; None if it is not known."""
    statement = flow.statements[index]
    source = None if isinstance(statement, Label) else statement.source
    if source is None or not source.inner or not source.inner[-1][0]:
        return None
    return (*source.inner[-1], index)


def _is_behind(position: _Position | None, other: _Position) -> TypeGuard[_Position]:
    """Whether a position comes later in the same file."""
    return position is not None and position[0] == other[0] and position > other


def _has_effect(statement: Statement) -> bool:
    """Whether other threads, or the host, may notice that a statement was executed."""
    if isinstance(statement, Call):
        return True
    if not isinstance(statement, Instruction) or space_of(statement) in ("local", "param"):
        return False
    return info(statement).memory in (MemoryEffect.WRITE, MemoryEffect.UPDATE, MemoryEffect.COPY)


def only_leaves(flow: ControlFlowGraph, number: int) -> bool:
    """Whether a thread that comes to a block does nothing more but leave the kernel."""
    for index in flow.indices(number):
        statement = flow.statements[index]
        if isinstance(statement, Call) or (
            isinstance(statement, Instruction) and info(statement).control is not Control.LEAVE
        ):
            return False
    return True


# --- whole warp operations --------------------------------------------------------------------------------------------
# Warp operations whose mask a GPU does not look at, since the whole warp executes them in any case.
#
# `shfl.sync` and its like are undefined for a lane that their mask leaves out. ptxas makes them an instruction that
# checks the mask (`WARPSYNC`) only where lanes may have diverged, or may have different masks. Elsewhere it drops the
# mask: the operation is that of all lanes of the warp that have not exited. The rules below were measured on an H200,
# with ptxas of CUDA 13.0 and its default optimisation: without it (`-O0`, `-G`) each such operation of a lane that is
# left out is an illegal instruction.

_ALL_LANES = 0xFFFF_FFFF


def whole_warp_operations(flow: ControlFlowGraph, parameters: set[str]) -> frozenset[int]:
    """Return the statements with a mask that a GPU does not look at.

    Args:
        flow: of a kernel.
        parameters: the names of its parameters.
    """
    masked = [index for index in flow.waits if _has_mask(flow.statements[index])]
    if not masked:
        return frozenset()
    uniformity = _WarpUniformity(flow, parameters)
    diverged = [index for index in masked if not uniformity.is_whole(index)]
    # Lanes may meet at two statements with one mask. Where one of them checks it, the other must name the same lanes.
    checked = {_form(flow.statements[index]) for index in diverged}
    return frozenset(index for index in masked if _form(flow.statements[index]) not in checked)


def _form(statement: Statement) -> tuple[str, ...]:
    """The opcode and the modifiers of an operation, which all lanes that meet have in common."""
    assert isinstance(statement, Instruction)
    return statement.opcode, *statement.modifiers


def _has_mask(statement: Statement) -> bool:
    """Whether a statement is a warp operation with a mask that may leave out a lane."""
    if not isinstance(statement, Instruction) or info(statement).wait is not Wait.MASK:
        return False
    mask = statement.operands[-1]
    return not isinstance(mask, Integer) or mask.value & _ALL_LANES != _ALL_LANES


class _WarpUniformity(Uniformity):
    """Uniformity in a warp as ptxas finds it, for all lanes that have not exited.

    Other than `Uniformity`: what all lanes load from one address is the same, and so is what a vote, or a shuffle from
    one lane, returns; a vote of the block is not known to be. A lane that only leaves the kernel diverges from nobody.
    """

    def __init__(self, flow: ControlFlowGraph, parameters: set[str]) -> None:
        super().__init__(flow, parameters)
        self._is_known = self._branches is not None or self._all_reach_the_end()
        if self._branches is None:
            self._waits_are_convergent()

    def is_whole(self, index: int) -> bool:
        """Whether all lanes of a warp execute a statement together, with one mask."""
        statement = self._flow.statements[index]
        assert isinstance(statement, Instruction)
        return self._is_known and self._is_same(statement.operands[-1]) and not self._is_divergent_wait(index)

    def _is_same(self, operand: Operand) -> bool:
        return isinstance(operand, Integer) or (isinstance(operand, Register) and self._is_uniform(operand.name))

    def _successors(self, number: int) -> list[int]:
        last = self._flow.last_of(number)
        # ptxas takes a trap for a side of its own: lanes that do not come to it have diverged.
        if isinstance(last, Instruction) and info(last).control is Control.TRAP:
            return [self._exit]
        return super()._successors(number)

    def _influenced(self, number: int, postdominators: int) -> Iterator[int]:
        going_on = {block for block in self._successors(number) if block != self._exit}
        if sum(not only_leaves(self._flow, block) for block in going_on) < 2:
            return iter(())
        return super()._influenced(number, postdominators)

    def _makes_uniform(self, statement: Statement) -> bool:
        if not isinstance(statement, Instruction):
            return False
        facts = info(statement)
        if facts.result is ResultKind.UNIFORM:
            return False
        if statement.opcode == "vote":
            return True
        if facts.memory is MemoryEffect.READ and space_of(statement) not in ("local", "param"):
            return all(map(self._is_uniform, effects.reads(statement)))
        if statement.opcode == "shfl" and "idx" in statement.modifiers:
            lane, clamp = statement.operands[2:4]
            return self._is_same(lane) and self._is_whole_width(clamp)
        return super()._makes_uniform(statement)

    def _is_whole_width(self, clamp: Operand) -> bool:
        """Whether a shuffle's operand `c` is a constant that does not divide the warp."""
        definition = self._definitions.get(clamp.name) if isinstance(clamp, Register) else None
        if definition is not None and info(definition).arithmetic is Arithmetic.COPY:
            clamp = definition.operands[1]
        return isinstance(clamp, Integer) and clamp.value >> 8 == 0


# --- guarded barriers -------------------------------------------------------------------------------------------------
# Guarded barriers as branches: `@%p1 bar.sync 0` becomes a branch around `bar.sync 0`.
#
# So the analysis of divergent barriers sees the lanes that skip it.


def with_branches_around_barriers(function: Function) -> Function:
    """Return the function with a branch around each aligned barrier that has a guard; itself, if there is none."""
    if not any(item.guard is not None and is_aligned_barrier(item) for item in function.body or ()):
        return function
    body: list[Statement] = []
    for index, item in enumerate(function.body or ()):
        if not isinstance(item, Instruction) or item.guard is None or not is_aligned_barrier(item):
            body.append(item)
            continue
        behind = f"behind_barrier.{index}"
        skips = Guard(item.guard.register, not item.guard.negated)
        branch = replace(item, opcode="bra", modifiers=(), operands=(Symbol(behind),), guard=skips)
        body += [branch, replace(item, guard=None), Label(behind, item.ptx_line)]
    return replace(function, body=tuple(body))

"""Warp operations whose mask a card does not look at, since the whole warp executes them in any case.

`shfl.sync` and its like are undefined for a lane that their mask leaves out. ptxas makes them an instruction that
checks the mask (`WARPSYNC`) only where lanes may have diverged, or may have different masks. Elsewhere it drops the
mask: the operation is that of all lanes of the warp that have not exited. The rules below were measured on an H200,
with ptxas of CUDA 13.0 and its default optimisation: without it (`-O0`, `-G`) each such operation of a lane that is
left out is an illegal instruction.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.divergent_barriers import only_leaves
from gpuregress.virtual_gpu.analysis.uniformity import Uniformity
from gpuregress.virtual_gpu.ptx.modifiers import space_of
from gpuregress.virtual_gpu.ptx.opcode_table import Arithmetic, Control, MemoryEffect, ResultKind, Wait, info
from gpuregress.virtual_gpu.ptx.tree import Instruction, Integer, Operand, Register, Statement

_ALL_LANES = 0xFFFF_FFFF


def whole_warp_operations(flow: ControlFlowGraph, parameters: set[str]) -> frozenset[int]:
    """Return the statements with a mask that a card does not look at.

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
        if self._branches is None:
            self._is_known = self._all_reach_the_end()
            self._waits_are_convergent()
        else:
            self._is_known = True

    def is_whole(self, index: int) -> bool:
        """Whether all lanes of a warp execute a statement together, with one mask."""
        statement = self._flow.statements[index]
        assert isinstance(statement, Instruction)
        mask = statement.operands[-1]
        is_one = isinstance(mask, Integer) or (isinstance(mask, Register) and self._is_uniform(mask.name))
        return self._is_known and is_one and not self._is_divergent_wait(index)

    def _successors(self, number: int) -> list[int]:
        block = self._flow.blocks[number]
        last = self._flow.statements[block.end - 1] if block.end > block.start else None
        # ptxas takes a trap for a side of its own: lanes that do not come to it have diverged.
        traps = isinstance(last, Instruction) and info(last).control is Control.TRAP
        return [self._exit] if traps else super()._successors(number)

    def _influenced(self, number: int, postdominators: int) -> Iterator[int]:
        goes_on = [block for block in set(self._successors(number)) if not self._leaves(block)]
        return super()._influenced(number, postdominators) if len(goes_on) > 1 else iter(())

    def _leaves(self, block: int) -> bool:
        return block == self._exit or only_leaves(self._flow, block)

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
            is_one_lane = isinstance(lane, Integer) or (isinstance(lane, Register) and self._is_uniform(lane.name))
            return is_one_lane and self._is_whole_width(clamp)
        return super()._makes_uniform(statement)

    def _is_whole_width(self, clamp: Operand) -> bool:
        """Whether a shuffle's operand `c` is a constant that does not divide the warp."""
        definition = self._definitions.get(clamp.name) if isinstance(clamp, Register) else None
        if definition is not None and info(definition).arithmetic is Arithmetic.COPY:
            clamp = definition.operands[1]
        return isinstance(clamp, Integer) and clamp.value >> 8 == 0

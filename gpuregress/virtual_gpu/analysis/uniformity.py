"""Uniformity analysis: registers that hold the same value in all threads of a block.

A value varies if it comes from a thread's number, from memory or from another thread, or if it is defined under
divergent control flow: between a branch that threads may take differently and its immediate postdominator, where they
meet again. If no wait lies there, all threads take the same path from wait to wait: the block runs in lockstep, and no
thread's position has to be stored. In doubt a value varies.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuregress.gpu.graphs import reachable_from
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph, dominator_sets, single_definitions
from gpuregress.virtual_gpu.ptx.opcode_table import Arithmetic, Control, MemoryEffect, ResultKind, Wait, info
from gpuregress.virtual_gpu.ptx.tree import Address, Call, Instruction, Integer, Operand, Register, Statement, Symbol
from gpuregress.virtual_gpu.runtime.machine_layout import SYSTEM_CALLS

_SAME_FOR_ALL = (
    "%ntid.",
    "%nctaid.",
    "%ctaid.",
    "%clusterid.",
    "%nclusterid.",
    "%cluster_",
    "%nsmid",
    "%smid",
    "%gridid",
)
_MOST_COPIES = 3
"""Code after a wait is built once for each wait before it: at most this many times the body in all."""


class DivergentBranch(Record):
    """A branch that threads of a block may take differently.

    Attributes:
        index: the statement.
        join: its immediate postdominator, a block; None where that is the end of the kernel.
        sides: for each successor the blocks on the paths from it to the join, which is left out.
    """

    index: int
    join: int | None
    sides: tuple[frozenset[int], ...]


class Uniformity:
    """The uniformity of one kernel's registers and waits.

    Args:
        flow: its control flow.
        parameters: the names of its parameters.

    Attributes:
        varying: the registers that may differ between threads.
        lockstep: whether all threads of a block always wait together.
    """

    def __init__(self, flow: ControlFlowGraph, parameters: set[str]) -> None:
        self._flow = flow
        self._parameters = parameters
        self._definitions = single_definitions(flow.statements)
        self._exit = len(flow.blocks)
        self._set = {name for statement in flow.statements for name in effects.sets(statement)}
        self.varying: set[str] = set()
        self._divergent: set[int] = set()
        self._branches: dict[int, int] | None = None
        self.lockstep = self._waits_can_be_shared() and self._all_reach_the_end() and self._waits_are_convergent()

    # --- waits --------------------------------------------------------------------------------------------------------

    def _waits_can_be_shared(self) -> bool:
        flow = self._flow
        if flow.spins or any(isinstance(item, Call) and not _is_system_call(item) for item in flow.statements):
            return False
        return all(self._is_shared(flow.statements[index]) for index in flow.waits) and self._is_small()

    def _is_shared(self, statement: Statement) -> bool:
        """Whether a wait ends for all threads once all of them have reached it."""
        assert isinstance(statement, Instruction)
        wait, operands = info(statement).wait, statement.operands
        if wait is Wait.MASK:
            return self._names_all_lanes(operands[-1])
        if wait in {Wait.BLOCK, Wait.CLUSTER}:
            # A count, or a barrier number unknown at compile time, may release some threads before others arrive.
            first, most = (1, 3) if "red" in statement.modifiers else (0, 1)
            has_number = len(operands) > first
            if "arrive" in statement.modifiers or len(operands) > most:
                return False
            return not has_number or isinstance(operands[first], Integer)
        # Matrix instructions (`Wait.WARP`) read registers in the threads' contexts: `passes` keeps them all there.
        return wait in {Wait.CONVERGED, Wait.STEP}

    def _names_all_lanes(self, mask: Operand) -> bool:
        if isinstance(mask, Integer):
            return mask.value & 0xFFFF_FFFF == 0xFFFF_FFFF
        definition = self._definitions.get(mask.name) if isinstance(mask, Register) else None
        if definition is None:
            return False
        facts = info(definition)
        if facts.wait is Wait.CONVERGED:
            return True
        return facts.arithmetic is Arithmetic.COPY and self._names_all_lanes(definition.operands[1])

    def _is_small(self) -> bool:
        """Whether the statements that may run between each wait and the next waits are not many in all."""
        total = 0
        for index in self._flow.waits:
            total += sum(end - start for start, end in self._flow.until_waits(index).values())
        return total <= _MOST_COPIES * len(self._flow.statements)

    # --- control flow -------------------------------------------------------------------------------------------------

    def _successors(self, number: int) -> list[int]:
        successors, last = self._flow.blocks[number].successors, self._flow.last_of(number)
        # A trap ends the whole launch: it is no path to the end.
        leaves = isinstance(last, Instruction) and info(last).control is Control.LEAVE
        return [*successors, self._exit] if leaves or number == self._exit - 1 else successors

    def _all_reach_the_end(self) -> bool:
        """Whether a path leads from each block to the end; otherwise postdominators mean nothing."""
        before: dict[int, list[int]] = {}
        pending = [self._exit]
        for number in range(self._exit):
            successors = self._successors(number)
            for successor in successors:
                before.setdefault(successor, []).append(number)
            if not successors:
                pending.append(number)
        return len(set(reachable_from(pending, lambda number: before.get(number, ())))) == self._exit + 1

    def _postdominators(self) -> dict[int, int]:
        """For each block the blocks that every path from it to the end passes, itself included, as bits."""
        blocks = range(self._exit - 1, -1, -1)
        return dominator_sets(blocks, self._successors, (1 << (self._exit + 1)) - 1, {self._exit: 1 << self._exit})

    def divergent_branches(self) -> list[DivergentBranch]:
        """Return the branches that threads may take differently; none where not every path leads to an end."""
        if self._branches is None:
            if not self._all_reach_the_end():
                return []
            self._waits_are_convergent()
        assert self._branches is not None
        everything = self._postdominators()
        branches = []
        for number, strict in self._branches.items():
            passed = [block for block in range(self._exit + 1) if strict >> block & 1]
            # The nearest of them is passed by no other before it: it has the most postdominators itself.
            nearest = max(passed, key=lambda block: everything.get(block, 0).bit_count(), default=self._exit)
            join = None if nearest == self._exit else nearest
            starts = dict.fromkeys(self._successors(number))
            sides = tuple(frozenset(self._between([start], strict)) for start in starts)
            branches.append(DivergentBranch(self._flow.blocks[number].end - 1, join, sides))
        return branches

    def _influenced(self, number: int, postdominators: int) -> Iterator[int]:
        """The blocks between a branch and its immediate postdominator; takes its strict postdominators, as bits."""
        return self._between(self._successors(number), postdominators)

    def _between(self, first: list[int], postdominators: int) -> Iterator[int]:
        """The blocks on the paths from some blocks to the first of the postdominators, given as bits."""

        def before(blocks: list[int]) -> list[int]:
            return [block for block in blocks if not postdominators >> block & 1]

        return reachable_from(before(first), lambda block: before(self._successors(block)))

    # --- values -------------------------------------------------------------------------------------------------------

    def _waits_are_convergent(self) -> bool:
        flow = self._flow
        postdominators = self._postdominators()
        divergent_branches = self._branches = {}
        changed = True
        while changed:
            changed = self._propagate()
            for number, block in enumerate(flow.blocks):
                if number not in divergent_branches and block.end > block.start and self._diverges(block.end - 1):
                    divergent_branches[number] = postdominators[number] & ~(1 << number)
                    self._divergent.update(self._influenced(number, divergent_branches[number]))
                    changed = True
        return not any(self._is_divergent_wait(index) for index in flow.waits)

    def _propagate(self) -> bool:
        """Propagate variance once over all statements; whether any register was added."""
        before = len(self.varying)
        for number, block in enumerate(self._flow.blocks):
            for index in range(block.start, block.end):
                statement = self._flow.statements[index]
                names = effects.sets(statement)
                if not names:
                    continue
                if number in self._divergent or not self._makes_uniform(statement):
                    self.varying.update(names)
        return len(self.varying) != before

    def _makes_uniform(self, statement: Statement) -> bool:
        if not isinstance(statement, Instruction):
            return False
        facts = info(statement)
        if facts.result is ResultKind.UNIFORM and not statement.guard:
            return True  # All threads get the same answer, whatever they vote, if all of them take part.
        if not all(map(self._is_uniform, effects.reads(statement))):
            return False
        if facts.memory is MemoryEffect.READ and statement.modifiers[0] == "param":
            address = statement.operands[1]
            if not isinstance(address, Address) or not isinstance(address.base, Symbol):
                return False
            return address.base.name in self._parameters
        return facts.result in {ResultKind.PURE, ResultKind.UNIFORM}

    def _is_uniform(self, name: str) -> bool:
        if name in self.varying:
            return False
        return name in self._set or name.startswith(_SAME_FOR_ALL)

    def _diverges(self, index: int) -> bool:
        """Whether threads may take different paths after a statement."""
        statement = self._flow.statements[index]
        if not isinstance(statement, Instruction) or not info(statement).ends_block:
            return False
        return not all(map(self._is_uniform, effects.reads(statement)))

    def _is_divergent_wait(self, index: int) -> bool:
        """Whether only some threads may reach a wait."""
        number = self._flow.block_at(index)
        guard = self._flow.statements[index].guard
        return number in self._divergent or (guard is not None and not self._is_uniform(guard.register))


def _is_system_call(call: Call) -> bool:
    return isinstance(call.callee, Symbol) and call.callee.name in SYSTEM_CALLS

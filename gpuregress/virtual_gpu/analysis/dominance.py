"""Dominators and natural loops of a control-flow graph, and the predicates on its edges.

Dominators are computed by iteration to a fixed point, as bits of an integer: bit n of a block's set stands for block n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph, natural_loop
from gpuregress.virtual_gpu.ptx.opcode_table import Control, info
from gpuregress.virtual_gpu.ptx.tree import Instruction


class Loop(Record):
    """A natural loop: control enters it at its header only.

    Attributes:
        head: the header, where each iteration begins.
        latch: the one block that branches back to the header; None where there are several.
        blocks: all blocks of the loop.
    """

    head: int
    latch: int | None
    blocks: frozenset[int]


class Dominance:
    """Dominators, natural loops and edge conditions of one kernel.

    Args:
        flow: its control-flow graph.

    Attributes:
        reachable: the blocks that control can reach.
        predecessors: block → its reachable predecessors.
        loops: header → natural loop.
        is_reducible: whether each cycle is a natural loop.
    """

    def __init__(self, flow: ControlFlowGraph) -> None:
        self.flow = flow
        self.reachable = self._reachable()
        self.predecessors: dict[int, list[int]] = {number: [] for number in self.reachable}
        for number in sorted(self.reachable):
            for successor in dict.fromkeys(flow.blocks[number].successors):
                self.predecessors[successor].append(number)
        everything = (1 << len(flow.blocks)) - 1
        others = sorted(self.reachable - {0})
        self._dominators = dominator_sets(others, self.predecessors.__getitem__, everything, {0: 1})
        self.loops: dict[int, Loop] = {}
        self.is_reducible = self._find_loops()

    def dominates(self, above: int, below: int) -> bool:
        """Whether every path to `below` passes `above`."""
        return bool(self._dominators[below] >> above & 1)

    def dominators(self, number: int) -> list[int]:
        """The dominators of a block, itself included, in the order of the path to it."""
        mask = self._dominators[number]
        blocks = [item for item in self.reachable if mask >> item & 1]
        return sorted(blocks, key=lambda item: self._dominators[item].bit_count())

    def condition(self, number: int, successor: int) -> tuple[str, bool] | None:
        """The predicate of an edge and the value that it must have; None where no predicate decides."""
        block = self.flow.blocks[number]
        last = self.flow.statements[block.end - 1] if block.end > block.start else None
        control = info(last).control if isinstance(last, Instruction) else Control.NEXT
        if last is None or last.guard is None or control in {Control.NEXT, Control.BRANCH_TABLE}:
            return None
        if len(set(block.successors)) != len(block.successors):
            return None
        taken = control is Control.BRANCH and successor == block.successors[0]
        return last.guard.register, taken != last.guard.negated

    def edges_above(self, number: int) -> list[tuple[int, int]]:
        """The edges that every path to a block takes, in order; inside a loop those of the current iteration."""
        return [
            (self.predecessors[item][0], item)
            for item in self.dominators(number)
            if item and len(self.predecessors[item]) == 1
        ]

    def _reachable(self) -> set[int]:
        seen, pending = {0}, [0]
        while pending:
            for successor in self.flow.blocks[pending.pop()].successors:
                if successor not in seen:
                    seen.add(successor)
                    pending.append(successor)
        return seen

    def _find_loops(self) -> bool:
        """Collect the natural loops; whether there are no other cycles."""
        backward = {
            (tail, head)
            for tail in self.reachable
            for head in self.flow.blocks[tail].successors
            if self.dominates(head, tail)
        }
        for head in {head for _, head in backward}:
            tails = [tail for tail, other in backward if other == head]
            inside = frozenset().union(*(natural_loop(self.predecessors, tail, head) for tail in tails))
            self.loops[head] = Loop(head, tails[0] if len(tails) == 1 and head else None, inside)
        return not self._has_cycle_without(backward)

    def _has_cycle_without(self, backward: set[tuple[int, int]]) -> bool:
        missing = {
            number: sum((item, number) not in backward for item in self.predecessors[number])
            for number in self.reachable
        }
        pending, seen = [number for number, count in missing.items() if count == 0], 0
        while pending:
            number = pending.pop()
            seen += 1
            for successor in set(self.flow.blocks[number].successors):
                if (number, successor) not in backward:
                    missing[successor] -= 1
                    if missing[successor] == 0:
                        pending.append(successor)
        return seen < len(self.reachable)


def dominator_sets(
    order: Sequence[int], predecessors: Callable[[int], Iterable[int]], everything: int, roots: dict[int, int]
) -> dict[int, int]:
    """Compute the dominators of each block; with successors for predecessors, its postdominators.

    Args:
        order: the blocks to visit, those near a root first.
        predecessors: of a block.
        everything: the set of all blocks, as bits.
        roots: the entry (or exit) → its own set.
    """
    sets = dict.fromkeys(order, everything) | roots
    changed = True
    while changed:
        changed = False
        for number in order:
            common = everything
            for item in predecessors(number):
                common &= sets[item]
            common |= 1 << number
            if common != sets[number]:
                sets[number], changed = common, True
    return sets

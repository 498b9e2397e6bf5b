"""A kernel's control flow as a graph: who dominates whom, the natural loops, what holds on an edge."""

from __future__ import annotations

from dataclasses import dataclass

from gpuregress.devices.cpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.devices.cpu.ptx.opcodes import Control, info
from gpuregress.devices.cpu.ptx.tree import Guard, Instruction


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop: entered at its head only.

    Attributes:
        head: the block where each round begins.
        latch: the one block from which the next round is begun; None where there are several.
        blocks: all of them.
    """

    head: int
    latch: int | None
    blocks: frozenset[int]


class Dominance:
    """Answers for one kernel.

    Args:
        flow: its control flow.
    """

    def __init__(self, flow: ControlFlowGraph) -> None:
        self.flow = flow
        self.reachable = self._reachable()
        self.before: dict[int, list[int]] = {number: [] for number in self.reachable}
        for number in sorted(self.reachable):
            for successor in dict.fromkeys(flow.blocks[number].successors):
                self.before[successor].append(number)
        self._dominators = self._find_dominators()
        self.loops: dict[int, Loop] = {}
        self.understood = self._find_loops()

    def dominates(self, above: int, below: int) -> bool:
        """Whether every way to `below` passes `above`."""
        return bool(self._dominators[below] >> above & 1)

    def dominators(self, number: int) -> list[int]:
        """The blocks that every way to a block passes, itself included, from the first on."""
        mask = self._dominators[number]
        found = [item for item in self.reachable if mask >> item & 1]
        return sorted(found, key=lambda item: self._dominators[item].bit_count())

    def condition(self, number: int, successor: int) -> tuple[str, bool] | None:
        """The predicate that decides whether a block is left to a successor, and what it must be; None: none does."""
        block = self.flow.blocks[number]
        last = self.flow.statements[block.end - 1] if block.end > block.start else None
        guard: Guard | None = getattr(last, "guard", None)
        control = info(last).control if isinstance(last, Instruction) else Control.NEXT
        if guard is None or control in {Control.NEXT, Control.BRANCH_TABLE}:
            return None
        if len(set(block.successors)) != len(block.successors):
            return None
        taken = control is Control.BRANCH and successor == block.successors[0]
        return guard.register, taken != guard.negated

    def edges_above(self, number: int) -> list[tuple[int, int]]:
        """The edges that every way to a block takes, from the first on; of a loop those of its current round."""
        return [
            (self.before[item][0], item) for item in self.dominators(number) if item and len(self.before[item]) == 1
        ]

    def _reachable(self) -> set[int]:
        seen, pending = {0}, [0]
        while pending:
            for successor in self.flow.blocks[pending.pop()].successors:
                if successor not in seen:
                    seen.add(successor)
                    pending.append(successor)
        return seen

    def _find_dominators(self) -> dict[int, int]:
        everything = (1 << len(self.flow.blocks)) - 1
        found = dict.fromkeys(self.reachable, everything) | {0: 1}
        changed = True
        while changed:
            changed = False
            for number in sorted(self.reachable - {0}):
                common = everything
                for item in self.before[number]:
                    common &= found[item]
                common |= 1 << number
                if common != found[number]:
                    found[number], changed = common, True
        return found

    def _find_loops(self) -> bool:
        """Whether all loops are natural."""
        backward = {
            (tail, head)
            for tail in self.reachable
            for head in self.flow.blocks[tail].successors
            if self.dominates(head, tail)
        }
        for head in {head for _, head in backward}:
            tails = [tail for tail, other in backward if other == head]
            inside = frozenset().union(*(self._inside(tail, head) for tail in tails))
            self.loops[head] = Loop(head, tails[0] if len(tails) == 1 and head else None, inside)
        return not self._has_cycle_without(backward)

    def _inside(self, tail: int, head: int) -> set[int]:
        found, pending = {head, tail}, [tail] if tail != head else []
        while pending:
            for item in self.before[pending.pop()]:
                if item not in found:
                    found.add(item)
                    pending.append(item)
        return found

    def _has_cycle_without(self, backward: set[tuple[int, int]]) -> bool:
        missing = {
            number: sum((item, number) not in backward for item in self.before[number]) for number in self.reachable
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

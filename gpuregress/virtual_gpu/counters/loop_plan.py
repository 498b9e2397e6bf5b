"""Natural loops of a function as coverage sees them: their form, and the branches that skip them."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.dominance import Dominance
from gpuregress.virtual_gpu.ptx.opcode_table import Control, info
from gpuregress.virtual_gpu.ptx.tree import Instruction

_MOST_BLOCKS_ABOVE = 4
Edge = tuple[int, int]


class CountedLoop(Record):
    """A natural loop whose iterations are counted.

    Attributes:
        head: its header.
        blocks: all of it.
        depth: loops around it.
        tests_first: whether the header decides before each iteration, as `while` does; else the loop is tested at its
            end, as `do … while`.
        skips: edges that skip the loop without an iteration.
        statement: the branch that decides about another iteration.
        waits: whether a thread may wait inside.
    """

    head: int
    blocks: frozenset[int]
    depth: int
    tests_first: bool
    skips: frozenset[Edge]
    statement: int
    waits: bool


@dataclass(slots=True)
class CountedLoops:
    """The loops of a function by the edges at which their counts change.

    Attributes:
        loops: outer ones first.
        deciding: blocks whose branch decides about iterations of a loop, or skips it.
    """

    loops: list[CountedLoop] = field(default_factory=list)
    deciding: set[int] = field(default_factory=set)

    def entered(self, edge: Edge) -> list[CountedLoop]:
        """The loops that an edge enters."""
        return [loop for loop in self.loops if edge[1] == loop.head and edge[0] not in loop.blocks]

    def repeated(self, edge: Edge) -> list[CountedLoop]:
        """The loops of which an edge begins another iteration."""
        return [loop for loop in self.loops if edge[1] == loop.head and edge[0] in loop.blocks]

    def left(self, edge: Edge) -> list[CountedLoop]:
        """The loops that an edge leaves."""
        return [loop for loop in self.loops if edge[0] in loop.blocks and edge[1] not in loop.blocks]

    def skipped(self, edge: Edge) -> list[CountedLoop]:
        """The loops that an edge skips."""
        return [loop for loop in self.loops if edge in loop.skips]

    def depth(self, block: int) -> int:
        """The loops around a block."""
        return sum(block in loop.blocks for loop in self.loops)

    def innermost(self, block: int) -> CountedLoop | None:
        """The innermost loop that holds a block."""
        return max((loop for loop in self.loops if block in loop.blocks), key=lambda loop: loop.depth, default=None)


def plan_loops(flow: ControlFlowGraph) -> CountedLoops:
    """Find the natural loops of a function, and how each is entered, repeated, left and skipped."""
    dominance = Dominance(flow)
    plan = CountedLoops()
    for head, loop in sorted(dominance.loops.items(), key=lambda item: -len(item[1].blocks)):
        inside = frozenset(loop.blocks)
        depth = sum(inside < other.blocks for other in plan.loops)
        latches = [block for block in inside if head in flow.blocks[block].successors]
        tests_first = _is_exit(flow, head, inside) and not any(_is_exit(flow, block, inside) for block in latches)
        deciding = head if tests_first else max(latches)
        statement = flow.blocks[deciding].end - 1
        skips = frozenset(_skips(flow, dominance, head, inside, statement))
        waits = any(
            index in flow.waits for block in inside for index in range(flow.blocks[block].start, flow.blocks[block].end)
        ) or any(edge[0] in inside for edge in flow.spins)
        plan.loops.append(CountedLoop(head, inside, depth, tests_first, skips, statement, waits))
        plan.deciding |= {deciding, *(edge[0] for edge in skips)}
    return plan


def _is_exit(flow: ControlFlowGraph, block: int, inside: frozenset[int]) -> bool:
    return not inside.issuperset(flow.blocks[block].successors)


def _skips(
    flow: ControlFlowGraph, dominance: Dominance, head: int, inside: frozenset[int], statement: int
) -> list[Edge]:
    """The other side of the branches that stand for the loop's own condition before its first iteration.

    A compiler that moves the test of a loop to its end leaves one in front of it, with the line of the loop.
    """
    line = flow.statements[statement]
    found: list[Edge] = []
    for entry in dominance.predecessors[head]:
        block, child = entry, head
        for _ in range(_MOST_BLOCKS_ABOVE if entry not in inside else 0):
            number = flow.blocks[block]
            last = flow.statements[number.end - 1] if number.end > number.start else None
            if (
                isinstance(last, Instruction)
                and isinstance(line, Instruction)
                and info(last).control is Control.BRANCH
                and last.guard is not None
                and last.source == line.source
                and last.source is not None
            ):
                found += [(block, other) for other in number.successors if other != child and other not in inside]
                break
            above = dominance.predecessors.get(block, [])
            if len(above) != 1 or above[0] in inside:
                break
            block, child = above[0], block
    return found

"""Order of the sides of a branch that the lanes of a warp take differently.

An H200 first ran the side of fewer lanes; of sides with as many lanes, or with predicates in place of a branch, the one
after the branch. The sides alternate at each `YIELD`, which ptxas puts into some loops. Here the order is fixed: the
side after the branch, but in a chain of cases the one that is left first. Lanes wait for the others where the sides
join, and after a loop until the last lane has left it.
"""

from __future__ import annotations

from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.analysis.control_flow_graph import Dominance, dominator_sets
from gpuregress.virtual_gpu.ptx.opcode_table import Control, info
from gpuregress.virtual_gpu.ptx.tree import Instruction, Label, Statement

_TWO = 2


class BranchSides(Record):
    """A branch and the code up to where its sides join.

    Attributes:
        branch: the block that ends with it.
        join: its immediate postdominator; None where that is the end.
        between: the blocks of all sides.
        first: the blocks of the side that runs first.
        second: the first block of the side that runs after it; None where there are not two sides that run in turn.
    """

    branch: int
    join: int | None
    between: frozenset[int]
    first: frozenset[int] = frozenset()
    second: int | None = None


def block_ranks(graph: Dominance) -> dict[int, int]:
    """The place of each reachable block in the order in which diverged lanes run: a reverse postorder."""
    finished: list[int] = []
    seen = {0}
    stack = [(0, iter(_later_first(graph, 0)))]
    while stack:
        number, successors = stack[-1]
        following = next((item for item in successors if item not in seen), None)
        if following is None:
            finished.append(number)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(_later_first(graph, following))))
    return {number: rank for rank, number in enumerate(reversed(finished))}


def _later_first(graph: Dominance, number: int) -> list[int]:
    """The successors of a block: those after more loops first, then those whose side runs later."""
    successors = list(dict.fromkeys(graph.flow.blocks[number].successors))
    if len(successors) > _TWO or _is_chain(graph, successors):
        successors.reverse()
    around = [loop for loop in graph.loops.values() if number in loop.blocks]
    return sorted(successors, key=lambda item: -sum(item not in loop.blocks for loop in around))


def _is_chain(graph: Dominance, successors: list[int]) -> bool:
    """Whether a branch goes to one of several cases, and the code after it asks for the others."""
    if len(successors) != _TWO:
        return False
    target, behind = (graph.flow.blocks[_behind_jumps(graph, item)].successors for item in successors)
    return len(set(target)) == 1 and len(set(behind)) > 1 and target[0] not in behind


def _behind_jumps(graph: Dominance, number: int) -> int:
    """The block to which control comes from a block that may be no more than a jump."""
    for _ in graph.flow.blocks:
        block = graph.flow.blocks[number]
        if len(block.successors) != 1 or not all(map(_is_jump, graph.flow.statements[block.start : block.end])):
            break
        number = block.successors[0]
    return number


def _is_jump(statement: Statement) -> bool:
    return isinstance(statement, Label) or (isinstance(statement, Instruction) and statement.opcode == "bra")


def branch_sides(graph: Dominance) -> list[BranchSides]:
    """The branches of a kernel, in the order of the code."""
    ranks, postdominators = block_ranks(graph), _postdominators(graph)
    branches = []
    for number in sorted(graph.reachable):
        successors = sorted(set(graph.flow.blocks[number].successors), key=ranks.__getitem__)
        if len(successors) < _TWO:
            continue
        beyond = {block for block in graph.reachable if postdominators.get(number, 0) >> block & 1} - {number}
        join = max(beyond, key=lambda block: postdominators[block].bit_count(), default=None)
        between = frozenset(graph.flow.reachable(successors, beyond.__contains__))
        sides = BranchSides(number, join, between)
        if len(successors) == _TWO and beyond.isdisjoint(successors) and not _repeats(graph, number, successors):
            first = frozenset(graph.flow.reachable(successors[:1], beyond.__contains__))
            sides = replace(sides, first=first, second=successors[1])
        branches.append(sides)
    return branches


def _repeats(graph: Dominance, number: int, successors: list[int]) -> bool:
    """Whether a branch may leave a loop, or begins its next iteration."""
    if any(graph.dominates(successor, number) for successor in successors):
        return True
    return any(number in loop.blocks and not loop.blocks.issuperset(successors) for loop in graph.loops.values())


def _postdominators(graph: Dominance) -> dict[int, int]:
    """For each block the blocks that every path from it to the end passes, itself included, as bits."""
    end = len(graph.flow.blocks)

    def following(number: int) -> list[int]:
        successors, last = graph.flow.blocks[number].successors, graph.flow.last_of(number)
        leaves = isinstance(last, Instruction) and info(last).control is Control.LEAVE
        return [*successors, end] if leaves or not successors else successors

    return dominator_sets(range(end - 1, -1, -1), following, (1 << (end + 1)) - 1, {end: 1 << end})

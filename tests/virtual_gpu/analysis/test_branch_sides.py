"""The order in which diverged lanes run the sides of branches, and where they meet."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis.branch_sides import BranchSides, block_ranks, branch_sides
from gpuregress.virtual_gpu.analysis.control_flow_graph import Dominance
from gpuregress.virtual_gpu.ptx.tree import Instruction, Integer
from tests.virtual_gpu.analysis.kernels import graph

_TWO_SIDES = "@%p1 bra A; mov.u32 %r1, 1; bra J; A: mov.u32 %r1, 2; J: mov.u32 %r2, 3; ret;"
_CASES = (
    "@%p1 bra A; @%p2 bra B; mov.u32 %r1, 1; bra J; A: mov.u32 %r1, 2; bra J; "
    "B: mov.u32 %r1, 3; J: mov.u32 %r2, 3; ret;"
)
_LOOP = "H: @%p1 bra E; mov.u32 %r1, 1; bra H; E: mov.u32 %r2, 3; ret;"
_LOOP_TURNED = "bra H; E: mov.u32 %r2, 3; ret; H: @%p1 bra B; bra E; B: mov.u32 %r1, 1; bra H;"


def _texts(body: str) -> list[str]:
    """The values that blocks set, in the order of their ranks."""
    found = Dominance(graph(body))
    ranks = block_ranks(found)
    blocks = [found.flow.blocks[number] for number in sorted(ranks, key=ranks.__getitem__)]
    statements = [item for block in blocks for item in found.flow.statements[block.start : block.end]]
    values = [item.operands[1] for item in statements if isinstance(item, Instruction) and item.opcode == "mov"]
    return [str(value.value) for value in values if isinstance(value, Integer)]


@pytest.mark.parametrize(
    ("body", "order"),
    [(_TWO_SIDES, "123"), (_CASES, "2133"), (_LOOP, "13"), (_LOOP_TURNED, "13")],
)
def test_the_side_behind_a_branch_runs_first_and_loops_before_what_follows(body: str, order: str) -> None:
    assert "".join(_texts(body)) == order


def test_a_branch_with_two_sides() -> None:
    (sides,) = branch_sides(Dominance(graph(_TWO_SIDES)))
    assert sides == BranchSides(0, 3, frozenset({1, 2}), frozenset({1}), 2)


def test_a_side_that_is_empty_has_no_turn() -> None:
    (sides,) = branch_sides(Dominance(graph("@%p1 bra J; mov.u32 %r1, 1; J: mov.u32 %r2, 3; ret;")))
    assert sides == BranchSides(0, 2, frozenset({1}))

"""Who dominates whom, natural loops, and what holds on the way to a block."""

from __future__ import annotations

from gpuregress.virtual_gpu.analysis.control_flow_graph import Dominance
from tests.virtual_gpu.analysis.kernels import graph as flow_graph


def graph(body: str) -> Dominance:
    return Dominance(flow_graph(body))


def test_a_loop_that_begins_with_the_kernel_says_nothing_of_its_first_round() -> None:
    actual = graph("$A: mov.u32 %r1, 1; @%p1 bra $A; ret;")
    assert actual.edges_above(0) == []
    assert actual.edges_above(1) == [(0, 1)]
    assert actual.condition(0, 1) == ("%p1", False)
    assert actual.loops[0].latch is None


def test_the_way_into_a_branch_and_past_it() -> None:
    actual = graph("mov.u32 %r1, 1; @!%p1 bra $B; mov.u32 %r1, 2; $B: @%p2 ret; mov.u32 %r1, 3; ret;")
    assert actual.condition(0, 1) == ("%p1", True)
    assert actual.condition(0, 2) == ("%p1", False)
    assert actual.condition(2, 3) == ("%p2", False)
    assert actual.edges_above(2) == []
    assert actual.edges_above(3) == [(2, 3)]


def test_loops_in_loops() -> None:
    actual = graph("mov.u32 %r1, 1; $A: mov.u32 %r2, 1; $B: mov.u32 %r3, 1; @%p1 bra $B; @%p2 bra $A; ret;")
    assert actual.is_reducible
    assert {head: (loop.latch, set(loop.blocks)) for head, loop in actual.loops.items()} == {
        1: (3, {1, 2, 3}),
        2: (2, {2}),
    }


def test_a_loop_with_two_ways_back_and_one_with_two_ways_in() -> None:
    actual = graph("mov.u32 %r1, 1; $A: @%p1 bra $A; @%p2 bra $A; ret;")
    assert actual.is_reducible
    assert actual.loops[1].latch is None
    assert not graph("@%p1 bra $B; $A: mov.u32 %r1, 1; $B: mov.u32 %r2, 1; @%p2 bra $A; ret;").is_reducible

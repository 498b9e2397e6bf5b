"""Loops of coverage: how they are entered, repeated, left and skipped."""

from __future__ import annotations

from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.counters.conditions import plan_loops
from gpuregress.virtual_gpu.ptx.parser import parse

HEAD = """.version 8.0
.target sm_90
.address_size 64
.file 1 "k.cu"
.visible .entry k(.param .u32 n) {
    .reg .pred %p<5>; .reg .b32 %r<5>;
"""
TESTED_AT_THE_END = """
    .loc 1 3 1
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 0;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra DONE;
LOOP:
    .loc 1 4 1
    add.u32 %r2, %r2, 1;
    .loc 1 3 1
    setp.lt.u32 %p2, %r2, %r1;
    @%p2 bra LOOP;
DONE:
    ret;
}
"""
TESTED_FIRST = """
    mov.u32 %r2, 0;
OUTER:
    setp.ge.u32 %p1, %r2, 7;
    @%p1 bra DONE;
    mov.u32 %r3, 0;
INNER:
    bar.sync 0;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 3;
    @%p2 bra INNER;
    add.u32 %r2, %r2, 1;
    bra OUTER;
DONE:
    ret;
}
"""


def _flow(body: str) -> ControlFlowGraph:
    (function,) = parse(HEAD + body).functions
    return ControlFlowGraph(function)


def test_a_branch_of_the_loops_line_in_front_of_it_skips_it() -> None:
    flow = _flow(TESTED_AT_THE_END)
    plan = plan_loops(flow)
    (loop,) = plan.loops
    before, head, done = 0, flow.block_of_label["LOOP"], flow.block_of_label["DONE"]
    assert (loop.head, loop.tests_first, loop.waits) == (head, False, False)
    assert plan.skipped((before, done)) == plan.repeated((head, head)) == plan.left((head, done)) == [loop]
    assert plan.deciding == {before, head}


def test_a_branch_of_another_line_does_not_skip_it() -> None:
    plan = plan_loops(_flow(TESTED_AT_THE_END.replace(".loc 1 3 1", ".loc 1 2 1", 1)))
    assert [loop.skips for loop in plan.loops] == [frozenset()]


def test_nested_loops_have_depths_and_forms() -> None:
    flow = _flow(TESTED_FIRST)
    plan = plan_loops(flow)
    outer, inner = plan.loops
    assert (outer.depth, outer.tests_first, inner.depth, inner.tests_first, inner.waits) == (0, True, 1, False, True)
    assert plan.innermost(inner.head) is inner
    assert plan.innermost(outer.head) is outer
    assert plan.innermost(flow.block_of_label["DONE"]) is None

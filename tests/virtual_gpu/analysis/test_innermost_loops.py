from __future__ import annotations

from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.innermost_loops import InnermostLoop, innermost_loops
from gpuregress.virtual_gpu.ptx.tree import Register
from tests.virtual_gpu.analysis.kernels import kernel

COUNT = "add.u32 %r1, %r1, 4; setp.lt.u32 %p1, %r1, %r2; @%p1 bra L;"


def _loops(body: str) -> list[InnermostLoop]:
    return list(innermost_loops(ControlFlowGraph(kernel(f"{body} ret;"))))


def test_each_name_in_a_body_is_set_once_and_used_where_it_was_read() -> None:
    (loop,) = _loops(f"L: add.u32 %r3, %r1, 1; add.u32 %r1, %r3, %r1; mul.lo.u32 %r3, %r1, %r3; {COUNT}")
    names = [name for item in loop.body for name in effects.sets(item)]
    assert len(names) == len(set(names)) == 5
    first, second, third, fourth, _ = names
    assert [effects.reads(item) for item in loop.body[:4]] == [("%r1",), (first, "%r1"), (second, first), (second,)]
    assert loop.last == {"%r3": third, "%r1": fourth, "%p1": names[-1]}
    assert loop.guard.register == names[-1]
    assert loop.origin[fourth] == "%r1"


def test_values_from_memory_are_no_definitions() -> None:
    (loop,) = _loops(f"L: ld.global.u32 %r3, [%rd1]; add.u32 %r4, %r3, 1; st.global.u32 [%rd1], %r4; {COUNT}")
    assert len(loop.definitions) == 3
    address = loop.body[2].operands[0]
    assert address == loop.body[0].operands[1]
    assert loop.body[2].operands[1] == Register(loop.last["%r4"])


def test_loops_that_are_not_returned() -> None:
    assert not _loops(f"L: @%p2 add.u32 %r3, %r1, 1; {COUNT}"), "a guard inside"
    assert not _loops(f"L: bar.sync 0; {COUNT}"), "a wait inside"
    assert not _loops(f"L: add.cc.u32 %r3, %r1, 1; {COUNT}"), "the carry flag"
    assert not _loops("L: add.u32 %r1, %r1, 4; @%p1 bra L;"), "a predicate from outside"
    assert not _loops(f"L: @%p2 bra M; add.u32 %r3, %r1, 1; M: {COUNT}"), "more than one block"
    assert not _loops(f"K: mov.u32 %r1, 0; L: {COUNT} @%p2 bra K;"), "inside another loop"
    assert _loops(f"K: mov.u32 %r1, 0; L: {COUNT} bar.sync 0; @%p2 bra K;"), "of which each iteration waits"

"""Conditions: copies have one name, and further conditions of a place have names of their own."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.counters.conditions import BranchCondition, find_conditions, number_loops, plan_loops
from gpuregress.virtual_gpu.ptx.parser import parse

TEXT = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u32 k_param_0, .param .u32 k_param_1, .param .u64 k_param_2) {{
    .reg .pred %p<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<4>;
    .loc 1 1 0
    ld.param.u32 %r1, [k_param_0];
    ld.param.u32 %r2, [k_param_1];
    ld.param.u64 %rd1, [k_param_2];
    mov.u32 %r3, %tid.x;
    add.s32 %r4, %r3, 1;
    ld.global.f32 %f1, [%rd1];
    ld.global.f32 %f2, [%rd1+4];
    .loc 1 7 5
    {first};
    {guard} bra ONE;
ONE:
    {second};
    {other} bra TWO;
TWO:
    ret;
}}
.file 1 "k.cu"
"""


def _conditions(first: str, second: str, guard: str = "@%p1", other: str = "@%p2") -> list[BranchCondition]:
    text = TEXT.format(first=first, second=second, guard=guard, other=other)
    (function,) = parse(text).functions
    return list(find_conditions(ControlFlowGraph(function), lambda _: 0).values())


LESS = "setp.lt.s32 %p1, %r3, %r1"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LESS, "setp.lt.s32 %p2, %r4, %r1"),
        ("setp.lt.s32 %p1, %r3, 16", "setp.lt.s32 %p2, %r4, 8"),
        ("setp.gt.f32 %p1, %f1, 0f3F800000", "setp.gt.f32 %p2, %f2, 0f3F800000"),
    ],
    ids=["the next index", "another constant", "the next element"],
)
def test_copies_of_an_unrolled_loop_have_one_name(first: str, second: str) -> None:
    one, other = _conditions(first, second)
    assert one == other
    assert not one.is_inverted


@pytest.mark.parametrize(
    ("second", "other"),
    [
        ("setp.ge.s32 %p2, %r4, %r1", "@%p2"),
        ("setp.lt.s32 %p2, %r4, %r1", "@!%p2"),
        ("setp.le.s32 %p2, %r1, %r4", "@%p2"),
        ("setp.lt.s32 %p3, %r4, %r1; not.pred %p2, %p3", "@%p2"),
    ],
)
def test_a_reversed_copy_has_the_same_name_and_is_inverted(second: str, other: str) -> None:
    one, reversed_ = _conditions(LESS, second, other=other)
    assert one.name == reversed_.name
    assert (one.is_inverted, reversed_.is_inverted) == (False, True)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LESS, "setp.lt.s32 %p2, %r3, %r2"),
        (LESS, "setp.eq.s32 %p2, %r3, %r1"),
        (LESS, "setp.lt.s32 %p2, %r1, %r3"),
        (LESS, "setp.lt.f32 %p2, %f1, %f2"),
        ("setp.gt.f32 %p1, %f1, 0f3F800000", "setp.gt.f32 %p2, %f1, 0f447A0000"),
        (LESS, "setp.eq.s32 %p3, %r2, 0; and.pred %p2, %p1, %p3"),
    ],
    ids=["another limit", "another comparison", "exchanged", "floats", "another number", "logic"],
)
def test_another_condition_of_the_place_has_another_name(first: str, second: str) -> None:
    one, other = _conditions(first, second)
    assert one.name != other.name


def test_unsigned_and_unordered_comparisons_are_reversed_too() -> None:
    one, other = _conditions("setp.lo.u32 %p1, %r3, %r1", "setp.hs.u32 %p2, %r3, %r1")
    assert (one.name, other.is_inverted) == (other.name, True)
    one, other = _conditions("setp.gt.f32 %p1, %f1, %f2", "setp.leu.f32 %p2, %f1, %f2")
    assert (one.name, other.is_inverted) == (other.name, True)


def test_a_predicate_with_several_definitions_has_the_origins_of_its_values() -> None:
    twice = "setp.lt.s32 %p2, %r3, %r1; @%p1 setp.lt.s32 %p2, %r3, %r2"
    first, _, last = _conditions(LESS, twice)
    assert first.name != last.name
    assert last.name.startswith("predicate")


UNROLLED = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u32 k_param_0) {
    .reg .pred %p<9>; .reg .b32 %r<9>;
    .loc 1 7 5
    ld.param.u32 %r1, [k_param_0];
    setp.lt.u32 %p1, %r1, 4;
    @%p1 bra REST;
LOOP:
    setp.lt.s32 %p2, %r2, %r1;
    @%p2 bra SKIP;
    st.u32 [%r2], 1;
SKIP:
    add.s32 %r2, %r2, 4;
    .loc 1 6 5
    setp.lt.s32 %p3, %r2, 64;
    @%p3 bra LOOP;
REST:
    .loc 1 7 5
    setp.ge.s32 %p4, %r2, %r1;
    @%p4 bra DONE;
    st.u32 [%r2], 1;
DONE:
    ret;
}
.file 1 "k.cu"
"""


def test_a_condition_of_a_place_in_a_loop_that_is_only_outside_of_it_is_the_compilers() -> None:
    (function,) = parse(UNROLLED).functions
    flow = ControlFlowGraph(function)
    found = find_conditions(flow, plan_loops(flow).depth)
    assert [one.is_added for one in found.values()] == [True, False, False, False]


LOOPS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u32 k_param_0, .param .u32 k_param_1) {{
    .reg .pred %p<9>; .reg .b32 %r<9>;
    .loc 1 7 5
    ld.param.u32 %r1, [k_param_0];
    ld.param.u32 %r2, [k_param_1];
    and.b32 %r5, %r1, 3;
FIRST:
    add.s32 %r3, %r3, 1;
    setp.lt.s32 %p1, %r3, %r1;
    @%p1 bra FIRST;
    {line}
SECOND:
    add.s32 %r4, %r4, 1;
    setp.ne.s32 %p2, %r4, {limit};
    @%p2 bra SECOND;
    ret;
}}
.file 1 "k.cu"
"""


@pytest.mark.parametrize(
    ("limit", "line", "numbers"),
    [("%r5", "", [0, 0]), ("8", "", [0, 0]), ("%r2", "", [0, 1]), ("%r2", ".loc 1 8 5", [0, 0])],
    ids=["a remainder", "a constant", "another limit", "another line"],
)
def test_loops_of_a_line_are_numbered_but_for_those_made_of_one(limit: str, line: str, numbers: list[int]) -> None:
    (function,) = parse(LOOPS.format(limit=limit, line=line)).functions
    flow = ControlFlowGraph(function)
    loops = plan_loops(flow)
    found = number_loops(loops.loops, find_conditions(flow, loops.depth), flow)
    assert [found[head] for head in sorted(found)] == numbers

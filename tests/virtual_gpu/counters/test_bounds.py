"""Comparisons of indices with their limits, by name."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.counters.conditions import find_bounds
from gpuregress.virtual_gpu.ptx.parser import parse

BODY = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u32 k_param_0) {{
    .reg .pred %p<5>; .reg .b32 %r<9>; .reg .f32 %f<3>;
    ld.param.u32 %r1, [k_param_0];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mad.lo.s32 %r4, %r3, 256, %r2;
    cvt.rn.f32.u32 %f1, %r4;
    mov.b32 %r5, %f1;
    {comparison};
    {logic}
    @%p3 bra DONE;
    mov.u32 %r6, 0;
DONE:
    ret;
}}
"""


def _bounds(comparison: str, logic: str = "mov.pred %p3, %p1;") -> list[tuple[str, str, str]]:
    (function,) = parse(BODY.format(comparison=comparison, logic=logic)).functions
    found = find_bounds(ControlFlowGraph(function), set())
    return [(one.order, one.index_name, one.limit_name) for one in found.values()]


@pytest.mark.parametrize(
    ("comparison", "expected"),
    [
        ("setp.ge.s32 %p1, %r4, %r1", ("ge", "blockIdx.x threadIdx.x", "args[0]")),
        ("setp.gt.u32 %p1, %r1, %r2", ("lt", "threadIdx.x", "args[0]")),
        ("setp.lo.u32 %p1, %r2, 31", ("lt", "threadIdx.x", "31")),
    ],
)
def test_an_index_is_compared_with_its_limit(comparison: str, expected: tuple[str, str, str]) -> None:
    assert _bounds(comparison) == [expected]


@pytest.mark.parametrize(
    "comparison", ["setp.eq.s32 %p1, %r4, %r1", "setp.lt.s32 %p1, %r1, 4", "setp.lt.s32 %p1, %r5, 4"]
)
def test_equality_uniform_values_and_bits_of_floats_are_no_bounds(comparison: str) -> None:
    assert _bounds(comparison) == []


def test_a_predicate_counts_through_logic_and_not_without_a_guard() -> None:
    assert _bounds("setp.lt.s32 %p1, %r4, %r1", "or.pred %p3, %p1, %p2;")
    assert not _bounds("setp.lt.s32 %p1, %r4, %r1", "setp.eq.s32 %p3, %r1, 0;")

"""Barriers that lanes of a warp may fail to reach together, and the joins behind them."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis.divergent_barriers import DivergentBarriers, divergent_barriers, is_aligned_barrier
from gpuregress.virtual_gpu.analysis.uniformity import Uniformity
from tests.virtual_gpu.analysis.kernels import PARAMETERS, graph

_VARYING = "setp.eq.u32 %p1, %tid.x, 0;"
_UNIFORM = "setp.eq.u32 %p1, %ctaid.x, 0;"


def _found(body: str) -> DivergentBarriers:
    flow = graph(body)
    return divergent_barriers(flow, Uniformity(flow, set(PARAMETERS)))


@pytest.mark.parametrize(
    ("body", "joins", "is_possible"),
    [
        (f"{_VARYING} @%p1 bra L; bar.sync 0; L: mov.u32 %r1, 1; ret;", 1, True),
        (f"{_UNIFORM} @%p1 bra L; bar.sync 0; L: mov.u32 %r1, 1; ret;", 0, False),
        (f"{_VARYING} @%p1 bra L; barrier.sync 0; L: mov.u32 %r1, 1; ret;", 0, False),
        (f"{_VARYING} @%p1 bra L; bar.sync 1, 64; L: mov.u32 %r1, 1; ret;", 1, True),
        (f"{_VARYING} @%p1 bra L; bar.red.popc.u32 %r2, 0, %p1; L: mov.u32 %r1, 1; ret;", 1, True),
        (f"{_VARYING} @%p1 bra L; mov.u32 %r2, 3; L: bar.sync 0; ret;", 0, False),
        (f"{_VARYING} @%p1 bra L; bar.sync 0; L: ret;", 0, False),
        (f"{_VARYING} @%p1 bra L; bar.sync 0; ret; L: bar.sync 0; ret;", 0, True),
        (f"L: bar.sync 0; {_VARYING} @%p1 bra L; mov.u32 %r1, 1; ret;", 1, True),
        (f"{_VARYING} @%p1 bra L; bar.sync 0; L: bra L;", 0, False),
    ],
)
def test_which_barriers_are_watched(body: str, joins: int, *, is_possible: bool) -> None:
    found = _found(body)
    assert (len(found.joins), found.is_possible) == (joins, is_possible)


def test_a_barrier_to_which_every_way_leads_is_not_conditional() -> None:
    found = _found(f"{_VARYING} @%p1 bra L; bar.sync 0; L: mov.u32 %r1, 1; bar.sync 0; ret;")
    assert len(found.conditional) == 1
    assert found.conditional.isdisjoint(found.joins)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bar.sync 0;", True),
        ("bar.cta.sync 3;", True),
        ("barrier.sync.aligned 0;", True),
        ("barrier.sync 0;", False),
        ("bar.sync 0, 64;", True),
        ("bar.red.popc.u32 %r1, 0, %p1;", True),
        ("barrier.red.popc.u32 %r1, 0, %p1;", False),
        ("bar.sync %r1;", True),
        ("bar.arrive 0, 64;", False),
        ("bar.warp.sync 1;", False),
        ("barrier.cluster.wait.aligned;", False),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];", False),
        ("mov.u32 %r1, 1;", False),
    ],
)
def test_what_an_aligned_barrier_of_the_block_is(text: str, *, expected: bool) -> None:
    assert is_aligned_barrier(graph(f"{text} ret;").statements[0]) is expected

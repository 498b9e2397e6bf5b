"""Symbolic values of lanes, compared with what each lane computes."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.virtual_gpu.analysis.control_flow_graph import Dominance
from gpuregress.virtual_gpu.analysis.lane_values import CONSTANT, Atom, LaneGraph, LaneValue, LaneValues
from gpuregress.virtual_gpu.ptx.tree import Register
from tests.virtual_gpu.analysis.kernels import PARAMETERS, graph

LANE = np.arange(32)


def _value(body: str, width: int = 32) -> LaneValue:
    """The value of %r1 at the kernel's last statement."""
    flow = Dominance(graph(body + " ret;"))
    values = LaneGraph(flow, PARAMETERS)
    node = values.read(Register("%r1"), len(flow.flow.statements) - 1)
    values.complete()
    return LaneValues(flow, values, width).of(node)


@pytest.mark.parametrize(
    ("body", "numbers"),
    [
        ("and.b32 %r1, %r2, 31;", LANE),
        ("and.b32 %r1, %r2, 7;", LANE % 8),
        ("rem.u32 %r1, %r2, 4;", LANE % 4),
        ("mov.u32 %r1, %laneid;", LANE),
        ("and.b32 %r3, %r2, 31; xor.b32 %r1, %r3, 5;", LANE ^ 5),
        ("and.b32 %r3, %r2, 31; shr.u32 %r1, %r3, 2;", LANE >> 2),
        ("and.b32 %r3, %r2, 31; mad.lo.u32 %r1, %r3, 12, 8;", 12 * LANE + 8),
        ("and.b32 %r3, %r2, 31; or.b32 %r1, %r3, 32;", LANE + 32),
        ("and.b32 %r3, %r2, 31; min.u32 %r1, %r3, 9;", np.minimum(LANE, 9)),
    ],
)
def test_numbers_of_the_lanes(body: str, numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    value = _value(f"mov.u32 %r2, %tid.x; {body}")
    assert set(value) == {CONSTANT}
    assert (value[CONSTANT] == numbers).all()


@pytest.mark.parametrize("body", ["shr.u32 %r1, %r2, 5;", "and.b32 %r1, %r2, -32;", "div.u32 %r1, %r2, 64;"])
def test_values_that_all_lanes_share(body: str) -> None:
    value = _value(f"mov.u32 %r2, %tid.x; {body}")
    assert all((lanes == lanes[0]).all() for lanes in value.values())
    assert not any(atom.varies for monomial in value for atom in monomial)


@pytest.mark.parametrize("body", ["ld.global.u32 %r1, [%rd1];", "rem.u32 %r1, %r2, 3;", "@%p1 mov.u32 %r1, 7;"])
def test_values_that_vary(body: str) -> None:
    value = _value(f"mov.u32 %r2, %tid.x; {body}")
    assert any(atom.varies for monomial in value for atom in monomial)


def test_warps_of_several_rows() -> None:
    body = "mov.u32 %r2, %tid.x; mov.u32 %r3, %tid.y; mad.lo.u32 %r1, %r3, 100, %r2;"
    value = _value(body, width=8)
    assert (value[CONSTANT] == 100 * (LANE // 8) + LANE % 8).all()
    assert (value[Atom("warp.y"),] == 400).all()
    assert any(atom.varies for monomial in _value(body, width=0) for atom in monomial)


def test_a_loop_counts_its_iterations() -> None:
    body = "mov.u32 %r1, %tid.x; L: add.u32 %r1, %r1, 64; setp.lt.u32 %p1, %r1, 1000; @%p1 bra L;"
    value = _value(body)
    assert any(monomial and monomial[0].name.startswith("iterations.") for monomial in value)


def test_partners() -> None:
    flow = Dominance(graph("mov.u32 %r2, %tid.x; ld.param.u32 %r3, [n]; xor.b32 %r1, %r2, %r3; ret;"))
    values = LaneGraph(flow, PARAMETERS)
    node = values.read(Register("%r1"), len(flow.flow.statements) - 1)
    values.complete()
    lanes = LaneValues(flow, values, 32)
    ((atom,),) = lanes.of(node)
    coefficients = {(Atom("warp.x"),): np.full(32, 32), CONSTANT: LANE}
    assert lanes.partners[atom.name] == {monomial: pytest.approx(numbers) for monomial, numbers in coefficients.items()}

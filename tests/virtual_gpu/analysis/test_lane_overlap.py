"""The overlap test, compared with the addresses that each lane computes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from gpuregress.virtual_gpu.analysis.control_flow_graph import Dominance
from gpuregress.virtual_gpu.analysis.lane_overlap import OverlapTest, find_accesses
from tests.virtual_gpu.analysis.kernels import PARAMETERS, graph

LANE = np.arange(32)
_START = "mov.u32 %r1, %tid.x; mov.u32 %r2, box; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3; "
_NONE = np.zeros((32, 32), np.bool_)


def _test_of(body: str, width: int = 32) -> tuple[OverlapTest, list[int]]:
    flow = Dominance(graph(_START + body + " ret;"))
    accesses = find_accesses(flow.flow, PARAMETERS, frozenset())
    return OverlapTest(flow, PARAMETERS, accesses, width), list(accesses)


def _overlap(body: str) -> npt.NDArray[np.bool_]:
    """Where the first access (of a lane: its row) may overlap the second one (of a lane: its column)."""
    test, (first, second) = _test_of(body)
    return test.overlap(test.site(first), test.site(second), -1)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("st.shared.u32 [%r4], %r1; ld.shared.u32 %r5, [%r4];", np.eye(32, dtype=np.bool_)),
        ("st.shared.u32 [%r4], %r1; ld.shared.u32 %r5, [%r4+4];", LANE[:, None] == LANE[None, :] + 1),
        ("st.shared.u32 [%r4], %r1; ld.shared.u16 %r5, [%r4+6];", LANE[:, None] == LANE[None, :] + 1),
        ("st.shared.u32 [%r2], %r1; ld.shared.u32 %r5, [%r2];", ~_NONE),
        ("st.shared.u32 [%r2], %r1; ld.shared.u32 %r5, [%r2+4];", _NONE),
    ],
)
def test_lanes_overlap_where_their_bytes_do(body: str, expected: npt.NDArray[np.bool_]) -> None:
    assert (_overlap(body) == expected).all()


def test_an_address_that_data_gives_may_be_any() -> None:
    body = "st.shared.u32 [%r4], %r1; ld.global.u32 %r6, [%rd1]; add.u32 %r7, %r2, %r6; ld.shared.u32 %r5, [%r7];"
    test, (first, _, last) = _test_of(body)
    assert test.overlap(test.site(first), test.site(last), -1).all()


def test_only_lanes_that_fulfil_a_condition_are_active() -> None:
    test, (index,) = _test_of("setp.lt.u32 %p1, %r1, 5; @%p1 st.shared.u32 [%r4], %r1;")
    assert (test.site(index).active == (LANE < 5)).all()


def test_branches_that_all_lanes_take_alike_are_not_divergent() -> None:
    sides = "setp.lt.u32 %p1, {}, 5; @%p1 bra J; st.shared.u32 [%r4], %r1; J: mov.u32 %r5, 1;"
    assert len(_test_of(sides.format("%r1"))[0].divergent_sides()) == 1
    assert not _test_of("mov.u32 %r6, %ctaid.x; " + sides.format("%r6"))[0].divergent_sides()

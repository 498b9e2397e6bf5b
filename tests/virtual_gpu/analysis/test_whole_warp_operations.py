"""Warp operations whose mask a card does not look at: each case as an H200 ran it, in code that ptxas optimised."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis.divergent_barriers import whole_warp_operations
from tests.virtual_gpu.analysis.kernels import PARAMETERS, graph

_OPERATION = "shfl.sync.down.b32 %r1, %r1, 1, 31, 0xffff;"
_LANE = "setp.lt.u32 %p1, %tid.x, 48;"


@pytest.mark.parametrize(
    ("body", "is_whole"),
    [
        (_OPERATION, True),
        ("ld.param.u32 %r2, [n]; bar.warp.sync %r2;", True),
        ("and.b32 %r2, %tid.x, 16; bar.warp.sync %r2;", False),
        ("ld.param.u64 %rd1, [p]; ld.global.u32 %r2, [%rd1]; match.any.sync.b32 %r3, %r1, %r2;", True),
        (f"{_LANE} vote.sync.ballot.b32 %r2, %p1, -1; redux.sync.add.u32 %r3, %r1, %r2;", True),
        (f"{_LANE} @%p1 {_OPERATION}", False),
        (f"{_LANE} @%p1 bra L; {_OPERATION} L: mov.u32 %r2, %r1;", False),
        (f"{_LANE} @!%p1 bra L; {_OPERATION} L:", True),
        (f"{_LANE} @!%p1 ret; bar.sync 0; {_OPERATION} mov.u32 %r2, %r1;", True),
        (f"{_LANE} @%p1 bra L; st.shared.u32 [box], %r1; ret; L: {_OPERATION}", False),
        (f"{_LANE} @%p1 bra L; trap; L: {_OPERATION}", False),
        (f"{_LANE} @%p1 bra L; st.shared.u32 [box], %r1; L: {_OPERATION}", True),
        (f"{_LANE} vote.sync.any.pred %p2, %p1, -1; @%p2 bra L; {_OPERATION} L: mov.u32 %r2, %r1;", True),
        (f"{_LANE} bar.red.or.pred %p2, 0, %p1; @%p2 bra L; {_OPERATION} L: mov.u32 %r2, %r1;", False),
        ("mov.u32 %r3, 31; shfl.sync.idx.b32 %r2, %tid.x, 0, %r3, -1; bar.warp.sync %r2;", True),
        ("shfl.sync.idx.b32 %r2, %tid.x, 0, 0x101f, -1; bar.warp.sync %r2;", False),
        (f"L: {_OPERATION} setp.lt.u32 %p1, %r1, %tid.x; @%p1 bra L; mov.u32 %r2, %r1;", False),
        ("bar.warp.sync 0xffffffff;", False),
    ],
)
def test_which_masks_are_looked_at(body: str, *, is_whole: bool) -> None:
    flow = graph(body + " ret;")
    assert bool(whole_warp_operations(flow, set(PARAMETERS))) is is_whole

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.checks.program_facts import written_buffers
from tests.virtual_gpu.analysis.kernels import PARAMETERS, kernel

_LOADS = "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; "


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("ld.global.u32 %r1, [%rd1]; st.shared.u32 [s], %r1;", set()),
        ("st.global.u32 [%rd2+4], 1;", {8}),
        ("red.global.add.u32 [%rd1], 1; st.u32 [%rd2], 1;", {0, 8}),
        ("st.global.u32 [table], 1;", {"table"}),
        ("sust.b.1d.b32.trap [%rd2, {%r1}], {%r2};", {8}),
        ("ld.global.u64 %rd3, [%rd1]; sust.b.1d.b32.trap [%rd3, {%r1}], {%r2};", None),
        ("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];", set()),
        ("cp.async.ca.shared.global [s], [%rd1], 4;", set()),
        ("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], 16;", None),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [s], 16;", None),
        ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 16, [m];", set()),
        ("ld.global.u64 %rd3, [%rd1]; st.global.u32 [%rd3], 1;", None),
    ],
)
def test_the_buffers_that_a_kernel_may_write(body: str, expected: set[int | str] | None) -> None:
    assert written_buffers(ControlFlowGraph(kernel(f"{_LOADS}{body} ret;")), PARAMETERS) == expected

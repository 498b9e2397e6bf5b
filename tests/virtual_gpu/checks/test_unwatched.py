"""Instructions that the dynamic checks cannot watch."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.checks.program_facts import unwatched
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.runtime.checks.layout import CLOCKS


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("ld.shared.u32 %r0, [%r1]; st.local.u32 [%r1], %r0;", ()),
        ("ld.local.u32 %r0, [%r1];", ()),
        ("cp.async.ca.shared.global [%r1], [%a], 4; cp.async.commit_group; cp.async.bulk.wait_group 0;", ()),
        ("mov.u32 %r0, %clock;", (CLOCKS,)),
        ("mov.u64 %a, %globaltimer; mov.u32 %r0, %tid.x;", (CLOCKS,)),
        ("activemask.b32 %r0;", (CLOCKS,)),
        ("cp.async.bulk.global.shared::cta.bulk_group [%a], [%r1], %r0;", ()),
        ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%a], %r0, [%r2];", ()),
        ("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r3], 8, [%r2];", ()),
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r0, [%r2];", ()),
        ("suld.b.1d.b32.trap %r0, [%a, {%r1}]; ld.local.u32 %r0, [%r1];", ()),
    ],
)
def test_what_a_kernel_accesses_unwatched(body: str, expected: tuple[str, ...]) -> None:
    head = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { .reg .b64 %a; .reg .b32 %r<4>;"
    functions = parse(f"{head} {body} ret; }}").functions
    assert unwatched(functions) == expected

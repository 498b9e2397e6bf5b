from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.checks.program_facts import shared_reads
from gpuregress.virtual_gpu.ptx.tree import Instruction
from tests.virtual_gpu.analysis.kernels import kernel

_READ = "ld.shared.u32 %r1, [s];"


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        (f"{_READ} bar.sync 0;", 1),
        (f"{_READ} ld.shared.u32 %r2, [s+4]; st.global.u32 [%rd1], %r1;", 2),
        (f"{_READ} setp.ne.u32 %p1, %r1, 0; @%p1 bra L; {_READ} L: bar.sync 0;", 1),
        ("ld.global.u32 %r1, [%rd1]; bar.sync 0;", 0),
        (f"{_READ} bar.warp.sync 0xffffffff;", None),
        (f"{_READ} bar.arrive 1, 64;", None),
        (f"{_READ} bar.sync 1, 64;", None),
        (f"{_READ} @%p1 bar.sync 0;", None),
        (f"{_READ} st.shared.u32 [s], 1; bar.sync 0;", None),
        (f"{_READ} st.u32 [%rd1], 1; bar.sync 0;", None),
        (f"{_READ} red.shared.add.u32 [s], 1; bar.sync 0;", None),
        (f"{_READ} cp.async.ca.shared.global [s], [%rd1], 4; bar.sync 0;", None),
    ],
)
@pytest.mark.parametrize("start", ["", "st.shared.u32 [s], 1; bar.sync 0;"])
def test_an_interval_that_only_reads_shared_memory(start: str, interval: str, expected: int | None) -> None:
    flow = ControlFlowGraph(kernel(f"{start}{interval} ret;"))
    waits = [at for at, item in enumerate(flow.statements) if isinstance(item, Instruction) and item.opcode == "bar"]
    reads = shared_reads(flow, waits[0] if start else -1)
    assert (None if reads is None else len(set(reads))) == expected


def test_an_interval_behind_a_barrier_of_a_warp_is_none() -> None:
    flow = ControlFlowGraph(kernel(f"bar.warp.sync 0xffffffff; {_READ} bar.sync 0; ret;"))
    assert shared_reads(flow, 0) is None
    assert shared_reads(flow, 2) is not None

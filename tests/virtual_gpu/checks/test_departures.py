"""Effects behind which a thread does not wait any more."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.checks.program_facts import departures
from gpuregress.virtual_gpu.ptx.tree import Instruction
from tests.virtual_gpu.analysis.kernels import graph

_BRANCH = "setp.lt.u32 %p1, %tid.x, 16; @!%p1 bra L;"
_SYNC = "bar.warp.sync 0x1ffff;"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("st.global.u32 [%rd1], 1; ret;", []),
        (f"{_BRANCH} {_SYNC} ret; L: ret;", []),
        (f"{_BRANCH} {_SYNC} ret; L: st.global.u32 [%rd1], 1; ret;", ["st"]),
        (f"{_BRANCH} {_SYNC} L: st.global.u32 [%rd1], 1; ret;", ["st"]),
        (f"{_BRANCH} st.global.u32 [%rd1], 1; {_SYNC} red.global.add.u32 [%rd1], 1; L: ret;", ["red"]),
        (f"{_BRANCH} L: st.global.u32 [%rd1], 1; {_SYNC} ret;", []),
        (f"L: {_SYNC} st.global.u32 [%rd1], 1; {_BRANCH} ret;", []),
    ],
)
def test_what_is_behind_the_last_wait(body: str, found: list[str]) -> None:
    flow = graph(body)
    statements = [flow.statements[index] for index in sorted(departures(flow))]
    assert [item.opcode for item in statements if isinstance(item, Instruction)] == found

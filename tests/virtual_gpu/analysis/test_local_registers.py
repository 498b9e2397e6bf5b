from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.builder.register_values import local_registers
from tests.virtual_gpu.analysis.kernels import graph


@pytest.mark.parametrize(
    ("body", "local"),
    [
        ("mov.u32 %r1, 1; add.s32 %r2, %r1, 1; st.global.u32 [%rd1], %r2; ret;", {"%r1", "%r2"}),
        ("mov.u32 %r1, 1; bra L; L: add.s32 %r2, %r1, 1; ret;", {"%r2"}),
        ("add.s32 %r1, %r1, 1; ret;", set()),
        ("mov.u32 %r1, 1; bar.sync 0; add.s32 %r2, %r1, 1; ret;", {"%r2"}),
        ("mov.u32 %r1, 1; bar.sync 0; mov.u32 %r1, 2; ret;", set()),
        ("mov.u32 %r1, 1; shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; mov.u32 %r3, %r2; ret;", {"%r3"}),
        ("setp.eq.s32 %p1, %r1, 0; @%p1 mov.u32 %r2, 1; mov.u32 %r3, 1; ret;", {"%p1", "%r3"}),
        ("mov.u32 %r2, 0; setp.eq.s32 %p1, %r1, 0; @%p1 mov.u32 %r2, 1; mov.u32 %r3, %r2; ret;", {"%p1", "%r3"}),
        ("add.cc.u32 %r1, 1, 2; addc.u32 %r2, 0, 0; ret;", {"%r1", "%r2"}),
        ("L: mov.u32 %r1, 1; setp.eq.s32 %p1, %r1, 0; @%p1 bra L; ret;", {"%r1", "%p1"}),
    ],
    ids=["one block", "read in another", "read first", "across a wait", "set again", "of a wait", "set under a guard",
         "set and set under a guard", "not the carry", "in a loop"],
)  # fmt: skip
def test_registers_of_one_stretch_of_code_need_no_memory(body: str, local: set[str]) -> None:
    assert local_registers(graph(body)) == local

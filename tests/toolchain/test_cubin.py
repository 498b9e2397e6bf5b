from __future__ import annotations

import pytest

from gpuregress.records import Parameter
from gpuregress.toolchain import cubin, link

PTX = """.version 8.0
.target sm_90
.address_size 64
.const .align 4 .b8 d_filter[68];
.visible .entry k(.param .u64 k_0, .param .u32 k_1, .param .align 8 .b8 k_2[24])
{
	.reg .b64 %rd<3>;
	.reg .b32 %r<2>;
	ld.param.u64 %rd1, [k_0];
	ld.param.u32 %r1, [k_1];
	cvta.to.global.u64 %rd2, %rd1;
	st.global.u32 [%rd2], %r1;
	ret;
}
"""


def test_a_cubin_tells_its_kernels_and_variables() -> None:
    linked = link.link(PTX, "sm_90", "k.ptx")
    module = cubin.parse(linked.cubin)
    assert [(p.size, p.kind) for p in module.entries["k"].parameters] == [(8, "word"), (4, "struct"), (24, "struct")]
    assert module.entries["k"].parameters[2] == Parameter(24, 8, "struct")
    assert linked.resources["k"]["registers"] > 0
    assert linked.resources["k"]["spill"] == 0
    assert module.arch == "sm_90"


@pytest.mark.parametrize("data", [b"", b"\x7fELF\x02\x01" + bytes(80), b"#!/bin/sh\n" * 20])
def test_what_is_no_cubin_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="it is"):
        cubin.parse(data)


def test_a_cubin_cut_short_is_refused() -> None:
    data = link.link(PTX, "sm_90", "k.ptx").cubin
    for length in (70, len(data) // 2, len(data) - 8):
        with pytest.raises(ValueError, match="cut short"):
            cubin.parse(data[:length])

from __future__ import annotations

import pytest

from gpuregress.execution.cuda.module import cluster_sizes_in

PTX = """\
.version 9.0
.target sm_90
.address_size 64
.visible .entry _Z5plainPi(
	.param .u64 _Z5plainPi_param_0
)
{
	ret;
}
.visible .entry wide(
	.param .u64 .ptr .align 1 wide_param_0,
	.param .align 8 .b8 wide_param_1[16]
)
.maxntid 128, 1, 1
.explicitcluster
.reqnctapercluster 4, 2, 1
{
	barrier.cluster.arrive;
	ret;
}
.entry short() .reqnctapercluster 3 { ret; }
.entry deep()
.explicitcluster
.reqnctapercluster 1, 1, 2
{ ret; }
"""


def test_the_kernels_that_say_so() -> None:
    assert cluster_sizes_in(PTX) == {"wide": (4, 2, 1), "short": (3, 1, 1), "deep": (1, 1, 2)}


@pytest.mark.parametrize("ptx", ["", PTX.replace(".reqnctapercluster", ".maxntid")])
def test_most_programs_say_nothing(ptx: str) -> None:
    assert cluster_sizes_in(ptx) == {}

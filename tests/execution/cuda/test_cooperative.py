from __future__ import annotations

from gpuregress.execution.cuda import cooperative
from gpuregress.foundation.records import Entry, Parameter

PTX = """\
.version 9.0
.target sm_90
.address_size 64
.visible .entry _Z5plainPi(
	.param .u64 _Z5plainPi_param_0
)
{
	mov.u32 %r1, %tid.x;
	ret;
}
.visible .entry _Z4syncPi(.param .u64 p)
{
	mov.u32 %r8, %envreg2;
	ret;
}
"""


def test_a_kernel_that_waits_for_its_grid_is_known_by_the_registers_it_reads() -> None:
    assert cooperative.kernels_in(PTX) == {"_Z4syncPi"}


def test_a_function_that_waits_may_be_called_by_every_kernel() -> None:
    called = PTX.replace(".visible .entry _Z4syncPi(", ".func _Z4syncPi(")
    assert cooperative.kernels_in(called) == {"_Z5plainPi"}


def test_most_programs_have_none() -> None:
    assert cooperative.kernels_in(PTX.replace("%envreg2", "%tid.y")) == frozenset()
    assert cooperative.kernels_in("") == frozenset()


def test_each_argument_is_found_at_its_alignment() -> None:
    parameters = (Parameter(1, 1, "integer"), Parameter(8, 8, "pointer"), Parameter(2, 2, "integer"))
    assert cooperative._offsets(Entry("k", parameters)) == [0, 8, 16]

"""Origins of values: through arithmetic, and as far as a caller says."""

from __future__ import annotations

from gpuregress.virtual_gpu.counters.conditions import find_origins, number_of, parameter_of
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Instruction

TEXT = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u32 k_param_0, .param .align 8 .b8 k_param_1[16]) {
    .reg .b32 %r<9>;
    ld.param.u32 %r1, [k_param_0];
    ld.param.u32 %r2, [k_param_1+8];
    mov.u32 %r3, %tid.x;
    add.s32 %r5, %r4, %r3;
    add.s32 %r4, %r5, %r1;
    ret;
}
"""


def test_a_register_has_the_origins_of_all_its_definitions_also_around_a_loop() -> None:
    (function,) = parse(TEXT).functions
    found = find_origins(function.body or ())
    assert found == {name: {"threadIdx.x"} for name in ("%r3", "%r4", "%r5")}
    own = find_origins(function.body or (), lambda item: frozenset("p") if parameter_of(item) else frozenset())
    assert own["%r5"] == {"threadIdx.x", "p"}


def test_names_of_numbers_and_parameters() -> None:
    (function,) = parse(TEXT).functions
    named = [parameter_of(item) for item in function.body or () if isinstance(item, Instruction)]
    assert named == ["args[0]", "(args[1] at byte 8)", "", "", "", ""]
    assert number_of("%ctaid.y") == {"blockIdx.y"}
    assert number_of("%laneid") == {"lane"}
    assert not number_of("%ntid.x")

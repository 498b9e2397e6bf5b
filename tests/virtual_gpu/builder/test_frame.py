from __future__ import annotations

from gpuregress.virtual_gpu.builder.translation_unit import lay_out
from gpuregress.virtual_gpu.ptx.parser import parse

PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[20], .param .u16 d) { ret; }
"""


def test_each_variable_is_aligned_behind_the_one_before() -> None:
    (function,) = parse(PTX).functions
    offsets, size = lay_out(function.parameters)
    assert offsets == {"a": 0, "b": 8, "c": 16, "d": 36}
    assert size == 38
    assert lay_out(()) == ({}, 0)

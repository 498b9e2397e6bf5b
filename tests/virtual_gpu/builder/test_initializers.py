from __future__ import annotations

from gpuregress.virtual_gpu.builder.translation_unit import variable_facts
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.runtime.program import Relocation

PTX = """.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 numbers[4] = {1, 0x01020304, 0, 0};
.global .align 8 .f64 taps[2] = {0d3FF8000000000000, 2};
.global .align 8 .u64 pointers[3] = {0, numbers, numbers+8};
.global .align 1 .b8 bytes[2] = {0xFF(numbers), 0xFF00(numbers)};
"""


def test_numbers_are_bytes_and_addresses_are_relocations() -> None:
    facts = {item.name: variable_facts(item) for item in parse(PTX).variables}
    assert (facts["numbers"].data, facts["numbers"].size, facts["numbers"].itemsize) == ("0100000004030201", 16, 4)
    assert facts["taps"].data == "000000000000f83f" + "0000000000000040"
    assert facts["pointers"].relocations == (
        Relocation(8, 8, "numbers", 0, 0),
        Relocation(16, 8, "numbers", 8, 0),
    )
    assert facts["bytes"].relocations == (Relocation(0, 1, "numbers", 0, 0), Relocation(1, 1, "numbers", 0, 8))

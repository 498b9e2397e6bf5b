"""Units: their variables, initial values, and frames of functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpuregress.virtual_gpu.builder.translation_unit import Unit, variable_facts
from gpuregress.virtual_gpu.ptx.modifiers import lay_out
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Instruction
from gpuregress.virtual_gpu.runtime.program import Relocation
from tests.virtual_gpu.running import Running, ints

SOURCE = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void sums(const int* in, int* out) {
  __shared__ int beside[32];
  auto tile = cg::tiled_partition<64>(cg::this_thread_block());
  if (threadIdx.x < 32) beside[threadIdx.x] = 7;
  int sum = cg::reduce(tile, in[blockIdx.x * blockDim.x + threadIdx.x], cg::plus<int>());
  tile.sync();
  if (tile.thread_rank() == 0) out[blockIdx.x * tile.meta_group_size() + tile.meta_group_rank()] = sum;
  if (threadIdx.x < 32 && beside[threadIdx.x] != 7) out[0] = -1;
}
"""


def test_groups_of_two_warps_add_up_what_their_threads_hold(tmp_path: Path) -> None:
    run = Running(tmp_path, SOURCE)
    values = np.arange(3 * 256, dtype=np.int32)
    data, out = run.put("in", values), run.put("out", np.zeros(12, np.int32))
    run.launch("sums", 3, 256, data, out)
    assert ints(out) == values.reshape(12, 64).sum(axis=1).tolist()


PTX = """.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 tail[];
.shared .align 4 .b8 box[40];
.func helper() { .shared .align 4 .b8 box[8]; ret; }
.visible .entry k() { .shared .align 4 .b8 own[12]; ret; }
"""


def test_shared_variables_have_ranges_of_their_own() -> None:
    unit = Unit(parse(PTX), None)
    assert unit.shared_key("helper", "box") == ("helper", "box")
    assert unit.shared_key("k", "box") == ("", "box")
    assert unit.shared_key("k", "other") is None
    ranges = unit.shared_ranges()
    assert sorted(size for _, size in ranges) == [8, 12, 40]
    assert unit.shared_starts["", "tail"] == unit.dynamic_start >= max(start + size for start, size in ranges)


def test_an_equal_site_has_the_same_number() -> None:
    unit = Unit(parse(PTX), None)
    first, second = (Instruction("bar", ("sync",), (), None, line, None) for line in (7, 8))
    assert [unit.site(first), unit.site(second), unit.site(first), unit.site(first, "read")] == [0, 1, 0, 2]
    assert [site.where for site in unit.sites] == ["PTX line 7", "PTX line 8", "PTX line 7"]


def test_functions_have_addresses_and_tables_numbers() -> None:
    unit = Unit(parse(PTX), None)
    assert unit.function_address("helper") != unit.function_address("k")
    assert [unit.table_number(name) for name in ("ex2", "rcp_0", "ex2")] == [0, 1, 0]


FRAME_PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[20], .param .u16 d) { ret; }
"""


def test_each_variable_is_aligned_behind_the_one_before() -> None:
    (function,) = parse(FRAME_PTX).functions
    offsets, size = lay_out(function.parameters)
    assert offsets == {"a": 0, "b": 8, "c": 16, "d": 36}
    assert size == 38
    assert lay_out(()) == ({}, 0)


INITIALIZERS_PTX = """.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 numbers[4] = {1, 0x01020304, 0, 0};
.global .align 8 .f64 taps[2] = {0d3FF8000000000000, 2};
.global .align 8 .u64 pointers[3] = {0, numbers, numbers+8};
.global .align 1 .b8 bytes[2] = {0xFF(numbers), 0xFF00(numbers)};
"""


def test_numbers_are_bytes_and_addresses_are_relocations() -> None:
    facts = {item.name: variable_facts(item) for item in parse(INITIALIZERS_PTX).variables}
    assert (facts["numbers"].data, facts["numbers"].size, facts["numbers"].itemsize) == ("0100000004030201", 16, 4)
    assert facts["taps"].data == "000000000000f83f" + "0000000000000040"
    assert facts["pointers"].relocations == (
        Relocation(8, 8, "numbers", 0, 0),
        Relocation(16, 8, "numbers", 8, 0),
    )
    assert facts["bytes"].relocations == (Relocation(0, 1, "numbers", 0, 0), Relocation(1, 1, "numbers", 0, 8))

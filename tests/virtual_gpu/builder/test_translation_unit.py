"""Groups of several warps: cooperative_groups keeps their barriers in the shared memory that belongs to the system."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import I32
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Instruction
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


def test_a_large_subroutine_is_not_inlined_where_many_places_call_it() -> None:
    def build(b: ir.IRBuilder, given: tuple[ir.Value, ...]) -> ir.Value:
        value = given[0]
        for number in range(80):
            value = b.mul(value, b.add(value, I32(number)))
        return value

    unit = Unit(parse(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }"))
    small = [unit.subroutine("small", I32, (I32,), lambda _, given: given[0]) for _ in range(20)]
    large = [unit.subroutine("large", I32, (I32,), build) for _ in range(15)]
    assert "noinline" not in large[0].attributes
    unit.subroutine("large", I32, (I32,), build)
    assert "noinline" in large[0].attributes
    assert "noinline" not in small[0].attributes

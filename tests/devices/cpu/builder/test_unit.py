"""Groups of several warps: cooperative_groups keeps their barriers in the shared memory that belongs to the system."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.devices.cpu.running import Running, ints

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

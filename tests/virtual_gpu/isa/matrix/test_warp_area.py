from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.virtual_gpu.running import Running

TWICE = """
extern "C" __global__ void k(int* out)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, a = 0x01010101 * (warp + 1), d[2] = {0, 0};
    for (int step = 0; step < 3; ++step)
        asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+r"(d[0]), "+r"(d[1]) : "r"(a), "r"(lane / 4 == step ? 0x01010101 : 0));
    out[2 * threadIdx.x] = d[0], out[2 * threadIdx.x + 1] = d[1];
}
"""


def test_each_warp_has_an_area_that_lasts_until_all_lanes_have_read_it(tmp_path: Path) -> None:
    running = Running(tmp_path, TWICE, "k")
    out = running.put("out", np.zeros(4 * 64, np.int32))
    running.launch("k", 1, 128, out)
    columns = 2 * (np.arange(32) % 4)[:, None] + np.arange(2)
    expected = [np.where(columns < 3, 16 * (warp + 1), 0) for warp in range(4)]  # each step adds one column of B
    assert (out.read().view(np.int32).reshape(4, 32, 2) == np.array(expected)).all()

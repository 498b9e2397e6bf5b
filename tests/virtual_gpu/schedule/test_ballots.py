"""Ballots of whole warps: every lane takes part, so all threads wait together."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.virtual_gpu.running import Running

SOURCE = """
extern "C" __global__ void vote(unsigned* y, const int* x)
{
    y[threadIdx.x] = __ballot_sync(0xffffffffu, x[threadIdx.x] > 0);
}
"""


def test_each_lane_is_told_the_votes_of_its_warp(tmp_path: Path) -> None:
    program = Running(tmp_path, SOURCE, "vote")
    x = np.random.default_rng(5).integers(0, 2, 64).astype(np.int32)
    y = program.put("y", np.zeros(64, np.uint32))
    program.launch("vote", 1, 64, y, program.put("x", x))
    told = y.read().view(np.uint32).reshape(2, 32)
    for warp, own in enumerate(x.reshape(2, 32)):
        assert (told[warp] == sum(int(bit) << lane for lane, bit in enumerate(own))).all()

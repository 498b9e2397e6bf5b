"""Ballots of whole warps and of a last one with fewer lanes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from llvmlite import ir

from gpuregress.devices.cpu.schedule.ballots import ballots
from tests.devices.cpu.running import Running

SOURCE = """
extern "C" __global__ void vote(unsigned* y, const int* x)
{
    unsigned lanes = threadIdx.x < 64 ? 0xffffffffu : 0xffu;
    y[threadIdx.x] = __ballot_sync(lanes, x[threadIdx.x] > 0);
}
"""


def test_each_lane_is_told_the_votes_of_its_warp(tmp_path: Path) -> None:
    program = Running(tmp_path, SOURCE, "vote")
    x = np.random.default_rng(5).integers(0, 2, 72).astype(np.int32)
    y = program.put("y", np.zeros(72, np.uint32))
    program.launch("vote", 1, 72, y, program.put("x", x))
    for warp in range(3):
        own = x[32 * warp : 32 * warp + 32]
        expected = sum(int(bit) << lane for lane, bit in enumerate(own))
        assert (y.read().view(np.uint32)[32 * warp : 32 * warp + 32] == expected).all()


def test_a_module_has_one_such_function() -> None:
    module = ir.Module("test")
    assert ballots(module) is ballots(module)
    assert str(module).count("define internal void") == 1

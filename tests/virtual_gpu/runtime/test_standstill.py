"""Grids in which all blocks wait for each other, and grids that only take long."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault
from gpuregress.virtual_gpu.runtime import resident_blocks
from gpuregress.virtual_gpu.runtime.machine_layout import Machine
from tests.virtual_gpu.running import Running, ints

SOURCE = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void missed(int* y)
{
    if (blockIdx.x < 3) cg::this_grid().sync();
    y[blockIdx.x] = 1;
}
__device__ int turn;
extern "C" __global__ void turns(int* y, int n)
{
    cg::this_grid().sync();
    if (threadIdx.x == 0)
        for (int k = 0; k < n; ++k) {
            while (atomicAdd(&turn, 0) % gridDim.x != blockIdx.x) {}
            atomicAdd(&turn, 1);
        }
    y[blockIdx.x] = turn;
}
extern "C" __global__ void counted(int* y, int n)
{
    cg::this_grid().sync();
    if (threadIdx.x == 0) while (atomicAdd(&y[8], 1) < n) {}
    y[blockIdx.x] = 1;
}
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("standstill"), SOURCE, "missed", "turns", "counted", is_small=True)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resident_blocks, "FIRST_LOOK_S", 0.001)


def test_a_grid_barrier_that_a_block_misses(running: Running) -> None:
    with pytest.raises(KernelFault, match="all 3 resident blocks wait for something that no block") as caught:
        running.launch("missed", 4, 32, running.put("y", np.zeros(16, np.int32)))
    assert caught.value.kind == "deadlock"
    assert caught.value.source_line is not None
    assert str(caught.value.source_line) in str(caught.value)
    assert [line.partition(" wait")[0] for line in caught.value.details] == [
        "block (3,0,0): ended",
        "3 blocks, (0,0,0) to (2,0,0): threads 1-31",
    ]


def test_blocks_that_take_turns_go_on(running: Running) -> None:
    out = running.put("y", np.zeros(16, np.int32))
    running.launch("turns", 4, 32, out, np.int32(200))
    assert max(ints(out)) == 800


def test_a_count_in_memory_goes_on(running: Running) -> None:
    out = running.put("y", np.zeros(16, np.int32))
    running.launch("counted", 4, 32, out, np.int32(20_000))
    assert ints(out)[:4] == [1] * 4


def test_too_much_memory_is_not_compared(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resident_blocks, "MOST_BYTES", 0)
    detector = resident_blocks.StandstillDetector(Machine(), running.device._space)
    assert not any(detector.is_reached([]) for _ in range(200))


def test_an_unchanged_state_is_reached_and_a_clock_that_ticks_is_not(running: Running) -> None:
    machine = Machine()
    detector = resident_blocks.StandstillDetector(machine, running.device._space)
    detector._due = 0
    assert [detector.is_reached([]) for _ in range(2)] == [False, True]
    detector = resident_blocks.StandstillDetector(machine, running.device._space)
    detector._due = 0
    for _ in range(10):
        machine.clock += 32
        assert not detector.is_reached([])

"""Grids whose blocks wait for each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import DeviceError, KernelFault
from gpuregress.virtual_gpu.parallel import block_order
from tests.virtual_gpu.running import Running, ints

SOURCE = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void rounds(int* y, int n)
{
    __shared__ int kept;
    auto grid = cg::this_grid();
    int i = grid.thread_rank(), size = grid.size(), own = i;
    if (threadIdx.x == 0) kept = blockIdx.x;
    for (int round = 0; round < n; ++round) {
        y[i] = own;
        grid.sync();
        own = y[size - 1 - i] + y[(i + 1) % size];
        grid.sync();
    }
    y[i] = own + kept;
}
extern "C" __global__ void far(int* y)
{
    cg::this_grid().sync();
    if (blockIdx.x == 2 && threadIdx.x == 5) y[1 << 20] = 1;
}
extern "C" __global__ void stuck(int* y)
{
    cg::this_grid().sync();
    if (blockIdx.x == 1) asm volatile("bar.sync 3, 128;" ::: "memory");
    y[threadIdx.x] = 1;
}
extern "C" __global__ void alone(int* y) { y[0] = cg::this_grid().is_valid() * 10 + cg::this_grid().num_blocks(); }
"""
KERNELS = ("rounds", "far", "stuck", "alone")


def test_every_block_sees_what_all_wrote_before_the_barrier(tmp_path: Path) -> None:
    running, blocks, threads = Running(tmp_path, SOURCE, *KERNELS), 5, 96
    out = running.put("y", np.zeros(blocks * threads, np.int32))
    running.launch("rounds", blocks, threads, out, np.int32(3))
    places = np.arange(blocks * threads)
    own = places
    for _ in range(3):
        own = own[::-1] + np.roll(own, -1)
    assert ints(out) == list(own + places // threads)


def test_a_fault_behind_the_barrier_names_block_and_thread(tmp_path: Path) -> None:
    running = Running(tmp_path, SOURCE, *KERNELS)
    with pytest.raises(KernelFault, match=r"y\[1048576\].*thread \(5,0,0\) of block \(2,0,0\)"):
        running.launch("far", 4, 32, running.put("y", np.zeros(32, np.int32)))


def test_a_block_that_cannot_go_on_is_found_among_those_that_can(tmp_path: Path) -> None:
    running = Running(tmp_path, SOURCE, *KERNELS)
    with pytest.raises(KernelFault) as caught:
        running.launch("stuck", 3, 64, running.put("y", np.zeros(64, np.int32)))
    assert caught.value.kind == "deadlock"
    assert "block (1,0,0)" in str(caught.value)


def test_a_grid_that_a_gpu_cannot_hold_at_once_is_refused(tmp_path: Path) -> None:
    running = Running(tmp_path, SOURCE, *KERNELS)
    out = running.put("y", np.zeros(1, np.int32))
    with pytest.raises(DeviceError, match="all 265 blocks must run at once; this device takes 264 of them, 2 on"):
        running.launch("rounds", 265, 1000, out, np.int32(1))


def test_a_kernel_that_only_asks_for_its_grid_runs(tmp_path: Path) -> None:
    running = Running(tmp_path, SOURCE, *KERNELS)
    out = running.put("y", np.zeros(1, np.int32))
    running.launch("alone", 7, 1, out)
    assert ints(out) == [17]


def test_shared_memory_limits_the_blocks_that_are_there_at_once(tmp_path: Path) -> None:
    running = Running(tmp_path, SOURCE, *KERNELS)
    out = running.put("y", np.zeros(1, np.int32))
    with pytest.raises(DeviceError, match="all 265 blocks must run at once; this device takes 264 of them, 2 on each"):
        running.launch("rounds", 265, 32, out, np.int32(1), shared=100 << 10)


def test_the_last_block_of_the_longest_grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """2^31 - 1 blocks along x are possible; only the last one is run here."""
    monkeypatch.setattr(block_order, "sequence", lambda total, _blocks: [total - 1])
    text = """extern "C" __global__ void k(int* y) {
      y[0] = gridDim.x == 0x7fffffff; y[1] = blockIdx.x == gridDim.x - 1; y[2] = (int)gridDim.x;
      y[3] = gridDim.x + 1 > 5; y[4] = (int)(gridDim.x + 1) < 0; }"""
    running = Running(tmp_path, text)
    out = running.put("y", np.zeros(5, np.int32))
    running.launch("k", 2**31 - 1, 1, out)
    assert ints(out) == [1, 1, 2**31 - 1, 1, 1]

"""Kernels whose lanes exchange values without a wait: the results of a converged warp, in both orders of threads."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from gpuregress.foundation.records import Dim3, LaunchShape
from gpuregress.virtual_gpu.analysis.lane_dependence import with_warp_steps
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Instruction
from gpuregress.virtual_gpu.runtime.program import Schedule
from tests.virtual_gpu.running import Running, ints

SOURCE = """
extern "C" __global__ void scan(volatile int* y)
{
    __shared__ volatile int s[64];
    int t = threadIdx.x;
    s[t] = y[t];
    for (int step = 1; step < 32; step *= 2)
        if (t % 32 >= step) s[t] += s[t - step];
    y[t] = s[t];
}
extern "C" __global__ void rotate(int* y, int rounds)
{
    __shared__ int s[64];
    int t = threadIdx.x + (threadIdx.y + threadIdx.z * blockDim.y) * blockDim.x;
    s[t] = y[t];
    __syncthreads();
    for (int k = 0; k < rounds; ++k) s[t] = s[t / 32 * 32 + (t + 1) % 32] + k;
    __syncthreads();
    y[t] = s[t];
}
extern "C" __global__ void trips(int* y)
{
    __shared__ volatile int s[32];
    int t = threadIdx.x;
    s[t] = 1;
    #pragma unroll 1
    for (int k = 0; k < y[t]; ++k) s[t] += s[(t + 1) % 32];
    s[t] += s[(t + 5) % 32];
    y[t] = s[t];
}
extern "C" __global__ void partners(int* y, const int* x) { int t = threadIdx.x; y[t] = x[t ^ 1] + 1; }
extern "C" __global__ void cleared(volatile int* y, const int* x)
{
    __shared__ volatile int s[64];
    int t = threadIdx.x, place = x[t];
    s[t] = 7;
    s[place] = 100;
    y[t] = s[t];
}
extern "C" __global__ void scatter(int* y)
{
    int t = threadIdx.x + (threadIdx.y + threadIdx.z * blockDim.y) * blockDim.x;
    int place = y[t];
    __syncthreads();
    y[place] = 100 + t;
}
extern "C" __global__ void scatter_in_passes(int* y)
{
    int t = threadIdx.x, place = y[t];
    __syncthreads();
    if (place < 3) { y[place] = 100 + t; __syncwarp(__activemask()); }
}
extern "C" __global__ void alone(int* y)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = y[t];
    y[t] = s[t];
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("steps"), SOURCE)


def _run(program: Running, kernel: str, block: Dim3, data: list[int], *more: np.int32) -> list[list[int]]:
    """What the kernel leaves in the usual order of the threads, and in the reverse."""
    results = []
    for run in range(2):
        program.device.vary(run)
        module = program.device.load(program.program, 64)
        y = program.put("y", np.array(data, np.int32))
        arguments = (y.address.to_bytes(8, "little"), *(item.tobytes() for item in more))
        program.device.launch(module, program.program.entries[kernel].mangled, LaunchShape((1, 1, 1), block), arguments)
        results.append(ints(y))
    program.device.vary(0)
    return results


def test_a_scan_in_which_some_lanes_add(program: Running) -> None:
    data = list(range(64))
    expected = np.cumsum(np.array(data).reshape(2, 32), axis=1).ravel().tolist()
    assert _run(program, "scan", (64, 1, 1), data) == [expected, expected]


@pytest.mark.parametrize("block", [(64, 1, 1), (16, 4, 1), (4, 4, 4)])
def test_lanes_read_before_any_of_them_writes(program: Running, block: Dim3) -> None:
    rows: npt.NDArray[np.int64] = np.arange(64).reshape(2, 32) * 7
    for k in range(5):
        rows = np.roll(rows, -1, axis=1) + k
    expected = rows.ravel().tolist()
    assert _run(program, "rotate", block, [7 * i for i in range(64)], np.int32(5)) == [expected, expected]


def test_lanes_that_leave_a_loop_meet_behind_it(program: Running) -> None:
    counts = np.arange(32) * 5 % 7
    row = np.ones(32, np.int64)
    for k in range(7):
        row = np.where(k < counts, row + np.roll(row, -1), row)
    row = row + np.roll(row, -5)
    assert _run(program, "trips", (32, 1, 1), counts.tolist()) == [row.tolist()] * 2


@pytest.mark.parametrize(
    ("kernel", "block"),
    [("scatter", (64, 1, 1)), ("scatter", (16, 4, 1)), ("scatter", (8, 4, 2)), ("scatter", (40, 1, 1))],
)
def test_the_lowest_lane_of_the_last_warp_stays(program: Running, kernel: str, block: Dim3) -> None:
    count = block[0] * block[1] * block[2]
    data = [(7 * t * t + 3) % 11 for t in range(count)]
    expected = list(data)
    for warp in range(0, count, 32):
        for t in reversed(range(warp, min(warp + 32, count))):
            expected[data[t]] = 100 + t
    assert _run(program, kernel, block, data)[0] == expected


def test_the_lowest_lane_stays_in_passes(program: Running) -> None:
    data = [t % 5 for t in range(32)]
    assert _run(program, "scatter_in_passes", (32, 1, 1), data)[0] == [100, 101, 102, *data[3:]]


def test_lanes_that_work_in_place_read_before_any_of_them_writes(program: Running) -> None:
    y, x = program.put("y", np.arange(64, dtype=np.int32)), program.put("x", np.arange(64, dtype=np.int32))
    for source in (x, y):
        program.launch("partners", 1, 64, y, source)
        assert ints(y) == [(t ^ 1) + 1 if source is x else (t ^ 1 ^ 1) + 2 for t in range(64)]


def test_a_store_behind_the_stores_of_all_lanes_stays(program: Running) -> None:
    y, x = program.put("y", np.zeros(64, np.int32)), program.put("x", np.arange(64, dtype=np.int32)[::-1] // 2 * 2)
    program.launch("cleared", 1, 32, y, x)
    assert ints(y)[:32] == [7] * 32
    x.write((np.arange(63, -1, -1, dtype=np.int32) % 32 // 2 * 2).view(np.uint8))
    program.launch("cleared", 1, 32, y, x)
    assert ints(y)[:32] == [100, 7] * 16


def test_steps_are_inserted_only_where_lanes_depend_on_each_other(program: Running) -> None:
    kernels = {item.name: item for item in parse(Path(program.program.ptx).read_text()).functions}

    def steps(name: str, *, in_step: bool = False) -> list[str]:
        """The instructions before which the lanes wait."""
        body = with_warp_steps(kernels[name], Schedule(in_step=in_step)).function.statements
        instructions = [item for item in body if isinstance(item, Instruction)]
        return [after.mnemonic for item, after in pairwise(instructions) if "step" in item.modifiers]

    assert steps("alone") == []
    assert steps("rotate")
    in_step = {tuple(mnemonic.split(".")[:2]) for mnemonic in steps("rotate", in_step=True)}
    assert in_step == {("ld", "global"), ("st", "global"), ("ld", "shared"), ("st", "shared")}
    assert with_warp_steps(kernels["alone"], Schedule()).function is kernels["alone"]


def test_counts_leave_the_steps_out(tmp_path: Path) -> None:
    texts = [
        f'extern "C" __global__ void k(int* y) {{ __shared__ volatile int s[32]; int t = threadIdx.x; s[t] = y[t]; '
        f"y[t] = s[t ^ {mask}]; }}"
        for mask in (0, 1)
    ]
    counts = []
    for number, text in enumerate(texts):
        folder = tmp_path / str(number)
        folder.mkdir()
        running = Running(folder, text)
        counts.append(running.launch("k", 1, 32, running.put("y", np.zeros(32, np.int32))).instructions or 0)
    assert 0 <= counts[1] - counts[0] <= 2 * 32

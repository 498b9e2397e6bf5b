from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.virtual_gpu.running import Running, ints

SOURCE = """
extern "C" __global__ void tree(const float* x, float* sums, int n) {
  extern __shared__ float part[];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  part[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (t < k) part[t] += part[t + k];
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = part[0];
}
extern "C" __global__ void shuffles(int* y, int width) {
  int t = threadIdx.x, v = 100 + t, n = blockDim.x;
  y[t] = __shfl_sync(~0u, v, 5, width);
  y[n + t] = __shfl_up_sync(~0u, v, 3, width);
  y[2 * n + t] = __shfl_down_sync(~0u, v, 3, width);
  y[3 * n + t] = __shfl_xor_sync(~0u, v, 6, width);
}
extern "C" __global__ void votes(unsigned* y) {
  int t = threadIdx.x;
  y[0 + 5 * t] = __ballot_sync(~0u, t % 3 == 0);
  y[1 + 5 * t] = __any_sync(~0u, t == 40);
  y[2 + 5 * t] = __all_sync(~0u, t < 40);
  y[3 + 5 * t] = __match_any_sync(~0u, t / 10);
  int same; y[4 + 5 * t] = __match_all_sync(~0u, t / 32, &same) + same;
}
extern "C" __global__ void reductions(int* y, const int* x) {
  int t = threadIdx.x;
  y[t] = __reduce_add_sync(~0u, x[t]);
  y[32 + t] = __reduce_min_sync(~0u, x[t]);
  y[64 + t] = __reduce_max_sync(~0u, (unsigned)x[t]);
  y[96 + t] = __reduce_xor_sync(~0u, (unsigned)x[t]);
}
extern "C" __global__ void halves(unsigned* y) {
  int t = threadIdx.x;
  if (t & 1) y[t] = __shfl_sync(0xaaaaaaaa, t, 7); else y[t] = __ballot_sync(0x55555555, t < 16);
  y[32 + t] = __activemask();
  if (t < 10) y[64 + t] = __activemask();
}
extern "C" __global__ void early(int* y, int n) {
  int t = threadIdx.x;
  if (t >= n) return;
  __syncthreads();
  y[t] = __syncthreads_count(t % 2) * 10000 + __syncthreads_or(t == 3) * 100 + __syncthreads_and(t < 40);
}
extern "C" __global__ void pipeline(int* y) {
  __shared__ int box[32];
  int t = threadIdx.x;
  for (int round = 0; round < 4; ++round) {
    if (t < 32) {
      box[t] = round * 100 + t;
      asm volatile("bar.arrive 1, 64;" ::: "memory");
      asm volatile("bar.sync 2, 64;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      y[round * 32 + t - 32] = box[63 - t];
      asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
  }
}
extern "C" __global__ void lock(int* mutex, int* total) {
  while (atomicCAS(mutex, 0, 1) != 0) {}
  int seen = *(volatile int*)total;
  __nanosleep(20);
  *(volatile int*)total = seen + 1;
  __threadfence();
  atomicExch(mutex, 0);
}
extern "C" __global__ void flag(volatile int* ready, int* y) {
  int t = threadIdx.x;
  if (t == 0) { while (*ready != 31) {} y[0] = 7; }
  else { atomicAdd((int*)ready, 1); y[t] = t; }
}
__device__ __noinline__ int summed(int* box, int t) {
  box[t] = t; __syncthreads();
  int total = 0; for (int i = 0; i < 64; ++i) total += box[i];
  __syncthreads();
  return total;
}
extern "C" __global__ void inside(int* y) {
  __shared__ int box[64];
  int t = threadIdx.x;
  y[t] = summed(box, t) + summed(box, t);
}
extern "C" __global__ void volumes(int* y) {
  __shared__ int box[60];
  int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  box[t] = threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z;
  __syncthreads();
  y[t + 60 * (blockIdx.x + gridDim.x * blockIdx.y)] = box[59 - t] + 1000 * blockIdx.x + 10000 * blockIdx.y;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("threads"), SOURCE)


@pytest.mark.parametrize("block", [1, 32, 128, 256, 1024])
def test_tree_reduction(program: Running, block: int) -> None:
    n = 5000
    x = np.random.default_rng(0).random(n, dtype=np.float32)
    blocks = -(-n // block)
    sums = program.put("sums", np.zeros(blocks, np.float32))
    program.launch("tree", blocks, block, program.put("x", x), sums, np.int32(n), shared=4 * block)
    part = np.zeros(blocks * block, np.float32)
    part[:n] = x
    rows = part.reshape(blocks, block)
    half = block // 2
    while half:
        rows[:, :half] += rows[:, half : 2 * half]
        half //= 2
    assert np.array_equal(sums.read().view(np.float32), rows[:, 0])


@pytest.mark.parametrize("width", [32, 16, 8])
def test_shuffles(program: Running, width: int) -> None:
    y = program.put("y", np.zeros(4 * 64, np.int32))
    program.launch("shuffles", 1, 64, y, np.int32(width))
    t = np.arange(64)
    first, inside = t // width * width, t % width
    expected = [
        first + 5 % width,
        np.where(inside >= 3, t - 3, t),
        np.where(inside + 3 < width, t + 3, t),
        np.where((inside ^ 6) < width, t ^ 6, t),
    ]
    assert ints(y) == (100 + np.concatenate(expected)).tolist()


def test_votes_and_matches(program: Running) -> None:
    y = program.put("y", np.zeros(64 * 5, np.uint32))
    program.launch("votes", 1, 64, y)
    rows = y.read().view(np.uint32).reshape(64, 5)
    for t, row in enumerate(rows.tolist()):
        warp = range(t // 32 * 32, t // 32 * 32 + 32)
        ballot = sum(1 << lane % 32 for lane in warp if lane % 3 == 0)
        match = sum(1 << lane % 32 for lane in warp if lane // 10 == t // 10)
        assert row == [ballot, 40 in warp, max(warp) < 40, match, 0], t


def test_warp_reductions(program: Running) -> None:
    x = np.random.default_rng(1).integers(-1000, 1000, 32).astype(np.int32)
    y = program.put("y", np.zeros(128, np.int32))
    program.launch("reductions", 1, 32, y, program.put("x", x))
    largest = int(x.view(np.uint32).max().view(np.int32))
    expected = [int(x.sum()), int(x.min()), largest, int(np.bitwise_xor.reduce(x))]
    assert ints(y)[::32] == expected
    assert ints(y)[31::32] == expected


def test_parts_of_a_warp_meet_apart(program: Running) -> None:
    y = program.put("y", np.zeros(96, np.uint32))
    program.launch("halves", 1, 32, y)
    values = y.read().view(np.uint32).tolist()
    assert values[1:32:2] == [7] * 16
    assert values[0:32:2] == [0x5555] * 16
    assert values[32:64] == [0xFFFFFFFF] * 32
    assert values[64:74] == [0x3FF] * 10


def test_exited_threads_leave_barriers(program: Running) -> None:
    y = program.put("y", np.full(64, -1, np.int32))
    program.launch("early", 1, 64, y, np.int32(45))
    assert ints(y) == [22 * 10000 + 100 + 0] * 45 + [-1] * 19


def test_arrive_and_sync_between_warps(program: Running) -> None:
    y = program.put("y", np.zeros(128, np.int32))
    program.launch("pipeline", 1, 64, y)
    assert ints(y) == [turn * 100 + 31 - lane for turn in range(4) for lane in range(32)]


def test_a_spinning_lock_goes_round(program: Running) -> None:
    mutex, total = program.put("mutex", np.zeros(1, np.int32)), program.put("total", np.zeros(1, np.int32))
    program.launch("lock", 3, 96, mutex, total)
    assert (ints(mutex), ints(total)) == ([0], [288])


def test_a_thread_that_waits_for_a_flag(program: Running) -> None:
    ready, y = program.put("ready", np.zeros(1, np.int32)), program.put("y", np.zeros(32, np.int32))
    program.launch("flag", 1, 32, ready, y)
    assert ints(y) == [7, *range(1, 32)]


def test_barriers_inside_functions(program: Running) -> None:
    y = program.put("y", np.zeros(64, np.int32))
    program.launch("inside", 1, 64, y)
    assert ints(y) == [2 * 2016] * 64


def test_three_dimensions(program: Running) -> None:
    y = program.put("y", np.zeros(60 * 6, np.int32))
    program.launch("volumes", (2, 3, 1), (3, 4, 5), y)
    own = np.arange(60)
    box = own % 3 + 10 * (own // 3 % 4) + 100 * (own // 12)
    expected = [box[::-1] + 1000 * x + 10000 * z for z in range(3) for x in range(2)]
    assert ints(y) == np.concatenate(expected).tolist()


def test_the_same_bytes_twice(tmp_path: Path) -> None:
    results = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        program = Running(folder, SOURCE)
        y = program.put("y", np.zeros(96, np.uint32))
        program.launch("halves", 1, 32, y)
        results.append(y.read().tobytes())
        program.device.free_all()
    assert results[0] == results[1]

"""Copies of cp.async that have not arrived: what a missing wait shows."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.virtual_gpu.runtime import bulk_forms
from tests.virtual_gpu.running import Running, ints

SOURCE = r"""
typedef unsigned long long u64;
__device__ unsigned where(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void copy(int* to, const int* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(where(to)), "l"(from) : "memory");
}
extern "C" __global__ void groups(int* y, const int* x) {
  __shared__ int box[4][8];
  int t = threadIdx.x;
  for (int k = 0; k < 4; ++k) box[k][t] = -1;
  for (int k = 0; k < 3; ++k) { copy(&box[k][t], x + 8 * k + t); asm volatile("cp.async.commit_group;" ::: "memory"); }
  copy(&box[3][t], x + 24 + t);
  int at = 0;
  auto look = [&] { for (int k = 0; k < 4; ++k) y[32 * at + 8 * k + t] = ((volatile int*)box)[8 * k + t]; ++at; };
  look();
  asm volatile("cp.async.wait_group 2;" ::: "memory"); look();
  asm volatile("cp.async.wait_group 0;" ::: "memory"); look();
  asm volatile("cp.async.wait_all;" ::: "memory"); look();
}
extern "C" __global__ void source(int* y, int* x, int waits) {
  __shared__ int box[8];
  int t = threadIdx.x;
  box[t] = -1;
  copy(&box[t], x + t);
  x[t] = 100;
  if (waits) asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  y[t] = box[7 - t];
}
template <bool noinc> __device__ void arrivals(int* y, const int* x) {
  __shared__ int box[64]; __shared__ u64 gate;
  int t = threadIdx.x;
  box[t] = -1;
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(where(&gate)), "r"(64));
  __syncthreads();
  copy(&box[t], x + t);
  if (noinc) asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(where(&gate)) : "memory");
  else {
    asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" :: "r"(where(&gate)) : "memory");
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" :: "r"(where(&gate)) : "memory");
  }
  y[64 + t] = ((volatile int*)box)[t];
  asm volatile("{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra WAIT; }"
               :: "r"(where(&gate)) : "memory");
  y[t] = box[63 - t];
}
extern "C" __global__ void arrive(int* y, const int* x) { arrivals<false>(y, x); }
extern "C" __global__ void arrive_noinc(int* y, const int* x) { arrivals<true>(y, x); }
extern "C" __global__ void many(int* y, const int* x, int n) {
  __shared__ int box[32];
  int t = threadIdx.x;
  box[t] = 0;
  for (int k = 0; k < n; ++k) {
    copy(&box[t], x + 32 * (k & 3) + t);
    if (k % 100 == 7) asm volatile("cp.async.commit_group;");
  }
  __syncthreads();
  y[32 + t] = box[t];
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  y[t] = box[31 - t];
}
"""
X = np.arange(200, 328, dtype=np.int32)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("queue"), SOURCE)


def test_groups_arrive_in_order(program: Running) -> None:
    y = program.put("y", np.zeros(4 * 32, np.int32))
    program.launch("groups", 1, 8, y, program.put("x", X))
    counts = [0, 1, 3, 4]
    for at, count in enumerate(counts):
        wanted = [*X[: 8 * count].tolist(), *[-1] * (32 - 8 * count)]
        assert ints(y)[32 * at : 32 * at + 32] == wanted, at


@pytest.mark.parametrize("waits", [0, 1])
def test_a_missing_wait_shows_old_data_and_the_source_is_read_at_once(program: Running, waits: int) -> None:
    y, x = program.put("y", np.zeros(8, np.int32)), program.put("x", X[:8])
    program.launch("source", 2, 8, y, x, np.int32(waits))
    assert ints(y) == ([100] * 8 if waits else [-1] * 8)
    program.launch("source", 1, 8, y, program.put("z", X[:8]), np.int32(waits))
    assert ints(y) == (X[7::-1].tolist() if waits else [-1] * 8)


@pytest.mark.parametrize("kernel", ["arrive", "arrive_noinc"])
def test_copies_arrive_with_their_mbarrier(program: Running, kernel: str) -> None:
    y = program.put("y", np.zeros(128, np.int32))
    program.launch(kernel, 3, 64, y, program.put("x", X))
    assert ints(y)[:64] == X[63::-1].tolist()
    assert ints(y)[64:] == [-1] * 64


@pytest.mark.parametrize("count", [1, 3000])
def test_a_full_queue_loses_nothing(program: Running, count: int) -> None:
    assert bulk_forms.CAPACITY < 32 * 3000
    y = program.put("y", np.zeros(64, np.int32))
    program.launch("many", 1, 32, y, program.put("x", X), np.int32(count))
    first = 32 * (count - 1 & 3)
    assert ints(y)[:32] == X[first : first + 32][::-1].tolist()
    # Some of 96,000 copies had to arrive before the wait.
    assert any(ints(y)[32:]) == (count == 3000)

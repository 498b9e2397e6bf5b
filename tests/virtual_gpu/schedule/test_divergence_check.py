"""Lanes that do not meet at a barrier, as compute-sanitizer's synccheck sees them; and what is no fault."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault
from tests.virtual_gpu.running import Running, ints

SOURCE = r"""
extern "C" __global__ void sums(const int* x, int* y) {  // each thread of the last round but some has an element
  __shared__ int part[64];
  int t = threadIdx.x;
  part[t] = 0; __syncthreads();
  for (int k = 0; k < 16; ++k)
    if (64 * k + t < 1008) { part[t] += x[64 * k + t]; __syncthreads(); }
  if (t == 0) for (int i = 0; i < 64; ++i) y[0] += part[i];
}
extern "C" __global__ void half_waits(int* y) { if (threadIdx.x < 16) __syncthreads(); y[threadIdx.x] = 5; }
extern "C" __global__ void two_barriers(int* y) {
  if (threadIdx.x < 16) __syncthreads();
  __syncthreads(); y[threadIdx.x] = 1;
}
extern "C" __global__ void both_sides(int* y) {
  if (threadIdx.x & 1) { asm volatile("bar.sync 0;"); y[threadIdx.x] = 1; }
  else { asm volatile("bar.sync 0;"); y[threadIdx.x] = 2; }
}
extern "C" __global__ void in_turns(int* y) {
  for (int i = 0; i < 4; ++i) { if (((i + threadIdx.x) & 1) || y[0] == 77) __syncthreads(); y[threadIdx.x] += i; }
}
extern "C" __global__ void lengths(int* y) {
  for (int i = 0; i < (int)(threadIdx.x & 3) + 1; ++i) { y[threadIdx.x] += 1; __syncthreads(); }
  y[threadIdx.x] += 10;
}
extern "C" __global__ void votes(int* y) {
  if (threadIdx.x < 48) y[threadIdx.x] = __syncthreads_count(1);
  y[threadIdx.x] += 1;
}
extern "C" __global__ void guarded(int* y) {
  asm volatile("{ .reg .pred p; setp.lt.u32 p, %0, 16; @p bar.sync 0; }" :: "r"(threadIdx.x)); y[threadIdx.x] = 5;
}
extern "C" __global__ void counts(int* y) {
  if (threadIdx.x < 48) asm volatile("bar.sync 1, 64;"); else asm volatile("bar.sync 1, 64;");
  y[threadIdx.x] = 1;
}
extern "C" __global__ void quarters(int* y) { // 16 lanes of each of four warps
  if (threadIdx.x % 32 < 16) asm volatile("bar.sync 1, 64;");
  y[threadIdx.x] = 1;
}
extern "C" __global__ void in_pairs(int* y) {
  int t = threadIdx.x;
  for (int i = 0; i < 3 + t / 64; ++i) {
    y[t] += 1;
    if (t < 64) asm volatile("bar.sync 1, 64;"); else asm volatile("bar.sync 2, 64;");
  }
  if (t < 32) y[t] += __syncthreads_count(1); else y[t] += __syncthreads_count(1);
}
extern "C" __global__ void unaligned(int* y) {
  if (threadIdx.x & 1) { asm volatile("barrier.sync 0;"); y[threadIdx.x] = 1; }
  else { asm volatile("barrier.sync 0;"); y[threadIdx.x] = 2; }
}
extern "C" __global__ void by_warps(int* y) {
  if (threadIdx.x & 32) { asm volatile("bar.sync 0;"); y[threadIdx.x] = 1; }
  else { asm volatile("bar.sync 0;"); y[threadIdx.x] = 2; }
}
extern "C" __global__ void returns(int* y) {
  if (threadIdx.x >= 40) return;
  y[threadIdx.x] = 1; __syncthreads(); int other = y[(threadIdx.x + 1) % 40]; __syncthreads(); y[threadIdx.x] += other;
}
extern "C" __global__ void returns_in_turn(int* y) {
  for (int i = 0; i < 4; ++i) { if (threadIdx.x > 40u + i) return; y[threadIdx.x] += 1; __syncthreads(); }
}
extern "C" __global__ void body(int* y) {
  if (threadIdx.x < 40) { y[threadIdx.x] = 1; __syncthreads(); y[threadIdx.x] += y[(threadIdx.x + 1) % 40] > 0; }
}
extern "C" __global__ void never_in_loop(int* y) {  // rounds of its own for each lane
  for (int i = 0; i < (int)(threadIdx.x & 7); ++i) { if (y[100 + i] > 9) __syncthreads(); y[threadIdx.x] += 1; }
  __syncthreads(); y[threadIdx.x] += 1;
}
extern "C" __global__ void other_effects(int* y) {
  if (threadIdx.x & 1) { __syncthreads(); atomicAdd(y + threadIdx.x, 3); }
  else if (threadIdx.x & 2) y[threadIdx.x] = 4;
  else atomicExch(y + threadIdx.x, 5);
}
extern "C" __global__ void returns_with_effect(int* y) {
  if (threadIdx.x >= 40) {
    y[threadIdx.x] = 4;
    return;
  }
  __syncthreads();
  atomicAdd(y + threadIdx.x, 2);
}
extern "C" __global__ void returns_from_loop(int* y) {
  for (int i = 0; i < 4; ++i) {
    __syncthreads();
    if (threadIdx.x > 40u + i) { atomicExch(y + threadIdx.x, 9); return; }
    y[threadIdx.x] += 1;
  }
}
extern "C" __global__ void rounds_in_memory(int* y, const int* rounds) {
  for (int i = 0; i < rounds[0]; ++i) { y[threadIdx.x] += 1; __syncthreads(); }
  y[threadIdx.x] += 10;
}
"""
_SITE = r"bar\.sync, k\.cu:\d+"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("divergence"), SOURCE)


@pytest.mark.parametrize(
    ("kernel", "threads", "message"),
    [
        ("half_waits", 32, rf"threads 0-15 wait at {_SITE}; threads 16-31 have exited, after going past it"),
        ("two_barriers", 32, rf"threads 16-31 wait at {_SITE}, after going past it; threads 0-15 wait at {_SITE}"),
        ("both_sides", 33, rf"warp 0 of block \(0,0,0\) .*: threads 1, 3, .* wait at {_SITE}; threads 0, 2, .* wait"),
        ("in_turns", 32, rf"threads 0, 2, .* wait at {_SITE}, after going past it; threads 1, 3"),
        ("votes", 64, r"threads 32-47 wait at bar\.red\.popc\.u32, k\.cu:\d+; threads 48-63 have exited, after going"),
        ("guarded", 64, rf"threads 0-15 wait at {_SITE}; threads 16-31 have exited, after going past it"),
        ("counts", 64, r"warp 1 of block \(0,0,0\) .*threads 48-63 wait at bar\.sync"),
        ("quarters", 128, rf"warp 0 of block \(0,0,0\) .*: threads 0-15 wait at {_SITE}; threads 16-31 have exited"),
        ("other_effects", 64, rf"warp 0 .*: threads 1, 3, .* wait at {_SITE}; threads 0, 2, .*, after going past it"),
        ("lengths", 32, rf"wait at {_SITE}; threads 0, 4, 8, 12, 16, 20 … have exited, after going past it"),
    ],
)
def test_lanes_that_do_not_meet_are_a_fault(program: Running, kernel: str, threads: int, message: str) -> None:
    y = program.put("y", np.zeros(128, np.int32))
    with pytest.raises(KernelFault, match=message) as caught:
        program.launch(kernel, 1, threads, y)
    assert caught.value.kind == "deadlock"
    assert "do not meet at a barrier of the block" in str(caught.value)


def test_the_remainder_of_a_loop_is_the_classic_mistake(program: Running) -> None:
    x, y = program.put("x", np.ones(1024, np.int32)), program.put("y", np.zeros(1, np.int32))
    with pytest.raises(KernelFault, match=r"warp 1 of block \(0,0,0\).*threads 32-47 wait.*threads 48-63 have exited"):
        program.launch("sums", 1, 64, x, y)


@pytest.mark.parametrize(
    ("kernel", "threads", "values"),
    [
        ("unaligned", 64, [2, 1] * 32),
        ("by_warps", 64, [2] * 32 + [1] * 32),
        ("guarded", 16, [5] * 16),
        ("counts", 48, [1] * 48),
        ("in_pairs", 128, [131] * 64 + [132] * 64),
        ("half_waits", 16, [5] * 16),
        ("returns", 64, [2] * 40),
        ("returns_in_turn", 64, [4] * 41),
        ("returns_with_effect", 64, [2] * 40 + [4] * 24),
        ("returns_from_loop", 64, [4] * 41 + [9] * 23),
        ("body", 64, [2] * 40),
        ("never_in_loop", 64, [1, 2, 3, 4, 5, 6, 7, 8] * 8),
    ],
)
def test_what_the_hardware_defines_is_no_fault(program: Running, kernel: str, threads: int, values: list[int]) -> None:
    y = program.put("y", np.zeros(128, np.int32))
    for _ in range(2):
        y.write(np.zeros(128, np.int32).view(np.uint8))
        program.launch(kernel, 2 if kernel == "unaligned" else 1, threads, y)
    assert ints(y)[: len(values)] == values


def test_a_count_in_memory_may_be_the_same_for_all(program: Running) -> None:
    y, rounds = program.put("y", np.zeros(64, np.int32)), program.put("rounds", np.array([3], np.int32))
    program.launch("rounds_in_memory", 1, 64, y, rounds)
    assert ints(y)[:64] == [13] * 64

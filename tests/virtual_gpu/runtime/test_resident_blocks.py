"""Blocks that spin until a later block has run, and those that wait for nobody."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault
from gpuregress.virtual_gpu.parallel import block_order
from gpuregress.virtual_gpu.runtime import resident_blocks
from tests.virtual_gpu.running import Running, ints

SOURCE = """
extern "C" __global__ void chain(volatile int* flag, int* out, int step)
{
    __shared__ int kept;
    if (threadIdx.x == 0) kept = blockIdx.x;
    int other = (int)blockIdx.x + step, n = gridDim.x;
    if (threadIdx.x == 0 && other >= 0 && other < n) while (flag[other] == 0) {}
    __syncthreads();
    if (threadIdx.x == 1) {
        out[kept] = (other >= 0 && other < n ? ((volatile int*)out)[other] : 0) + 1;
        __threadfence();
        flag[kept] = 1;
    }
}
extern "C" __global__ void counting(volatile int* flag, int* out)
{
    long long spins = 0;
    if (blockIdx.x == 0) { while (flag[0] == 0) ++spins; out[0] = spins > 100; }
    if (blockIdx.x == 5) flag[0] = 1;
}
extern "C" __global__ void finding(volatile int* flag, int* out, int wanted)
{
    int found = 0;
    if (blockIdx.x == 0) {
        while (found < wanted) { int value = flag[0]; if (value == 1) { flag[0] = 0; found++; } }
        out[0] = found;
    } else { flag[0] = 1; out[1] = 1; }
}
extern "C" __global__ void never(volatile int* flag, int* out)
{
    if (threadIdx.x < 2) while (flag[0] == 0) {}
    __syncthreads();
    out[0] = 1;
}
extern "C" __global__ void inside(int* out)
{
    __shared__ volatile int ready;
    ready = 0;
    __syncthreads();
    if (threadIdx.x == 3) while (ready == 0) {}
    out[0] = 1;
}
extern "C" __global__ void bounded(int* out, int bound)
{
    __shared__ volatile int flag;
    int tries = 0;
    flag = 0;
    while (flag == 0 && tries < bound) ++tries;
    out[0] = tries;
}
extern "C" __global__ void warp_wait(volatile int* flag, int* out)
{
    int turns = 0;
    if (blockIdx.x > 0) flag[0] = 1;
    else { while (turns < 1) { __syncwarp(); if (flag[0] == 1) turns++; } out[0] = turns; }
}
extern "C" __global__ void told_by_one(volatile int* flag, int* out)
{
    __shared__ int seen;
    if (blockIdx.x > 0) { flag[0] = 1; return; }
    do { __syncthreads(); if (threadIdx.x == 0) seen = flag[0]; __syncthreads(); } while (seen == 0);
    if (threadIdx.x == 63) out[0] = 1;
}
extern "C" __global__ void plain_read(int* flag, int* out)
{
    if (blockIdx.x > 0) { if (threadIdx.x == 0) atomicExch(flag, 1); return; }
    do { atomicCAS(flag, 7, 8); } while (*flag != 1);
    if (threadIdx.x == 63) out[0] = 1;
}
extern "C" __global__ void taken_by_one(int* flag, int* out)
{
    __shared__ int seen;
    if (blockIdx.x > 0) { atomicExch(flag, 2); return; }
    do { if (threadIdx.x == 0) seen = atomicCAS(flag, 2, 3); __syncthreads(); } while (seen != 2);
    if (threadIdx.x == 63) out[0] = 1;
}
extern "C" __global__ void by_turns(int* flag, int* out)
{
    if (blockIdx.x > 0) { while (atomicAdd(out, 0) < 20) atomicCAS(flag, 1, 0); return; }
    while (atomicAdd(out, 0) < 20) if (atomicCAS(flag, 0, 1) == 0) atomicAdd(out, 1);
}
extern "C" __global__ void one_after_the_other(int* flag, int* out)
{
    int turn = 63 - (int)threadIdx.x;
    while (((volatile int*)flag)[0] < 64) atomicCAS(flag, turn, turn + 1);
    out[0] = 20;
}
__noinline__ __device__ int look(volatile int* flag) { return *flag; }
extern "C" __global__ void by_a_call(int* flag, int* out)
{
    if (blockIdx.x > 0) { if (threadIdx.x == 0) atomicExch(flag, 1); return; }
    if (threadIdx.x == 0) { while (!look(flag)) {} out[0] = 20; }
}
extern "C" __global__ void vote(volatile int* flag, int* out)
{
    if (blockIdx.x > 0) flag[0] = 1;
    else { while (!__syncthreads_or(flag[0])) {} if (threadIdx.x == 63) out[0] = 1; }
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("resident"), SOURCE)


@pytest.mark.parametrize("step", [1, 7, -1])
def test_chains_of_blocks(program: Running, step: int) -> None:
    count = 150
    flag, out = program.put("flag", np.zeros(count, np.int32)), program.put("out", np.zeros(count, np.int32))
    program.launch("chain", count, 64, flag, out, np.int32(step))
    places = np.arange(count)
    behind = (count - 1 - places) // step if step > 0 else places // -step
    assert ints(out) == (behind + 1).tolist()


@pytest.mark.parametrize("order", ["reversed", "random:3"])
def test_in_other_orders_of_the_blocks(program: Running, monkeypatch: pytest.MonkeyPatch, order: str) -> None:
    monkeypatch.setattr(program.device, "_order", block_order.Order(order))
    flag, out = program.put("flag", np.zeros(40, np.int32)), program.put("out", np.zeros(40, np.int32))
    program.launch("chain", 40, 64, flag, out, np.int32(-1))
    assert ints(out) == list(range(1, 41))


def test_a_thread_that_counts_while_it_spins(program: Running) -> None:
    flag, out = program.put("flag", np.zeros(1, np.int32)), program.put("out", np.zeros(1, np.int32))
    program.launch("counting", 8, 1, flag, out)
    assert ints(out) == [1]


@pytest.mark.parametrize(("kernel", "threads"), [("by_turns", 1), ("one_after_the_other", 64), ("by_a_call", 64)])
def test_threads_that_spin_by_atomic_operations_or_calls(program: Running, kernel: str, threads: int) -> None:
    flag, out = program.put("flag", np.zeros(1, np.int32)), program.put("out", np.zeros(1, np.int32))
    program.launch(kernel, 2, threads, flag, out)
    assert ints(out) == [20]


@pytest.mark.parametrize("threads", [1, 32])
def test_a_loop_that_ends_by_a_counter(program: Running, threads: int) -> None:
    flag, out = program.put("flag", np.zeros(1, np.int32)), program.put("out", np.zeros(2, np.int32))
    program.launch("finding", 2, threads, flag, out, np.int32(1))
    assert ints(flag) == [0]
    assert ints(out) == [1, 1]
    with pytest.raises(KernelFault, match=r"threads? 0(-31)? spins? on flag, k.cu"):
        program.launch("finding", 2, threads, flag, out, np.int32(2))


def test_waiting_for_nobody(program: Running) -> None:
    flag, out = program.put("flag", np.zeros(1, np.int32)), program.put("out", np.zeros(1, np.int32))
    with pytest.raises(KernelFault) as caught:
        program.launch("never", 3, 64, flag, out)
    assert caught.value.kind == "deadlock"
    assert str(caught.value).startswith(
        "all 3 resident blocks wait for something that no block will do, and no further block will start: "
        "3 blocks, (0,0,0) to (2,0,0): threads 2-63 wait at bar.sync, k.cu:"
    )
    assert "threads 0-1 spin on flag, k.cu:" in str(caught.value)


def test_waiting_for_a_block_that_has_no_room(program: Running) -> None:
    count = 3000
    flag, out = program.put("flag", np.zeros(count, np.int32)), program.put("out", np.zeros(count, np.int32))
    with pytest.raises(
        KernelFault, match=r"all 264 resident blocks .* 2736 more have no room on the device before one"
    ):
        program.launch("chain", count, 1024, flag, out, np.int32(1))


def test_waiting_for_a_thread_of_the_block(program: Running) -> None:
    out = program.put("out", np.zeros(1, np.int32))
    with pytest.raises(KernelFault, match=r"no thread of block \(0,0,0\) can go on: .*thread 3 spins on ready, k.cu"):
        program.launch("inside", 1, 64, out)


def test_locks_are_taken_in_turn(tmp_path: Path) -> None:
    text = """extern "C" __global__ void k(int* lock, volatile int* sum) {
      if (threadIdx.x) return;
      while (atomicCAS(lock, 0, 1) != 0) {}
      *sum += 1; __threadfence(); atomicExch(lock, 0); }"""
    running = Running(tmp_path, text)
    lock, total = running.put("lock", np.zeros(1, np.int32)), running.put("sum", np.zeros(1, np.int32))
    running.launch("k", 50, 32, lock, total)
    assert ints(total) == [50]


@pytest.mark.parametrize("kernel", ["warp_wait", "told_by_one", "vote", "plain_read", "taken_by_one"])
def test_a_loop_that_spins_may_wait_for_its_own_block_in_each_iteration(program: Running, kernel: str) -> None:
    flag, out = program.put("flag", np.zeros(1, np.int32)), program.put("out", np.zeros(1, np.int32))
    program.launch(kernel, 3, 64, flag, out)
    assert ints(out) == [1]


@pytest.mark.parametrize("kernel", ["warp_wait", "told_by_one", "vote", "plain_read", "taken_by_one", "counting"])
def test_loops_that_nothing_ends_are_a_fault(program: Running, monkeypatch: pytest.MonkeyPatch, kernel: str) -> None:
    monkeypatch.setattr(resident_blocks, "FIRST_LOOK_S", 0.001)
    flag, out = program.put("flag", np.zeros(1, np.int32)), program.put("out", np.zeros(1, np.int32))
    with pytest.raises(KernelFault, match=r"threads 0-63 (spin on flag|wait at bar\.sync), k\.cu:\d+"):
        program.launch(kernel, 1, 64, flag, out)


def test_polling_shared_memory_with_a_bound_ends(program: Running) -> None:
    out = program.put("out", np.zeros(1, np.int32))
    program.launch("bounded", 1, 32, out, np.int32(20_000))
    assert ints(out) == [20_000]

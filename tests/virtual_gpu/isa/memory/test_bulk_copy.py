from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault, UnsupportedError
from gpuregress.foundation.records import TensorMap
from gpuregress.virtual_gpu.runtime.bulk_copies import BulkCopies
from tests.virtual_gpu.running import Running, ints

SOURCE = r"""
#include <cuda.h>
typedef unsigned long long u64;
__device__ unsigned where(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void expect(u64* gate, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(where(gate)), "r"(bytes) : "memory");
}
__device__ void await(u64* gate, int parity) {
  asm volatile("{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra WAIT; }"
               :: "r"(where(gate)), "r"(parity) : "memory");
}
__device__ void init(u64* gate) {
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(where(gate)));
  __syncthreads();
}
extern "C" __global__ void tile(const __grid_constant__ CUtensorMap map, int* y, int x0, int y0) {
  __shared__ __align__(1024) int box[8 * 8]; __shared__ u64 gate;
  init(&gate);
  if (threadIdx.x == 0) {
    expect(&gate, sizeof box);
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(where(box)), "l"(&map), "r"(x0), "r"(y0), "r"(where(&gate)) : "memory");
  }
  await(&gate, 0);
  y[threadIdx.x] = box[threadIdx.x];
}
extern "C" __global__ void bulk(int* y, const int* x, int bytes, int offset, int waits) {
  __shared__ __align__(128) int box[32]; __shared__ u64 gate;
  box[threadIdx.x] = -1;
  init(&gate);
  if (threadIdx.x == 0) {
    expect(&gate, bytes);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(where(box)), "l"(x + offset), "r"(bytes), "r"(where(&gate)) : "memory");
  }
  if (waits) await(&gate, 0);
  __syncthreads();
  y[threadIdx.x] = box[threadIdx.x];
}
extern "C" __global__ void forgotten(int* y, const int* x) {
  __shared__ __align__(128) int box[32]; __shared__ u64 gate; __shared__ u64 other;
  init(&gate);
  init(&other);
  if (threadIdx.x == 0) {
    expect(&other, 128);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];"
                 :: "r"(where(box)), "l"(x), "r"(where(&other)) : "memory");
    await(&gate, 0);
  }
  y[threadIdx.x] = 1;
}
extern "C" __global__ void store(int* y, int* seen, int waits) {
  __shared__ __align__(128) int box[32];
  box[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" :: "l"(y), "r"(where(box)) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    if (waits == 1) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    if (waits == 2) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    if (waits == 3) asm volatile("cp.async.bulk.wait_group 1;" ::: "memory");
    seen[0] = *(volatile int*)(y + 5);
    box[6] = -6;
  }
}
extern "C" __global__ void reduce(const __grid_constant__ CUtensorMap map, int* y, int first) {
  __shared__ __align__(128) int box[8 * 8];
  box[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];"
                 :: "l"(&map), "r"(first), "r"(2), "r"(where(box)) : "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%0], [%1], 32;"
                 :: "l"(y), "r"(where(box + 8)) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) multicast(int* y, const int* x) {
  __shared__ __align__(128) int box[32]; __shared__ u64 gate;
  unsigned rank; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  init(&gate);
  if (threadIdx.x == 0) expect(&gate, 128);
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0 && rank == 1)
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1], 128, [%2], %3;"
                 :: "r"(where(box)), "l"(x), "r"(where(&gate)), "h"((short)3) : "memory");
  await(&gate, 0);
  y[32 * rank + threadIdx.x] = box[threadIdx.x];
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("bulk"), SOURCE)


def _tile(program: Running, start: tuple[int, int], box: tuple[int, int] = (8, 8), swizzle: str = "none") -> list[int]:
    x = program.put("x", np.arange(20 * 12, dtype=np.int32))
    y = program.put("y", np.zeros(64, np.int32))
    given = program.device.tensor_map(x, TensorMap("int32", (20, 12), (80,), box, (1, 1), swizzle=swizzle))
    program.launch("tile", 1, 64, given, y, np.int32(start[0]), np.int32(start[1]))
    return ints(y)


def test_a_tile_with_elements_outside(program: Running) -> None:
    wanted = np.zeros((8, 8), np.int32)
    wanted[:6, 4:] = np.arange(240).reshape(12, 20)[6:, :4]
    assert _tile(program, (-4, 6)) == wanted.ravel().tolist()


def test_a_tile_begins_at_a_multiple_of_16_bytes(program: Running) -> None:
    message = r"coordinate -3 of the fastest axis is byte -12: it must be a multiple of 16, thread \(0,0,0\)"
    with pytest.raises(KernelFault, match=message):
        _tile(program, (-3, 6))


def test_a_swizzled_tile(program: Running) -> None:
    rows = np.arange(240, dtype=np.int32).reshape(12, 20)[2:10, 4:12].reshape(16, 4)
    places = [chunk ^ (chunk >> 3 & 1) for chunk in range(16)]
    assert _tile(program, (4, 2), swizzle="32B") == rows[places].ravel().tolist()


def test_a_bulk_copy_arrives_when_it_is_waited_for(program: Running) -> None:
    x = program.put("x", np.arange(40, dtype=np.int32))
    y = program.put("y", np.zeros(32, np.int32))
    program.launch("bulk", 1, 32, y, x, np.int32(64), np.int32(4), np.int32(1))
    assert ints(y) == [*range(4, 20), *[-1] * 16]
    report = program.launch("bulk", 1, 32, y, x, np.int32(64), np.int32(4), np.int32(0))
    assert ints(y) == [-1] * 32
    assert report.counters == {"bulk copies to shared memory that no thread waited for": 1}


def test_a_wait_at_an_mbarrier_that_no_copy_signals_is_a_deadlock_after_few_tests(
    program: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests: list[int] = []
    arrive = BulkCopies.arrive

    def counted(copies: BulkCopies, barrier: int, waiter: int = 0) -> None:
        tests.append(barrier)
        arrive(copies, barrier, waiter)

    monkeypatch.setattr(BulkCopies, "arrive", counted)
    x, y = program.put("x", np.arange(32, dtype=np.int32)), program.put("y", np.zeros(32, np.int32))
    with pytest.raises(KernelFault, match="spins on gate") as caught:
        program.launch("forgotten", 1, 32, y, x)
    assert caught.value.kind == "deadlock"
    assert 0 < len(tests) < 100


@pytest.mark.parametrize(
    ("size", "offset", "message"),
    [
        (
            128,
            12,
            r"out-of-bounds read of 128 bytes at x\[12\] \(x has 40\), thread \(0,0,0\) of block \(0,0,0\), k.cu:3",
        ),
        (32, 1, r"misaligned read of 32 bytes at x\[1\] \(x has 40\)"),
        (144, 0, r"out-of-bounds write of 144 bytes at box\[0\] \(box has 128\)"),
        (24, 0, r"of 24 bytes: the size must be a multiple of 16, thread \(0,0,0\) of block \(0,0,0\), k.cu:3"),
    ],
)
def test_bulk_copies_are_checked(program: Running, size: int, offset: int, message: str) -> None:
    x, y = program.put("x", np.zeros(40, np.int32)), program.put("y", np.zeros(32, np.int32))
    with pytest.raises(KernelFault, match=message):
        program.launch("bulk", 1, 32, y, x, np.int32(size), np.int32(offset), np.int32(1))


@pytest.mark.parametrize(("waits", "seen", "sixth"), [(0, 0, -6), (1, 0, 6), (2, 5, 6), (3, 0, -6)])
def test_a_store_is_read_and_arrives_when_it_is_waited_for(program: Running, waits: int, seen: int, sixth: int) -> None:
    y, first = program.put("y", np.zeros(32, np.int32)), program.put("seen", np.zeros(1, np.int32))
    program.launch("store", 1, 32, y, first, np.int32(waits))
    assert ints(first) == [seen]
    assert ints(y) == [*range(6), sixth, *range(7, 32)]


def test_reductions_of_a_tile_and_of_bytes(program: Running) -> None:
    x, y = program.put("x", np.full(48, 1000, np.int32)), program.put("y", np.full(8, 11, np.int32))
    given = program.device.tensor_map(x, TensorMap("int32", (12, 4), (48,), (8, 8), (1, 1)))
    program.launch("reduce", 1, 64, given, y, np.int32(8))
    wanted = np.full((4, 12), 1000)
    wanted[2:, 8:] += np.arange(64).reshape(8, 8)[:2, :4]
    assert ints(x) == wanted.ravel().tolist()
    assert ints(y) == [11, 11, 11, 11, 12, 13, 14, 15]


def test_a_reduction_does_not_begin_in_front_of_the_tensor(program: Running) -> None:
    x, y = program.put("x", np.zeros(48, np.int32)), program.put("y", np.zeros(8, np.int32))
    given = program.device.tensor_map(x, TensorMap("int32", (12, 4), (48,), (8, 8), (1, 1)))
    message = r"coordinate 0 is -4: a box that is stored cannot begin in front of the tensor, thread \(0,0,0\)"
    with pytest.raises(KernelFault, match=message):
        program.launch("reduce", 1, 64, given, y, np.int32(-4))


def test_multicast_arrives_in_each_block(program: Running) -> None:
    x, y = program.put("x", np.arange(32, dtype=np.int32)), program.put("y", np.zeros(64, np.int32))
    program.launch("multicast", 2, 32, y, x)
    assert ints(y) == [*range(32), *range(32)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (bytes(128), r"there is no tensor map at address 0x\w+, thread \(0,0,0\) of block \(0,0,0\), k.cu:\d+"),
        (TensorMap("int32", (12,), (), (8,), (1,)), "the tensor map has 1 axes, the instruction 2"),
        (TensorMap("int32", (12, 4), (48,), (16, 8), (1, 1)), r"out-of-bounds write of 512 bytes at box\[0\]"),
    ],
)
def test_wrong_tensor_maps_are_faults(program: Running, given: TensorMap | bytes, message: str) -> None:
    x, y = program.put("x", np.zeros(48, np.int32)), program.put("y", np.zeros(64, np.int32))
    data = given if isinstance(given, bytes) else program.device.tensor_map(x, given)
    with pytest.raises(KernelFault, match=message):
        program.launch("tile", 1, 64, data, y, np.int32(0), np.int32(0))


_LOAD = "mbarrier::complete_tx::bytes"


@pytest.mark.parametrize(
    "instruction",
    [
        f"cp.async.bulk.tensor.2d.shared::cluster.global.{_LOAD} [%r0], [%rd0, {{%r1, %r2, %r3}}], [%r4]",
        f"cp.async.bulk.tensor.3d.shared::cluster.global.im2col.{_LOAD} [%r0], [%rd0, {{%r1, %r2, %r3}}], [%r4]",
        f"cp.async.bulk.shared::cluster.global.{_LOAD}.multicast::cluster [%r0], [%rd0], 16, [%r4]",
        f"cp.async.bulk.shared::cluster.global.{_LOAD}.L2::cache_hint [%r0], [%rd0], 16, [%r4]",
        "cp.async.bulk.wait_group %r0",
        f"st.async.shared::cluster.{_LOAD}.b16 [%r0], %rs0, [%r4]",
        f"red.async.relaxed.cluster.shared::cluster.{_LOAD}.min.u64 [%r0], %rd0, [%r4]",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 %rd0, [%r4]",
        "mbarrier.test_wait.parity.shared::cluster.b64 %p, [%r4], 0",
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd0], [%r0], 64",
        "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r0], -1",
        "setmaxnreg.inc.sync.aligned.u32 100",
        "setmaxnreg.dec.sync.aligned.u32 264",
        "griddepcontrol.launch",
        "wgmma.wait_group.sync.aligned %r0",
        "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32 {%r0, %r1}, {%r2}, {%r3}, {%r0, %r1}",
    ],
)
def test_forms_that_a_card_has_not_are_refused(instruction: str, tmp_path: Path) -> None:
    text = f""".version 8.7
.target sm_90a
.address_size 64
.visible .entry k()
{{
    .reg .pred %p; .reg .b16 %rs<2>; .reg .b32 %r<5>; .reg .b64 %rd<2>;
    {instruction};
    ret;
}}
"""
    with pytest.raises(
        UnsupportedError, match=rf"^{re.escape(instruction.split(maxsplit=1)[0])} at PTX line 7 is not supported"
    ):
        Running(tmp_path, text, "k", arch="sm_90a")

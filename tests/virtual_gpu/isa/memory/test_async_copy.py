from __future__ import annotations

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault
from tests.virtual_gpu.running import Running, ints

SOURCE = r"""
__device__ unsigned where(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void copies(int* y, const int4* x, int n) {
  __shared__ int4 box[32];
  int t = threadIdx.x;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(where(box + t)), "l"(x + t), "r"(n));
  asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  y[t] = box[31 - t].x + box[31 - t].y + box[31 - t].z + box[31 - t].w;
}
extern "C" __global__ void unclustered() {
  __shared__ int box; __shared__ unsigned long long gate;
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.s32 [%0], 1, [%1];"
               :: "r"(where(&box)), "r"(where(&gate)) : "memory");
}
// Each thread stores a pair of words and adds one to a sum.
extern "C" __global__ void __cluster_dims__(1, 1, 1) sent(int* y, int words, int waits) {
  __shared__ int2 box[32]; __shared__ int sum; __shared__ unsigned long long gate;
  int t = threadIdx.x;
  box[t] = make_int2(-1, -2);
  if (t == 0) {
    sum = 1000;
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(where(&gate)));
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 384;" :: "r"(where(&gate)));
  }
  __syncthreads();
  if (t < words) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.s32 [%0], {%1, %2}, [%3];"
                 :: "r"(where(box + t)), "r"(t), "r"(-t), "r"(where(&gate)) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.s32 [%0], %1, [%2];"
                 :: "r"(where(&sum)), "r"(-t), "r"(where(&gate)) : "memory");
  }
  if (waits)
    asm volatile("{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra WAIT; }"
                 :: "r"(where(&gate)) : "memory");
  __syncthreads();
  y[3 * t] = box[t].x; y[3 * t + 1] = box[t].y; y[3 * t + 2] = sum;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("async"), SOURCE)


@pytest.mark.parametrize("count", [16, 8, 4, 0])
def test_asynchronous_copies_with_zeros_for_the_rest(program: Running, count: int) -> None:
    x = np.arange(128, dtype=np.int32)
    y = program.put("y", np.zeros(32, np.int32))
    program.launch("copies", 1, 32, y, program.put("x", x), np.int32(count))
    rows = x.reshape(32, 4)[::-1, : count // 4]
    assert ints(y) == rows.sum(axis=1).tolist()


def test_asynchronous_copies_are_checked(program: Running) -> None:
    y, x = program.put("y", np.zeros(32, np.int32)), program.put("x", np.zeros(124, np.int32))
    with pytest.raises(KernelFault, match=r"read of 16 bytes at x\[124\] \(x has 124\), thread \(31,0,0\)"):
        program.launch("copies", 1, 32, y, x, np.int32(16))


def test_asynchronous_stores_arrive_when_they_are_waited_for(program: Running) -> None:
    y = program.put("y", np.zeros(96, np.int32))
    program.launch("sent", 1, 32, y, np.int32(32), np.int32(1))
    assert ints(y) == [item for t in range(32) for item in (t, -t, 1000 - 496)]
    report = program.launch("sent", 1, 32, y, np.int32(32), np.int32(0))
    assert ints(y) == [-1, -2, 1000] * 32
    assert report.counters == {"asynchronous stores that no thread waited for": 64}


def test_a_wait_for_more_stores_than_there_are_is_a_deadlock(program: Running) -> None:
    with pytest.raises(KernelFault) as caught:
        program.launch("sent", 1, 32, program.put("y", np.zeros(96, np.int32)), np.int32(31), np.int32(1))
    assert caught.value.kind == "deadlock"


def test_asynchronous_stores_need_a_launch_in_clusters(program: Running) -> None:
    message = r"^st\.async\.\S+: the launch has no clusters; __cluster_dims__\(1, 1, 1\).*k\.cu:\d+"
    with pytest.raises(KernelFault, match=message):
        program.launch("unclustered", 1, 1)

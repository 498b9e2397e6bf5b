from __future__ import annotations

import numpy as np
import pytest

from gpuregress.errors import KernelFault
from tests.devices.cpu.running import Running, ints

SOURCE = r"""
__device__ unsigned where(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void phases(int* y, int missing) {
  __shared__ unsigned long long gate; __shared__ int box[64];
  int t = threadIdx.x;
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(where(&gate)), "r"(64 + missing));
  __syncthreads();
  for (int round = 0; round < 3; ++round) {
    box[t] = 100 * round + t;
    unsigned long long token;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(where(&gate)) : "memory");
    asm volatile("{ .reg .pred p; WAIT: mbarrier.test_wait.shared.b64 p, [%0], %1; @!p bra WAIT; }"
                 :: "r"(where(&gate)), "l"(token) : "memory");
    y[64 * round + t] = box[63 - t];
    __syncthreads();
  }
}
extern "C" __global__ void bytes(int* y) {
  __shared__ unsigned long long gate;
  unsigned long long token; int done;
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(where(&gate)));
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 %0, [%1], 32;" : "=l"(token) : "r"(where(&gate)));
  for (int k = 0; k < 3; ++k) {
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.s32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(where(&gate)) : "memory");
    y[k] = done;
    asm volatile("mbarrier.complete_tx.shared.b64 [%0], 16;" :: "r"(where(&gate)) : "memory");
  }
}
extern "C" __global__ void copies(int* y, const int4* x, int n) {
  __shared__ int4 box[32];
  int t = threadIdx.x;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(where(box + t)), "l"(x + t), "r"(n));
  asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  y[t] = box[31 - t].x + box[31 - t].y + box[31 - t].z + box[31 - t].w;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("async"), SOURCE)


def test_phases_of_an_mbarrier(program: Running) -> None:
    y = program.put("y", np.zeros(192, np.int32))
    program.launch("phases", 2, 64, y, np.int32(0))
    assert ints(y) == [100 * turn + 63 - t for turn in range(3) for t in range(64)]


def test_an_mbarrier_counts_bytes_too(program: Running) -> None:
    y = program.put("y", np.zeros(3, np.int32))
    program.launch("bytes", 1, 1, y)
    assert ints(y) == [0, 0, 1]


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

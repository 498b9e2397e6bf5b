from __future__ import annotations

import numpy as np
import pytest

from tests.virtual_gpu.running import Running, ints

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
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("mbarrier"), SOURCE)


def test_phases_of_an_mbarrier(program: Running) -> None:
    y = program.put("y", np.zeros(192, np.int32))
    program.launch("phases", 2, 64, y, np.int32(0))
    assert ints(y) == [100 * turn + 63 - t for turn in range(3) for t in range(64)]


def test_an_mbarrier_counts_bytes_too(program: Running) -> None:
    y = program.put("y", np.zeros(3, np.int32))
    program.launch("bytes", 1, 1, y)
    assert ints(y) == [0, 0, 1]

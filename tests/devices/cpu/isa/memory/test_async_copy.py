from __future__ import annotations

import numpy as np
import pytest

from gpuregress.errors import KernelFault
from tests.devices.cpu.running import Running, ints

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

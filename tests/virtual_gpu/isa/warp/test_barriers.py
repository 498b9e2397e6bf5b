from __future__ import annotations

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault
from tests.virtual_gpu.running import Running, ints

SOURCE = """
extern "C" __global__ void reductions(int* y) {
  int t = threadIdx.x;
  y[t] = __syncthreads_count(t % 3 == 0); y[96 + t] = __syncthreads_or(t == 95) + 2 * __syncthreads_and(t < 95);
}
extern "C" __global__ void halves(int* y) {
  __shared__ int box[128]; int t = threadIdx.x;
  if (t < 64) { box[t] = t; asm volatile("barrier.sync 1, 64;" ::: "memory"); y[t] = box[63 - t]; }
  else { box[t] = t; asm volatile("barrier.sync 2, 64;" ::: "memory"); y[t] = box[191 - t]; }
}
extern "C" __global__ void produces(int* y) {
  __shared__ int box; int t = threadIdx.x;
  if (t < 32) { if (t == 0) box = 7; asm volatile("barrier.arrive 3, 64;" ::: "memory"); }
  else { asm volatile("barrier.sync 3, 64;" ::: "memory"); y[t - 32] = box; }
}
extern "C" __global__ void numbered(int* y, int number) { asm volatile("barrier.sync %0;" :: "r"(number)); y[0] = 1; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("barriers"), SOURCE)


def _run(program: Running, kernel: str, threads: int, count: int, *more: np.generic) -> list[int]:
    y = program.put("y", np.zeros(count, np.int32))
    program.launch(kernel, 1, threads, y, *more)
    return ints(y)


def test_a_barrier_counts_and_combines_predicates(program: Running) -> None:
    assert _run(program, "reductions", 96, 192) == [32] * 96 + [1] * 96


def test_named_barriers_join_parts_of_a_block(program: Running) -> None:
    assert _run(program, "halves", 128, 128) == [*range(63, -1, -1), *range(127, 63, -1)]


def test_threads_that_only_arrive_do_not_wait(program: Running) -> None:
    assert _run(program, "produces", 64, 32) == [7] * 32


def test_a_barrier_number_beyond_the_last_is_a_fault(program: Running) -> None:
    assert _run(program, "numbered", 32, 1, np.int32(15)) == [1]
    with pytest.raises(KernelFault, match="barrier"):
        _run(program, "numbered", 32, 1, np.int32(16))

"""Functions that stay calls: each call has a frame of its own, and cannot wait."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault, UnsupportedError
from tests.virtual_gpu.running import Running, ints

SOURCE = """
__device__ __noinline__ int count(int n)
{
    volatile int own[4];
    for (int i = 0; i < 4; ++i) own[i] = n + i;
    int below = n > 0 ? count(n - 1) : 0;
    return below + own[3] - n;
}
extern "C" __global__ void k(int* y, int n) { y[threadIdx.x] = count(n + threadIdx.x); }
"""
WAITING = """
__device__ __noinline__ int shuffled(int n)
{
    int below = n > 0 ? shuffled(n - 1) : 0;
    return __shfl_sync(~0u, below, 0);
}
extern "C" __global__ void k(int* y, int n) { y[threadIdx.x] = shuffled(n); }
"""


def test_each_call_has_local_memory_of_its_own(tmp_path: Path) -> None:
    program = Running(tmp_path, SOURCE)
    y = program.put("y", np.zeros(4, np.int32))
    program.launch("k", 1, 4, y, np.int32(10))
    assert ints(y) == [33, 36, 39, 42]


def test_too_many_calls_are_a_stack_overflow(tmp_path: Path) -> None:
    program = Running(tmp_path, SOURCE)
    y = program.put("y", np.zeros(1, np.int32))
    with pytest.raises(KernelFault, match="too many calls inside calls"):
        program.launch("k", 1, 1, y, np.int32(1 << 20))


def test_a_recursive_function_that_waits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"waits for other threads .* called recursively"):
        Running(tmp_path, WAITING)

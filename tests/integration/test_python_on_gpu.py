"""Kernels called from Python on a card: the bits of the CPU device, faults, and arrays of pycuda in GPU memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import gpuregress
from gpuregress.api import kernel

pytestmark = pytest.mark.gpu

SOURCE = """\
__constant__ float scale;
extern "C" __global__ void axpy(float *y, const float *x, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += scale * a * x[i];
}
extern "C" __global__ void beyond(int *y, int at) { y[at] = 1; }
extern "C" __global__ void ranks(unsigned *y) { asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(y[blockIdx.x])); }
"""


@pytest.fixture(scope="module", autouse=True)
def _processes() -> Iterator[None]:
    yield
    kernel.close()


def test_a_card_stores_the_bits_of_the_cpu_device() -> None:
    x = np.linspace(0, 1, 1000, dtype=np.float32)
    results = []
    for device in ("cpu", "cuda"):
        y = x[::-1].copy()
        axpy = gpuregress.Kernel(SOURCE, "axpy", device=device)
        axpy(4, 256, y, x, 1 / 3, 1000, constants={"scale": np.float32(0.7)})
        results.append(y)
    assert results[0].tobytes() == results[1].tobytes()


def test_a_fault_ends_only_its_launch() -> None:
    y = np.zeros(8, np.int32)
    beyond = gpuregress.Kernel(SOURCE, "beyond", device="cuda")
    for at in (8, 1 << 30):
        with pytest.raises(gpuregress.KernelFault):
            beyond(1, 1, y, at)
    beyond(1, 1, y, 3)
    assert y.tolist() == [0, 0, 0, 1, 0, 0, 0, 0]


def test_a_cluster_is_given_by_the_call() -> None:
    y = np.zeros(4, np.uint32)
    gpuregress.Kernel(SOURCE, "ranks", device="cuda", arch="sm_90")(4, 1, y, cluster=2)
    assert y.tolist() == [0, 1, 0, 1]


IN_PLACE = """\
import sys
import numpy as np
import pycuda.autoprimaryctx
from pycuda import gpuarray
import gpuregress
x, y = gpuarray.to_gpu(np.arange(100, dtype=np.float32)), gpuarray.to_gpu(np.ones(100, np.float32))
axpy = gpuregress.Kernel(sys.argv[1], "axpy", device=sys.argv[2])
axpy(1, 128, y, x, 2.0, 100, constants={"scale": np.float32(1)})
assert np.array_equal(y.get(), 1 + 2 * np.arange(100, dtype=np.float32)), y
"""


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_arrays_in_the_memory_of_a_gpu_are_updated_in_place(device: str) -> None:
    command = [sys.executable, "-c", IN_PLACE, SOURCE, device]  # pycuda's context is that of a process of its own
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr

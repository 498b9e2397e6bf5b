"""What CUDA's headers reach when they are compiled for debugging, and what C++ reaches through them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.records import LaunchShape, Source
from gpuregress.toolchain import cache, programs
from gpuregress.virtual_gpu.device import CpuDevice
from tests.virtual_gpu.running import Running, ints

SPACES = """
__constant__ int table[4] = {1, 2, 3, 4};
__device__ int variable;
extern "C" __global__ void spaces(int* y)
{
    __shared__ int s;
    int l = 0;
    const void* places[] = {y, &variable, table, table + 3, &s, &l};
    for (int i = 0; i < 6; ++i) y[i] = __isConstant(places[y[i]]);  // unknown to the compiler
}
"""


def test_only_constant_variables_lie_in_constant_memory(tmp_path: Path) -> None:
    running = Running(tmp_path, SPACES, "spaces")
    y = running.put("y", np.arange(6, dtype=np.int32))
    running.launch("spaces", 1, 1, y)
    assert ints(y) == [0, 0, 1, 1, 0, 0]


ALIGNED = """
struct alignas(256) Wide { int v[64]; };
extern "C" __global__ void wide(int* y)
{
    Wide* p = new Wide;
    p->v[63] = 5;
    y[0] = p->v[63];
    y[1] = (unsigned long long)p % 256;
    delete p;
    y[2] = 1;
    delete p;
}
"""


def test_new_of_an_aligned_type_gives_what_delete_takes(tmp_path: Path) -> None:
    running = Running(tmp_path, ALIGNED, "wide")
    y = running.put("y", np.full(3, 7, np.int32))
    with pytest.raises(Exception, match="which is free already"):
        running.launch("wide", 1, 1, y)
    assert ints(y) == [5, 0, 1]


PIPELINES = """
#include <cuda_pipeline.h>
extern "C" __global__ void primitives(const int* x, int* y)
{
    __shared__ alignas(16) int s[128], u[128];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[4 * t], x + 4 * t, 16);
    __pipeline_memcpy_async(&u[4 * t], x + 4 * t, 16, 8);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    y[t] = s[4 * t + 3] + u[4 * t] + u[4 * t + 2];
}
"""

GROUPS = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
namespace cg = cooperative_groups;
extern "C" __global__ void primitives(const int* x, int* y)
{
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    y[threadIdx.x] = cg::reduce(tile, x[threadIdx.x], cg::plus<int>());
    cuda::atomic_ref<int, cuda::thread_scope_block> last(y[32]);
    last.fetch_max(x[threadIdx.x]);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("source", [PIPELINES, GROUPS], ids=["pipelines", "groups"])
def test_a_debug_build_gives_what_the_optimised_one_gives(source: str, tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(source)
    stored = [_stored(Source(str(path), options=options, kernels=("primitives",))) for options in ((), ("-G",))]
    assert stored[0] == stored[1]
    assert any(stored[0])


def _stored(source: Source) -> bytes:
    with CpuDevice(cache) as device:
        program = programs.compile(source)
        module = device.load(program, 32)
        given, written = (device.allocate(name, 4 * 256, itemsize=4) for name in "xy")
        given.write(np.arange(256, dtype=np.int32).view(np.uint8))
        written.write(np.zeros(4 * 256, np.uint8))
        arguments = tuple(region.address.to_bytes(8, "little") for region in (given, written))
        device.launch(module, program.entries["primitives"].mangled, LaunchShape((1, 1, 1), (32, 1, 1)), arguments)
        return written.read().tobytes()

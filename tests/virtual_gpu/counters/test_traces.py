"""Traces of kernels: costs that are known by hand, in every kind of schedule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gpuregress.foundation.records import Costs, Instruments, LaunchShape
from gpuregress.gpu.instruments import total
from gpuregress.toolchain import cache
from gpuregress.virtual_gpu.counters import traces
from gpuregress.virtual_gpu.device import CpuDevice
from tests.devices.bench import as_bytes
from tests.virtual_gpu.analysis.kernels import instruction
from tests.virtual_gpu.running import compile_text

SOURCE = r"""
extern "C" __global__ void stride(float* o, const float* x, int s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i * s];
    o[i] = v;
}
extern "C" __global__ void banks(float* o, const float* x, int s) {
    __shared__ float t[64 * 33];
    int i = threadIdx.x;
    if (s > 0) {
        t[i * s] = i;
        __syncthreads();
    }
    float a = 0;
#pragma unroll 1
    for (int k = 0; k <= i % 4; k++)
        a += t[i * s + k];
    atomicAdd(&o[i / 8], a);
}
extern "C" __global__ void nested(float* o, const float* x, int s) {
    float a = 0;
#pragma unroll 1
    for (int j = 0; j < 2; j++)
#pragma unroll 1
        for (int k = 0; k < 1 + 2 * ((threadIdx.x + j) % 2); k++)
            a += x[k];
    o[threadIdx.x] = __shfl_xor_sync(~0u, a, 1);
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) mapped(float* o, const float* x, int other) {
    __shared__ unsigned t[64];
    unsigned rank, own = (unsigned)__cvta_generic_to_shared(t), there;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank ^ other));
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    asm volatile("red.shared::cluster.add.u32 [%0], 1;" :: "r"(there) : "memory");
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    o[threadIdx.x] = t[0];
}
"""
LINES = {text.strip(): number for number, text in enumerate(SOURCE.splitlines(), 1)}
Counts = Callable[[str], dict[str, int]]


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Costs]:
    program = compile_text(tmp_path_factory.mktemp("k"), SOURCE, "stride", "banks", "nested", "mapped")
    found: dict[str, Costs] = {}
    for kernel, step, blocks in (("stride", 8, 2), ("banks", 32, 1), ("nested", 0, 1), ("mapped", 1, 2)):
        device = CpuDevice(cache)
        device.instrument(Instruments(costs=True))
        module = device.load(program, 1, [program.entries[kernel].mangled])
        buffers = [device.allocate(name, 1 << 14) for name in "ox"]
        for buffer in buffers:
            buffer.write(as_bytes(np.zeros(1 << 12, np.float32)))
        arguments = (*(one.address.to_bytes(8, "little") for one in buffers), step.to_bytes(4, "little"))
        shape = LaunchShape((blocks, 1, 1), (64, 1, 1), 0)
        reports = [device.launch(module, kernel, shape, arguments) for _ in range(2)]
        assert reports[0].costs == reports[1].costs
        assert reports[0].costs is not None
        assert total(reports[0].costs.instructions)["thread_instructions"] == reports[0].instructions
        found[kernel] = reports[0].costs
        device.free_all()
    return found


def _line(costs: Costs, text: str) -> dict[str, int]:
    return total(item for item in costs.instructions if item.line == LINES[text])


def test_another_blocks_shared_memory_has_requests_of_its_own(costs: dict[str, Costs]) -> None:
    counts = total(item for item in costs["mapped"].instructions if item.mnemonic.startswith("red."))
    assert (counts["requests.cluster"], counts["atomic_conflicts"]) == (4, 124)
    assert not {"requests.shared", "bank_conflicts", "sectors"} & counts.keys()


def test_sectors_follow_the_stride(costs: dict[str, Costs]) -> None:
    read, write = (_line(costs["stride"], text) for text in ("float v = x[i * s];", "o[i] = v;"))
    assert (read["requests"], read["sectors"], read["bytes"]) == (4, 128, 512)
    assert (write["requests"], write["sectors"]) == (4, 16)


def test_bank_conflicts_and_contention(costs: dict[str, Costs]) -> None:
    assert _line(costs["banks"], "t[i * s] = i;")["bank_conflicts"] == 2 * 31
    atomics = _line(costs["banks"], "atomicAdd(&o[i / 8], a);")
    assert (atomics["requests"], atomics["sectors"], atomics["atomic_conflicts"]) == (2, 2, 56)
    assert costs["banks"].contention == {"": 8}
    assert _line(costs["banks"], "__syncthreads();")["barriers"] == 2


def test_a_loop_of_different_lengths_diverges_at_its_end(costs: dict[str, Costs]) -> None:
    (branch,) = [
        item
        for item in costs["banks"].instructions
        if item.counts.get("divergent_branches") and item.line == LINES["for (int k = 0; k <= i % 4; k++)"]
    ]
    assert (branch.counts["branches"], branch.counts["divergent_branches"]) == (8, 6)
    loads = _line(costs["banks"], "a += t[i * s + k];")
    assert loads["requests.shared"] == 2 * 4


def test_iterations_of_nested_loops_are_kept_apart(costs: dict[str, Costs]) -> None:
    loads = _line(costs["nested"], "a += x[k];")
    # Each outer iteration takes three of the inner one: the lanes with one wait for those with three.
    assert loads["requests"] == 2 * 2 * 3
    assert loads["thread_instructions"] % (64 * 4) == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], %r3;", "sectors of bulk copies"),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1}, [%rd1], %r2;", "accesses of wmma.load and wmma.store"),
        ("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];", "accesses of textures and surfaces"),
        ("ld.global.u32 %r1, [%rd1];", ""),
    ],
)
def test_what_is_not_counted_of_an_instruction(text: str, told: str) -> None:
    item = instruction(text)
    assert traces._uncounted(item) == told
    assert traces.source_places(item) == (("", item.ptx_line, 0),)

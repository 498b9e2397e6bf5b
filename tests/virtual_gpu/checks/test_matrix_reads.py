"""Reads of wgmma: each check reports what it is asked for, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from tests.checks.planted import detection
from tests.virtual_gpu.running import Running

NAMES = ("warpgroups_operand", "warpgroups_proxy", "warpgroups_overwritten", "warpgroups_unwritten")
_UNFENCED = r"""
#define SHARED(p) ((unsigned)__cvta_generic_to_shared(p))
#define DESCRIPTOR(p) ((unsigned long long)(SHARED(p) >> 4) | 8ull << 16 | 16ull << 32)
extern "C" __global__ void product(const int* x, float* y, int* sum)
{
    __shared__ __align__(128) int words[512 + 64]; // 64 x 16 and 16 x 8 halves, in core matrices of 8 x 16 bytes
    int t = threadIdx.x;
    for (int i = t; i < (512 + 64) / 4; i += 128)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :: "r"(SHARED(words + 4 * i)), "l"(x + 4 * i) : "memory");
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    int v = t < 64 ? t : words[FIRST + t - 64]; // read
    float d[4] = {};
    asm volatile("{.reg .pred p; setp.ne.b32 p, 0, 0; wgmma.fence.sync.aligned;"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;"
                 "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(DESCRIPTOR(words)), "l"(DESCRIPTOR(words + 512))
                 : "memory");
    BARRIER
    if (t < 64) words[FIRST + t] = v; // write
    __syncthreads();
    y[t] = d[0] + d[1] + d[2] + d[3] + words[127 - t];
    ADD
}"""


@pytest.mark.parametrize(("check", "found"), [("races", NAMES[:3]), ("uninitialized", NAMES[3:])])
def test_what_each_check_finds(check: str, found: tuple[str, ...]) -> None:
    said = detection.run("warpgroups", planted=True, names=NAMES, checks=(check,))
    assert tuple(pair.name for pair, findings in said if findings) == found


@pytest.mark.parametrize(("add", "first"), [("", 0), ("atomicAdd(sum, t);", 512)])
def test_a_program_without_fences_and_mbarriers(tmp_path_factory: pytest.TempPathFactory, add: str, first: int) -> None:
    """Other readers stay beside those of a product, with no wait but the barriers of all threads.

    All warps read the second matrix (from word 512), one of them the first: there a thread reads itself what it reads
    for its warp, too.
    """
    for barrier in ("__syncthreads();", ""):
        text = _UNFENCED.replace("BARRIER", barrier).replace("ADD", add).replace("FIRST", str(first))
        running = Running(tmp_path_factory.mktemp("unfenced"), text, arch="sm_90a", is_small=True, checks=("races",))
        x = running.put("x", np.zeros(1024, np.int32))
        y, total = running.put("y", np.zeros(128, np.float32)), running.put("sum", np.zeros(1, np.int32))
        found = running.launch("product", 1, 128, x, y, total).findings
        assert [(one.kind, one.count) for one in found] == [("race", 64)] * (not barrier)
        assert all("read by thread (64,0,0)" in one.message and f"words[{first}]" in one.message for one in found)

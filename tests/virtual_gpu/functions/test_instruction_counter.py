"""Counts of executed instructions, which no schedule may change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuregress.gpu.base import LaunchReport
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu import module
from gpuregress.virtual_gpu.compilation import kernel
from gpuregress.virtual_gpu.compilation.object_cache import compiled
from gpuregress.virtual_gpu.compilation.translate import compile_module
from gpuregress.virtual_gpu.parallel import cores
from gpuregress.virtual_gpu.runtime.program import CompiledModule, Schedule
from tests.virtual_gpu.running import Running

COUNTED = """.version 8.0
.target sm_90
.address_size 64
.visible .entry counted(.param .u32 n) {
    .reg .pred %p<3>; .reg .b32 %r<5>;
    mov.u32 %r1, %tid.x;
    ld.param.u32 %r2, [n];
    setp.lt.u32 %p1, %r1, 2;
    @%p1 add.u32 %r1, %r1, 1;
    mov.u32 %r3, 0;
LOOP:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, %r2;
    @%p2 bra LOOP;
    bar.sync 0;
    @!%p1 exit;
    mov.u32 %r4, 1;
    ret;
}
"""

SOURCE = r"""
extern "C" __global__ void waits(int* o)
{
    __shared__ int t[64];
    int i = threadIdx.x;
    t[i] = i;
    __syncthreads();
    if (i % 2) o[i] = t[63 - i];
    __syncthreads();
    o[i] += __shfl_xor_sync(~0u, t[i], 1);
}
extern "C" __global__ void apart(int* o)
{
    int i = threadIdx.x;
    if (i == 20) return;
    if (i < 17) for (int k = 0; k < i; ++k) o[i] += __shfl_down_sync(__activemask(), k, 1);
}
extern "C" __global__ void rows(int* o, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) o[i] = 3 * i;
}
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void calls(int* o) { o[threadIdx.x] = fibonacci(threadIdx.x % 8); }
extern "C" __global__ void spins(volatile int* o, int n)
{
    if (threadIdx.x == 0) { for (int k = 0; k < n; ++k) o[2] = k; o[0] = 1; }
    else
        while (o[0] == 0) {}
}
"""
_NUMBER = np.int32(1 << 15)


def test_the_count_is_that_of_the_listing(tmp_path: Path) -> None:
    """A thread executes 5 instructions, 3 in each iteration, the barrier, the exit, and 2 more where it goes on."""
    program = Running(tmp_path, COUNTED)
    report = program.launch("counted", 3, 4, np.uint32(10))
    assert report.instructions == 3 * (4 * (5 + 3 * 10 + 2) + 2 * 2)
    assert program.launch("counted", 1, 4, np.uint32(11)).instructions == 4 * (5 + 3 * 11 + 2) + 2 * 2


def _launches(folder: Path) -> dict[str, LaunchReport]:
    program = Running(folder, SOURCE)
    o = program.put("o", np.zeros(int(_NUMBER), np.int32))
    flag = program.put("flag", np.zeros(4, np.int32))
    return {
        "waits": program.launch("waits", 2, 64, o),
        "apart": program.launch("apart", 1, 64, o),
        "rows": program.launch("rows", 256, 128, o, _NUMBER),
        "rows again": program.launch("rows", 256, 128, o, _NUMBER - 100),
        "rows once more": program.launch("rows", 256, 128, o, _NUMBER - 100),
        "calls": program.launch("calls", 1, 16, o),
        "spins": program.launch("spins", 1, 64, flag, np.int32(5)),
    }


@pytest.mark.parametrize("changed", [{"last_first": True}, {"proven_rows": False}, {"is_optimised": False}])
def test_no_schedule_changes_the_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any]
) -> None:
    usual = {name: report.instructions for name, report in _launches(tmp_path).items()}
    assert all(usual.values())

    def build(text: str, kernels: Sequence[str], schedule: Schedule | None = None, **options: Any) -> CompiledModule:
        return compiled(text, kernels, replace(schedule or Schedule(), **changed), **options)

    monkeypatch.setattr(module, "compiled", build)
    assert {name: report.instructions for name, report in _launches(tmp_path).items()} == usual


def test_neither_cores_nor_passes_change_the_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cores.VARIABLE, "1")
    usual = {name: report.instructions for name, report in _launches(tmp_path).items()}
    monkeypatch.setenv(cores.VARIABLE, "2")
    assert {name: report.instructions for name, report in _launches(tmp_path).items()} == usual
    monkeypatch.setattr(kernel, "LOCKSTEP", False)
    monkeypatch.setattr(
        module, "compiled", lambda *arguments, **_options: compile_module(*arguments)
    )  # the cache knows nothing of that
    assert {name: report.instructions for name, report in _launches(tmp_path).items()} == usual


def test_a_loop_that_waits_for_other_threads_is_left_out_and_named(tmp_path: Path) -> None:
    program = Running(tmp_path, SOURCE)
    reports = [
        program.launch("spins", 1, 64, program.put("flag", np.zeros(4, np.int32)), np.int32(n)) for n in (5, 105)
    ]
    assert all(report.uncounted == ("k.cu:29",) for report in reports)
    first, second = (report.instructions for report in reports)
    assert first is not None
    assert second is not None
    assert 100 <= second - first <= 1000, "thread 0 alone has more to do; how often the others look does not count"
    assert program.launch("calls", 1, 1, program.put("o", np.zeros(1, np.int32))).uncounted == ()


def test_a_program_that_does_not_count_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        module, "compiled", lambda text, kernels, _, **_options: compiled(text, kernels, Schedule(counts=False))
    )
    program = Running(tmp_path, SOURCE)
    assert program.launch("calls", 1, 1, program.put("o", np.zeros(1, np.int32))).instructions is None

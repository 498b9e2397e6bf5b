"""Probes: exact counts of lines, branches, guards, loops and bounds, in every kind of schedule."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.foundation.records import Coverage, FileCoverage, Instruments, LaunchShape
from gpuregress.toolchain import cache
from gpuregress.virtual_gpu.device import CpuDevice
from tests.devices.bench import as_bytes
from tests.virtual_gpu.running import compile_text

SOURCE = r"""
__device__ __noinline__ int twice(int v) {
    int s = 0;
    while (v > 0) { s += 2; v -= 1; }
    return s;
}
extern "C" __global__ void plain(int* o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        o[i] = i;
    asm volatile(".reg .pred guarded; setp.gt.s32 guarded, %0, 100;" ::"r"(n));
    asm volatile("@guarded st.u32 [%0], 1;" ::"l"(o));
}
extern "C" __global__ void waits(int* o, int n) {
    __shared__ int t[64];
    t[threadIdx.x] = threadIdx.x;
    if (n < 100)
        __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            t[threadIdx.x] += t[threadIdx.x + half];
    }
    if (n > 100)
        o[1] = 1;
    if (threadIdx.x == 0)
        o[0] = t[0];
}
extern "C" __global__ void apart(int* o, int n) {
    int v = o[threadIdx.x];
#pragma unroll 1
    for (int k = 0; k < (int)threadIdx.x % 4; ++k)
        v += __shfl_xor_sync(__activemask(), v, 1);
    o[threadIdx.x] = v + twice(n);
}
#define BOTH(a, b) if (a) o[0] = 1; if (b) o[1] = 2
#define TWO(n, m) for (int k = 0; k < (n); k++) s ^= o[k] + s; for (int k = 0; k < (m); k++) s += o[k] & s
extern "C" __global__ void loops(int* o, int n, int m) {
    int s = 1;
    TWO(n, m);
    o[127] = s;
}
extern "C" __global__ void search(int* o, int n) {
    int i = 0;
    while (i < n && o[i] != 77) i++;
    o[100] = i;
}
extern "C" __global__ void lines(int* o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    BOTH(i < n, i > 5000);
    for (int k = 0; k < n; k++) if (o[k] > 1000) { o[i] = k; __threadfence(); }
}
"""
LINES = {text.strip(): number for number, text in enumerate(SOURCE.splitlines(), 1)}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FileCoverage]:
    found: dict[str, FileCoverage] = {}
    program = compile_text(tmp_path_factory.mktemp("k"), SOURCE, "plain", "waits", "apart", "lines", "loops", "search")
    for kernel, grid in (("plain", 2), ("waits", 1), ("apart", 1), ("lines", 2), ("loops", 1), ("search", 1)):
        device = CpuDevice(cache)
        device.instrument(Instruments(coverage=True))
        module = device.load(program, 1, [program.entries[kernel].mangled])
        out = device.allocate("o", 4 * 128)
        out.write(as_bytes(np.zeros(128, np.int32)))
        arguments: tuple[bytes, ...] = (out.address.to_bytes(8, "little"), (70).to_bytes(4, "little"))
        arguments += ((0).to_bytes(4, "little"),) * (kernel == "loops")
        report = device.launch(module, kernel, LaunchShape((grid, 1, 1), (64, 1, 1), 0), arguments)
        assert isinstance(report.coverage, Coverage)
        (found[kernel],) = report.coverage.files
        again = device.launch(module, kernel, LaunchShape((grid, 1, 1), (64, 1, 1), 0), arguments)
        assert again.coverage == report.coverage
        device.free_all()
    return found


def _line(seen: FileCoverage, text: str) -> int:
    return dict(seen.lines)[LINES[text]]


def test_lines_count_their_threads(seen: dict[str, FileCoverage]) -> None:
    assert _line(seen["plain"], "if (i < n)") == 128
    assert _line(seen["plain"], "o[i] = i;") == 70
    assert _line(seen["waits"], "t[threadIdx.x] += t[threadIdx.x + half];") == 63
    assert _line(seen["waits"], "o[1] = 1;") == 0
    assert LINES["__shared__ int t[64];"] not in dict(seen["waits"].lines)


def test_a_line_of_guarded_instructions_is_executed_where_a_guard_was_true(
    seen: dict[str, FileCoverage],
) -> None:
    assert _line(seen["plain"], 'asm volatile("@guarded st.u32 [%0], 1;" ::"l"(o));') == 0


def test_branches_count_both_sides(seen: dict[str, FileCoverage]) -> None:
    (branch,) = [one for one in seen["plain"].branches if one.line == LINES["if (i < n)"]]
    assert sorted(branch.sides) == [58, 70]
    (waited,) = [one for one in seen["waits"].branches if one.line == LINES["if (n < 100)"]]
    assert sorted(waited.sides) == [0, 64]
    (never,) = [one for one in seen["waits"].branches if one.line == LINES["if (n > 100)"]]
    assert sorted(never.sides) == [0, 64]


def test_loops_count_their_iterations_across_waits(seen: dict[str, FileCoverage]) -> None:
    (loop,) = seen["waits"].loops
    assert (loop.line, loop.once, loop.many) == (LINES["for (int half = blockDim.x / 2; half > 0; half /= 2) {"], 0, 64)
    (inner,) = [one for one in seen["apart"].loops if one.line > 20]
    assert (inner.zero, inner.once, inner.many) == (16, 16, 32)
    called = [one for one in seen["apart"].loops if one.line < 10]
    assert sum(one.many for one in called) >= 64


def test_bounds_count_the_values_next_to_the_limit(seen: dict[str, FileCoverage]) -> None:
    (bound,) = seen["plain"].bounds
    assert (bound.index, bound.limit, bound.below, bound.equal) == ("blockIdx.x threadIdx.x", "args[1]", 1, 1)
    assert bound.edges == (
        ("index (blockIdx.x, threadIdx.x) = args[1] - 1", 1),
        ("index (blockIdx.x, threadIdx.x) = args[1]", 1),
    )


def _sides(seen: FileCoverage, text: str) -> set[tuple[int, int, bool]]:
    found = [one for one in seen.branches if one.line == LINES[text]]
    return {(min(one.sides), max(one.sides), one.is_inside) for one in found}


def test_each_condition_of_a_line_counts_apart(seen: dict[str, FileCoverage]) -> None:
    assert _sides(seen["lines"], "BOTH(i < n, i > 5000);") == {(58, 70, False), (0, 128, False)}


def test_a_branch_in_a_loop_of_its_line_is_apart_from_those_of_the_loop(seen: dict[str, FileCoverage]) -> None:
    text = "for (int k = 0; k < n; k++) if (o[k] > 1000) { o[i] = k; __threadfence(); }"
    assert {one for one in _sides(seen["lines"], text) if one[2]} == {(0, 128 * 70, True)}


def test_loops_of_a_line_with_other_limits_count_apart(seen: dict[str, FileCoverage]) -> None:
    found = {one.number: one.once + one.many for one in seen["loops"].loops if one.line == LINES["TWO(n, m);"]}
    assert found.keys() == {0, 1}
    assert (found[0] > 0, found[1]) == (True, 0)


def test_a_second_way_out_of_a_loop_is_a_branch_of_its_own(seen: dict[str, FileCoverage]) -> None:
    assert {one for one in _sides(seen["search"], "while (i < n && o[i] != 77) i++;") if one[2]} == {(0, 64 * 70, True)}

"""The CPU device against PoCL, which people use to run kernels on CPUs, on one core; the same kernels in OpenCL C.

PoCL checks no access. It and pyopencl are installed by `apt-get install pocl-opencl-icd` and `pip install pyopencl`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import axpy, histogram, matmul, reduction, saxpy
from benchmarks.rows import Row, missing

SOURCE = """
kernel void saxpy(int n, float a, global const float* x, global float* y) {
    const int i = get_global_id(0);
    if (i < n) y[i] = a * x[i] + y[i];
}
kernel void axpy(int n, float a, global const float* restrict x, global float* restrict y) {
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) y[i] = fma(a, x[i], y[i]);
}
kernel void matmul(global float* c, global const float* a, global const float* b, int m, int n, int k) {
    local float a_tile[TILE][TILE];
    local float b_tile[TILE][TILE];
    const int tx = get_local_id(0), ty = get_local_id(1);
    const int row = get_group_id(1) * TILE + ty, column = get_group_id(0) * TILE + tx;
    float sum = 0.0f;
    for (int start = 0; start < k; start += TILE) {
        const int a_column = start + tx, b_row = start + ty;
        a_tile[ty][tx] = row < m && a_column < k ? a[row * k + a_column] : 0.0f;
        b_tile[ty][tx] = b_row < k && column < n ? b[b_row * n + column] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < TILE; ++i) sum = fma(a_tile[ty][i], b_tile[i][tx], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
kernel void block_sum(global float* sum, global const float* x, int n, local float* partial) {
    const int i = get_global_id(0), t = get_local_id(0);
    partial[t] = i < n ? x[i] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_ = get_local_size(0) / 2; half_ > 0; half_ /= 2) {
        if (t < half_) partial[t] += partial[t + half_];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0) sum[get_group_id(0)] = partial[0];
}
kernel void histogram(global uint* counts, global const uchar* data, int n, int bins, local uint* local_counts) {
    for (int bin = get_local_id(0); bin < bins; bin += get_local_size(0)) local_counts[bin] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) atomic_add(&local_counts[data[i]], 1u);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int bin = get_local_id(0); bin < bins; bin += get_local_size(0))
        if (local_counts[bin] != 0) atomic_add(&counts[bin], local_counts[bin]);
}
"""
_TIMEOUT_S = 300


def measure() -> list[Row]:
    names = ("saxpy", "grid-stride axpy", "matmul", "tree reduction", "histogram")
    environment = {**os.environ, "POCL_MAX_PTHREAD_COUNT": "1", "POCL_AFFINITY": "0"}
    command = [sys.executable, "-m", "benchmarks.pocl"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or ["it failed"])[-1]
        return [missing(f"{name} against PoCL", why) for name in names]
    peers: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    ours = {
        "saxpy": saxpy.elements_per_second(),
        "grid-stride axpy": axpy.elements_per_second(),
        "matmul": matmul.operations_per_second(),
        "tree reduction": reduction.elements_per_second(),
        "histogram": histogram.elements_per_second(),
    }
    return [
        Row(
            f"{name} against PoCL, one core",
            f"{ours[name] / 1e6:,.0f} M/s",
            f"PoCL, no checks: {peers[name] / 1e6:,.0f} M/s",
            ours[name] / peers[name],
            1,
        )
        for name in names
    ]


def peers() -> dict[str, float]:
    """Elements (of the matrix product: floating-point operations) per second of PoCL; its results are checked."""
    try:
        import pyopencl as cl  # noqa: PLC0415 - it is not required
    except ImportError:
        sys.exit("pyopencl is not installed: pip install pyopencl")
    devices = [device for item in cl.get_platforms() if "Portable" in item.name for device in item.get_devices()]
    if not devices:
        sys.exit("PoCL is not installed: apt-get install pocl-opencl-icd")
    run = _Runner(cl, devices[0])
    ones = np.full(saxpy.N, 1.5, np.float32), np.full(saxpy.N, 2.0, np.float32)
    answers = {}
    for name, kernel, threads in (
        ("saxpy", "saxpy", saxpy.N),
        ("grid-stride axpy", "axpy", axpy.BLOCKS * 256),
    ):
        seconds, held = run(kernel, (threads,), (256,), np.int32(saxpy.N), np.float32(2.5), *ones)
        assert np.all(held[-1] == 5.75)
        answers[name] = saxpy.N / seconds
    size = matmul.N
    a, b = np.random.default_rng(1).integers(-3, 4, (2, size, size)).astype(np.float32)
    sides = (np.int32(size),) * 3
    seconds, held = run("matmul", (size, size), (matmul.TILE,) * 2, np.zeros_like(a), a, b, *sides)
    assert np.array_equal(held[0], a @ b)
    answers["matmul"] = 2 * size**3 / seconds
    block, count = reduction.BLOCK, reduction.N
    sums, x = np.zeros(count // block, np.float32), np.ones(count, np.float32)
    seconds, held = run("block_sum", (count,), (block,), sums, x, np.int32(count), cl.LocalMemory(4 * block))
    assert np.all(held[0] == block)
    answers["tree reduction"] = count / seconds
    data = np.random.default_rng(1).integers(0, 256, histogram.N, np.uint8)
    arguments = (np.zeros(256, np.uint32), data, np.int32(histogram.N), np.int32(256), cl.LocalMemory(4 * 256))
    seconds, held = run("histogram", (64 * 256,), (256,), *arguments)
    assert np.array_equal(held[0], np.bincount(data, minlength=256))
    answers["histogram"] = histogram.N / seconds
    return answers


class _Runner:
    """Runs kernels of `SOURCE` on a device; the best time of 15 runs counts."""

    def __init__(self, cl: Any, device: Any) -> None:
        self._cl, self._context = cl, cl.Context([device])
        profiling = cl.command_queue_properties.PROFILING_ENABLE
        self._queue = cl.CommandQueue(self._context, properties=profiling)
        self._program = cl.Program(self._context, SOURCE).build([f"-DTILE={matmul.TILE}"])

    def __call__(
        self, name: str, threads: tuple[int, ...], block: tuple[int, ...], *arguments: Any, repeats: int = 15
    ) -> tuple[float, list[Any]]:
        cl = self._cl
        arrays = [item for item in arguments if isinstance(item, np.ndarray)]
        memories = [cl.Buffer(self._context, cl.mem_flags.READ_WRITE, item.nbytes) for item in arrays]
        queued = iter(memories)
        passed = [next(queued) if isinstance(item, np.ndarray) else item for item in arguments]
        kernel: Callable[..., Any] = getattr(self._program, name)
        times = []
        for _ in range(repeats + 1):
            for memory, array in zip(memories, arrays, strict=True):
                cl.enqueue_copy(self._queue, memory, array)
            event = kernel(self._queue, threads, block, *passed)
            event.wait()
            times.append(1e-9 * (event.profile.end - event.profile.start))
        held = [np.empty_like(item) for item in arrays]
        for memory, array in zip(memories, held, strict=True):
            cl.enqueue_copy(self._queue, array, memory)
        return min(times[1:]), held


if __name__ == "__main__":
    print(json.dumps(peers()))

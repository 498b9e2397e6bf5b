"""The tiled matrix multiplication of kernels/matmul.cu on the CPU device against plain loops by g++ -O2."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from benchmarks import host, virtual_gpu
from benchmarks.rows import Row, missing

N = 512
TILE = 16
CODE = f"""
struct Work {{
    std::vector<float> a = std::vector<float>({N} * {N}, 1.0f), b = a, c = a;
    void run() {{ multiply({N}, a.data(), b.data(), c.data()); }}
    __attribute__((noinline)) static void multiply(int n, const float* a, const float* b, float* c) {{
        for (int i = 0; i < n; ++i) {{
            for (int j = 0; j < n; ++j) c[i * n + j] = 0;
            for (int k = 0; k < n; ++k)
                for (int j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
        }}
    }}
    double result() {{ return c[{N}]; }}
}};
"""


@lru_cache(maxsize=1)
def operations_per_second() -> float:
    """Floating-point operations per second of the CPU device; its result is checked."""
    random = np.random.default_rng(1)
    a, b = random.integers(-3, 4, (2, N, N)).astype(np.float32)
    arguments = ("c", "a", "b", ("<i", N), ("<i", N), ("<i", N))
    launch = virtual_gpu.Launch("matmul", (N // TILE, N // TILE, 1), (TILE, TILE, 1), arguments)
    buffers = {"a": a, "b": b, "c": np.zeros((N, N), np.float32)}
    program = virtual_gpu.Program(virtual_gpu.KERNELS / "matmul.cu", buffers, (launch,), {"TILE": str(TILE)})
    timed = virtual_gpu.time(program, repeats=3)
    assert np.array_equal(timed.buffers["c"], a @ b)  # small integers: exact in any order
    return 2 * N**3 / timed.seconds


def measure() -> list[Row]:
    what = f"matmul {N} x {N}, tile {TILE}"
    ours = operations_per_second()
    if host.compiler() is None:
        return [missing(what, "g++ is not installed")]
    peer = 2 * N**3 / host.seconds(CODE, repeats=3)
    return [
        Row(what, f"{ours / 1e9:,.2f} GFLOP/s", f"g++ -O2, i-k-j loops: {peer / 1e9:,.2f} GFLOP/s", ours / peer, 0.8)
    ]

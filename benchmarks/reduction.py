"""The tree reduction of kernels/reduce.cu on the CPU device against a serial sum by g++ -O2."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from benchmarks import host, virtual_gpu
from benchmarks.rows import Row, missing
from gpuregress.virtual_gpu.parallel.cores import available

N = 1 << 20
BLOCK = 256
CODE = f"""
struct Work {{
    std::vector<float> x = std::vector<float>({N}, 1.0f);
    float total = 0;
    void run() {{ total = sum({N}, x.data()); }}
    __attribute__((noinline)) static float sum(int n, const float* x) {{
        float s = 0;
        for (int i = 0; i < n; ++i) s += x[i];
        return s;
    }}
    double result() {{ return total; }}
}};
"""


@lru_cache(maxsize=2)
def elements_per_second(cores: int = 1) -> float:
    """Elements per second of the CPU device on some cores; its result is checked."""
    buffers = {"x": np.ones(N, np.float32), "sum": np.zeros(N // BLOCK, np.float32)}
    launch = virtual_gpu.Launch(
        "block_sum<float>", (N // BLOCK, 1, 1), (BLOCK, 1, 1), ("sum", "x", ("<i", N)), shared=4 * BLOCK
    )
    program = virtual_gpu.Program(virtual_gpu.KERNELS / "reduce.cu", buffers, (launch,))
    timed = virtual_gpu.time(program, repeats=100, count=cores)  # 2 ms each: some of them find every core free
    assert np.all(timed.buffers["sum"] == BLOCK)
    return N / timed.seconds


def measure() -> list[Row]:
    what = f"tree reduction, block {BLOCK}, {N:,} elements"
    ours = elements_per_second()
    if host.compiler() is None:
        return [missing(what, "g++ is not installed")]
    peer = N / host.seconds(CODE)
    return [
        Row(what, f"{ours / 1e6:,.1f} M/s", f"g++ -O2, serial sum: {peer / 1e6:,.0f} M/s", ours / peer, 0.3),
        _on_two_cores(what, ours),
    ]


def _on_two_cores(what: str, one: float) -> Row:
    if available() < 2:
        return missing(f"{what}, two cores", "there is one core")
    two = elements_per_second(2)
    return Row(f"{what}, two cores", f"{two / 1e6:,.1f} M/s", f"one core: {one / 1e6:,.1f} M/s", two / one, 1.7)

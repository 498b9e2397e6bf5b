"""saxpy on the CPU device, every access bounds-checked, against g++ -O2 on one core."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks import host, virtual_gpu
from benchmarks.rows import Row, missing

N = 1 << 22
CODE = f"""
struct Work {{
    std::vector<float> x = std::vector<float>({N}, 1.5f), y = std::vector<float>({N}, 2.0f);
    void run() {{ saxpy({N}, 2.5f, x.data(), y.data()); }}
    __attribute__((noinline)) static void saxpy(int n, float a, const float* x, float* y) {{
        for (int i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
    }}
    double result() {{ return y[{N} / 2]; }}
}};
"""


@lru_cache(maxsize=1)
def elements_per_second() -> float:
    """Elements per second of the CPU device; its result is checked."""
    x, y = np.full(N, 1.5, np.float32), np.full(N, 2.0, np.float32)
    launch = virtual_gpu.Launch("saxpy", (N // 256, 1, 1), (256, 1, 1), (("<i", N), ("<f", 2.5), "x", "y"))
    timed = virtual_gpu.time(virtual_gpu.Program(Path(__file__).with_suffix(".cu"), {"x": x, "y": y}, (launch,)))
    assert np.all(timed.buffers["y"] == 5.75)
    return N / timed.seconds


def measure() -> list[Row]:
    what = f"saxpy, {N:,} elements"
    ours = elements_per_second()
    if host.compiler() is None:
        return [missing(what, "g++ is not installed")]
    peer = N / host.seconds(CODE)
    return [Row(what, f"{ours / 1e6:,.0f} M/s", f"g++ -O2: {peer / 1e6:,.0f} M/s", ours / peer, 1 / 3)]

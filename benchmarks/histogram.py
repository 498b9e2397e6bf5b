"""The histogram of kernels/histogram.cu (atomics, private copies) on the CPU device against a serial one by g++ -O2."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from benchmarks import host, virtual_gpu
from benchmarks.rows import Row, missing

N = 1 << 22
CODE = f"""
struct Work {{
    std::vector<unsigned char> data = std::vector<unsigned char>({N});
    std::vector<unsigned> counts = std::vector<unsigned>(256);
    Work() {{ for (int i = 0; i < {N}; ++i) data[i] = std::rand() & 255; }}
    void run() {{ count({N}, data.data(), counts.data()); }}
    __attribute__((noinline)) static void count(int n, const unsigned char* data, unsigned* counts) {{
        for (int i = 0; i < n; ++i) ++counts[data[i]];
    }}
    double result() {{ return counts[7]; }}
}};
"""


@lru_cache(maxsize=1)
def elements_per_second() -> float:
    """Elements per second of the CPU device; its result is checked."""
    data = np.random.default_rng(1).integers(0, 256, N, np.uint8)
    buffers = {"counts": np.zeros(256, np.uint32), "data": data}
    arguments = ("counts", "data", ("<i", N), ("<i", 256))
    launch = virtual_gpu.Launch("histogram", (64, 1, 1), (256, 1, 1), arguments, shared=4 * 256)
    timed = virtual_gpu.time(virtual_gpu.Program(virtual_gpu.KERNELS / "histogram.cu", buffers, (launch,)))
    assert np.array_equal(timed.buffers["counts"], np.bincount(data, minlength=256))
    return N / timed.seconds


def measure() -> list[Row]:
    what = f"histogram of bytes, {N:,} elements"
    ours = elements_per_second()
    if host.compiler() is None:
        return [missing(what, "g++ is not installed")]
    peer = N / host.seconds(CODE)
    return [Row(what, f"{ours / 1e6:,.0f} M/s", f"g++ -O2, serial: {peer / 1e6:,.0f} M/s", ours / peer, 0.3)]

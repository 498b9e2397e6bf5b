"""The grid-stride axpy of kernels/saxpy.cu on the CPU device against g++ -O2, on one core, with all checks."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from benchmarks import host, saxpy, virtual_gpu
from benchmarks.rows import Row, missing

N, BLOCKS = 1 << 22, 128


@lru_cache(maxsize=1)
def elements_per_second() -> float:
    """Elements per second of the CPU device; its result is checked."""
    x, y = np.full(N, 1.5, np.float32), np.full(N, 2.0, np.float32)
    arguments = (("<i", N), ("<f", 2.5), "x", "y")
    launch = virtual_gpu.Launch("blas::axpy<float>", (BLOCKS, 1, 1), (256, 1, 1), arguments)
    program = virtual_gpu.Program(virtual_gpu.KERNELS / "saxpy.cu", {"x": x, "y": y}, (launch,))
    timed = virtual_gpu.time(program)
    assert np.all(timed.buffers["y"] == 5.75)
    return N / timed.seconds


def measure() -> list[Row]:
    what = f"grid-stride axpy, {N:,} elements"
    ours = elements_per_second()
    if host.compiler() is None:
        return [missing(what, "g++ is not installed")]
    peer = N / host.seconds(saxpy.CODE)
    return [Row(what, f"{ours / 1e6:,.0f} M/s", f"g++ -O2: {peer / 1e6:,.0f} M/s", ours / peer, 1 / 2)]

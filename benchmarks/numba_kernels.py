"""Three kernels for numba_simulator.py, run under NUMBA_ENABLE_CUDASIM=1; prints elements per second as JSON."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import cuda, float32  # type: ignore[import-not-found,unused-ignore]  # an optional peer

Array = npt.NDArray[Any]
N = 4096
BLOCK = 256


def saxpy(n: int, a: float, x: Array, y: Array) -> None:
    i = cuda.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


def block_sum(total: Array, x: Array, n: int) -> None:
    partial = cuda.shared.array(BLOCK, float32)
    i = cuda.grid(1)
    lane = cuda.threadIdx.x
    partial[lane] = x[i] if i < n else 0
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if lane < half:
            partial[lane] += partial[lane + half]
        cuda.syncthreads()
        half //= 2
    if lane == 0:
        total[cuda.blockIdx.x] = partial[0]


def histogram(counts: Array, data: Array, n: int) -> None:
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(counts, data[i], 1)


def rate(action: Callable[[], None]) -> float:
    """Elements per second: the median of three runs."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return N / statistics.median(seconds)


def main() -> None:
    grid = N // BLOCK
    x, y = np.full(N, 1.5, np.float32), np.full(N, 2.0, np.float32)
    total, counts = np.zeros(grid, np.float32), np.zeros(256, np.int32)
    data = np.random.default_rng(1).integers(0, 256, N, np.uint8)
    rates = {
        "n": N,
        "saxpy": rate(lambda: cuda.jit(saxpy)[grid, BLOCK](N, np.float32(2.5), x, y)),
        "reduction": rate(lambda: cuda.jit(block_sum)[grid, BLOCK](total, x, N)),
        "histogram": rate(lambda: cuda.jit(histogram)[grid, BLOCK](counts, data, N)),
    }
    assert total[0] == 1.5 * BLOCK
    print(json.dumps(rates))


if __name__ == "__main__":
    main()

"""The table of last writes: which accesses are watched, and what makes an exchange."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.virtual_gpu.running import Running

BODIES = {
    "vectors": ("((volatile int4*)box)[t].x = t; __threadfence_block(); y[t] = box[4 * (t ^ 1)];", True),
    "atomics": ("atomicExch(box + t, t); y[t] = ((volatile int*)box)[t ^ 1];", True),
    "bytes": ("((volatile char*)box)[t] = t; y[t] = ((volatile char*)box)[t ^ 1];", True),
    "own_bytes": ("((volatile char*)box)[t] = t; y[t] = ((volatile char*)box)[t + y[t]];", False),
    "overwritten": ("volatile int* b = box; b[t ^ 1] = 1; b[t] = 2; y[t] = b[t + y[t]];", False),
    "behind_waits_of_some": (
        """for (int k = y[t]; k < 2; ++k) {
            if (k == 0 && t == 0) __syncwarp(1);
            if (k == 0) atomicExch(box + t, t);
            if (k == 1) y[t] = ((volatile int*)box)[t ^ 1];
            __syncthreads();
        }""",
        False,
    ),
    "of_lanes_that_met": (
        """if (t == 0) __syncwarp(1);
        __syncwarp(3u << t / 2 * 2);
        atomicExch(box + t, t);
        y[t] = ((volatile int*)box)[t ^ 1];""",
        True,
    ),
    "behind_a_barrier": ("volatile int* b = box; b[t] = 1; __syncthreads(); y[t] = b[t ^ 1];", False),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    start = "__shared__ __align__(16) int box[256]; int t = threadIdx.x;"
    head = f'extern "C" __global__ void {{}}(volatile int* y) {{{{ {start}'
    folder: Path = tmp_path_factory.mktemp("exchange")
    return Running(folder, "\n".join(f"{head.format(name)} {body} }}" for name, (body, _) in BODIES.items()))


@pytest.mark.parametrize("kernel", BODIES)
def test_what_is_an_exchange(program: Running, kernel: str) -> None:
    report = program.launch(kernel, 1, 32, program.put("y", np.zeros(32, np.int32)))
    assert bool(report.exchange) == BODIES[kernel][1]

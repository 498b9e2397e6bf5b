"""The lane whose value stays where lanes of a warp store to one address: that of an H200."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.virtual_gpu.running import Running

SOURCE = """
extern "C" __global__ void words(int* y, const int* x) { y[x[threadIdx.x]] = threadIdx.x; }
extern "C" __global__ void halves(double* y, const int* x) { y[x[threadIdx.x]] = threadIdx.x; }
extern "C" __global__ void quarters(double2* y, const int* x) { y[x[threadIdx.x]] = make_double2(threadIdx.x, 0); }
extern "C" __global__ void both(int* y, const int* x) { y[x[threadIdx.x]] = threadIdx.x; y[threadIdx.x + 1] = 7; }
"""


@pytest.fixture
def program(tmp_path: Path) -> Running:
    return Running(tmp_path, SOURCE)


@pytest.mark.parametrize(
    ("kernel", "dtype", "group"), [("words", "i4", 32), ("halves", "f8", 16), ("quarters", "f8", 8)]
)
def test_the_lowest_lane_of_the_last_group_stays(program: Running, kernel: str, dtype: str, group: int) -> None:
    y = program.put("y", np.full(8, -1, dtype))
    program.launch(kernel, 1, 64, y, program.put("x", np.zeros(64, np.int32)))
    assert y.read().view(dtype)[0] == 32 + 32 - group


def test_a_store_with_a_stride_changes_no_group(program: Running) -> None:
    y = program.put("y", np.zeros(65, np.int32))
    program.launch("both", 1, 64, y, program.put("x", np.zeros(64, np.int32)))
    assert y.read().view(np.int32).tolist() == [32, *[7] * 64]

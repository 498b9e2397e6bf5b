"""Elements to blocks, warps and lanes."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.judge import diagnose
from gpuregress.judge.diagnose.thread_mapping import fitting_mapping
from tests.judge.diagnose.planted import launch

Three = tuple[int, int, int]


@pytest.mark.parametrize(
    ("grid", "block", "shape", "index", "message"),
    [
        ((8, 1, 1), (128, 1, 1), (1000,), 300, "block 2, thread 44 (warp 1, lane 12)"),
        ((8, 1, 1), (128, 1, 1), (8,), 3, "block 3"),
        ((2, 1, 1), (128, 1, 1), (1000,), 700, "block 1"),
        ((3, 3, 1), (16, 16, 1), (40, 48), 33 * 48 + 20, "block 7, thread 20 (warp 0, lane 20)"),
        ((3, 3, 1), (16, 16, 1), (60, 48), 0, ""),
        ((8, 1, 1), (128, 1, 1), (10, 100), 300, "block 2, thread 44 (warp 1, lane 12)"),
        ((10, 1, 1), (100, 2, 1), (1000,), 300, ""),
        ((100, 1, 1), (128, 1, 1), (1000,), 5, ""),
        ((1, 1, 1), (1, 1, 64), (64,), 5, ""),
    ],
)
def test_places(grid: Three, block: Three, shape: tuple[int, ...], index: int, message: str) -> None:
    assert diagnose.thread_label(index, launch(grid, block), shape) == message


def test_tiles_cover_the_matrix_once() -> None:
    actual = fitting_mapping(launch((3, 3, 1), (16, 16, 1)), (40, 48))
    assert actual is not None
    at = np.arange(40 * 48)
    threads = actual.thread_of(at)
    assert threads is not None
    pairs = set(zip(actual.block_of(at).tolist(), threads.tolist(), strict=True))
    assert len(pairs) == 40 * 48
    assert max(actual.block_of(at)) == 8


def test_no_elements() -> None:
    assert fitting_mapping(launch((1, 1, 1), (1, 1, 1)), (0,)) is None

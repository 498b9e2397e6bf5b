from __future__ import annotations

import pytest

from gpuregress.gpu import limits
from gpuregress.gpu.base import KernelInfo

H200 = {
    "max_threads_per_multiprocessor": 2048,
    "registers_per_multiprocessor": 65536,
    "shared_per_multiprocessor": 233472,
    "max_blocks_per_multiprocessor": 32,
    "reserved_shared": 1024,
    "warp_size": 32,
}


@pytest.mark.parametrize(
    ("registers", "static", "block", "shared", "blocks", "percent", "limited_by"),
    [
        (32, 0, (1024, 1, 1), 0, 2, 100, "threads"),
        (33, 0, (1024, 1, 1), 0, 1, 50, "registers"),  # 40 registers a thread are given out: 12 warps a part
        (16, 0, (32, 1, 1), 0, 32, 50, "blocks"),
        (64, 0, (256, 1, 1), 0, 4, 50, "registers"),
        (16, 0, (128, 1, 1), 100 * 1024, 2, 12, "shared"),
        (16, 40 * 1024, (8, 8, 2), 60 * 1024, 2, 12, "shared"),
        (255, 0, (256, 1, 1), 0, 1, 12, "registers"),
        (0, 0, (1, 1, 1), 0, 32, 50, "blocks"),
    ],
)
def test_an_h200(
    registers: int, static: int, block: tuple[int, int, int], shared: int, blocks: int, percent: int, limited_by: str
) -> None:
    actual = limits.of_launch(H200, KernelInfo("k", registers=registers, shared=static), block, shared)
    assert actual == limits.Occupancy(blocks, percent, limited_by)


def test_a_device_that_does_not_tell() -> None:
    assert limits.of_launch({"warp_size": 32}, KernelInfo("k"), (32, 1, 1), 0) is None

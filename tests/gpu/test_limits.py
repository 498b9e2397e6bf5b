"""Limits of launches, and occupancy."""

from __future__ import annotations

import pytest

from gpuregress.foundation.errors import DeviceError
from gpuregress.foundation.records import SM_90, DeviceInfo, Dim3
from gpuregress.gpu import limits
from gpuregress.gpu.base import KernelInfo
from gpuregress.gpu.limits import check_cooperative, check_launch, of_architecture
from gpuregress.gpu.records import replace

# ruff: noqa: RUF001 - the messages write a product with its sign


H200 = DeviceInfo(
    "cuda:0",
    "NVIDIA H200",
    "sm_90",
    "",
    1,
    {
        "max_threads": 1024,
        "max_block_x": 1024,
        "max_block_y": 1024,
        "max_block_z": 64,
        "max_grid_x": 2147483647,
        "max_grid_y": 65535,
        "max_grid_z": 65535,
        "max_shared": 49152,
        "max_shared_optin": 232448,
        "registers": 65536,
        "warp_size": 32,
    },
)


@pytest.mark.parametrize(
    ("grid", "block", "shared", "message"),
    [
        ((1, 1, 1), (2048, 1, 1), 0, "block 2048 × 1 × 1 has 2048 threads; this device takes 1024"),
        ((1, 1, 1), (32, 32, 2), 0, "block 32 × 32 × 2 has 2048 threads; this device takes 1024"),
        ((1, 1, 1), (1, 1, 65), 0, "block 1 × 1 × 65 has 65 threads along z; this device takes 64"),
        ((1, 1, 1), (0, 1, 1), 0, "block 0 × 1 × 1 has 0 threads along x; there must be at least 1"),
        ((1, 0, 1), (1, 1, 1), 0, "grid 1 × 0 × 1 has 0 blocks along y; there must be at least 1"),
        ((1, 65536, 1), (1, 1, 1), 0, "grid 1 × 65536 × 1 has 65536 blocks along y; this device takes 65535"),
        ((1, 1, 1), (1, 1, 1), 232448, "232448 bytes of dynamic shared memory beside the kernel's own 16; this"),
        ((1, 1, 1), (1, 1, 1), -4, "-4 bytes of dynamic shared memory"),
    ],
)  # fmt: skip
def test_the_number_that_is_wrong_is_said(grid: Dim3, block: Dim3, shared: int, message: str) -> None:
    with pytest.raises(DeviceError, match="k cannot be launched on cuda:0: ") as caught:
        check_launch(H200, KernelInfo("k", registers=16, shared=16), grid, block, shared)
    assert message in str(caught.value)


def test_registers_are_counted_by_warps() -> None:
    check_launch(H200, KernelInfo("k", registers=64), (1, 1, 1), (1024, 1, 1), 0)
    with pytest.raises(DeviceError, match="65 registers for each thread of 32 warps are 73728; this device has 65536"):
        check_launch(H200, KernelInfo("k", registers=65), (1, 1, 1), (1024, 1, 1), 0)


def test_the_kernels_own_limit() -> None:
    with pytest.raises(DeviceError, match=r"512 threads; this kernel takes 256 \(its __launch_bounds__, or its 80"):
        check_launch(H200, KernelInfo("k", registers=80, max_threads=256), (1, 1, 1), (512, 1, 1), 0)


def test_a_device_that_counts_no_registers_blames_none() -> None:
    with pytest.raises(DeviceError, match=r"this kernel takes 256 \(its __launch_bounds__\)$"):
        check_launch(H200, KernelInfo("k", max_threads=256), (1, 1, 1), (512, 1, 1), 0)


def test_the_block_that_a_kernel_requires() -> None:
    kernel = KernelInfo("k", max_threads=64, block=(32, 2, 1))
    check_launch(H200, kernel, (1, 1, 1), (32, 2, 1), 0)
    for block in ((64, 1, 1), (32, 1, 1), (2, 32, 1)):
        with pytest.raises(DeviceError, match=r"this kernel takes 32 × 2 × 1 only \(its __block_size__\)"):
            check_launch(H200, kernel, (1, 1, 1), block, 0)


def test_local_memory_of_a_thread() -> None:
    check_launch(H200, KernelInfo("k", local=524288), (1, 1, 1), (1, 1, 1), 0)
    with pytest.raises(DeviceError, match="it has 524304 bytes of local memory a thread; there are at most 524288"):
        check_launch(H200, KernelInfo("k", local=524304), (1, 1, 1), (1, 1, 1), 0)


def test_the_table_of_architectures_says_what_a_card_says() -> None:
    assert H200.limits.items() <= of_architecture(SM_90).items()


def test_what_fits_is_let_through() -> None:
    check_launch(H200, KernelInfo("k", registers=32), (2147483647, 65535, 65535), (16, 16, 4), 232448)


def test_a_grid_that_waits_for_itself_must_fit() -> None:
    card = replace(H200, limits={**H200.limits, "multiprocessors": 132})
    check_cooperative(card, KernelInfo("_Z4waitPi"), (264, 1, 1), 2)
    with pytest.raises(
        DeviceError, match=r"^wait cannot be launched.*all 265 blocks.*takes 264 of them, 2 on each of 132"
    ):
        check_cooperative(card, KernelInfo("_Z4waitPi"), (265, 1, 1), 2)


@pytest.mark.parametrize(
    ("grid", "cluster", "message"),
    [
        ((6, 1, 1), (4, 1, 1), "grid 6 × 1 × 1 has 6 blocks along x; its clusters have 4 × 1 × 1: the grid must be a"),
        ((4, 3, 2), (2, 2, 1), "grid 4 × 3 × 2 has 3 blocks along y; its clusters have 2 × 2 × 1"),
        ((9, 1, 1), (9, 1, 1), "its clusters of 9 × 1 × 1 have 9 blocks; at most 8, because more need an attribute"),
        ((4, 4, 4), (2, 2, 4), "its clusters of 2 × 2 × 4 have 16 blocks"),
    ],
)  # fmt: skip
def test_a_grid_is_a_multiple_of_the_cluster(grid: Dim3, cluster: Dim3, message: str) -> None:
    with pytest.raises(DeviceError) as caught:
        check_launch(H200, KernelInfo("k", cluster=cluster), grid, (32, 1, 1), 0)
    assert message in str(caught.value)
    check_launch(H200, KernelInfo("k", cluster=(2, 2, 2)), (4, 2, 6), (32, 1, 1), 0)


OCCUPANCY_H200 = {
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
    actual = limits.of_launch(OCCUPANCY_H200, KernelInfo("k", registers=registers, shared=static), block, shared)
    assert actual == limits.Occupancy(blocks, percent, limited_by)


def test_a_device_that_does_not_tell() -> None:
    assert limits.of_launch({"warp_size": 32}, KernelInfo("k"), (32, 1, 1), 0) is None

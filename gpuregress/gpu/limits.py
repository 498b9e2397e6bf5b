"""Limits of a device's launches, and the occupancy of its multiprocessors."""

from __future__ import annotations

from collections.abc import Mapping

from gpuregress.gpu.architectures import SM_90, ArchitectureLimits
from gpuregress.gpu.base import KernelInfo
from gpuregress.gpu.demangle import demangle
from gpuregress.gpu.errors import LaunchRefused
from gpuregress.gpu.programs import DeviceInfo, Dim3
from gpuregress.gpu.records import Record

SHARED_WITHOUT_OPT_IN = SM_90.static_shared
"""Dynamic shared memory that needs no attribute on the function (CUDA C++ Programming Guide, compute capabilities)."""

NAMES = {
    "max_threads": "MAX_THREADS_PER_BLOCK",
    "max_block_x": "MAX_BLOCK_DIM_X",
    "max_block_y": "MAX_BLOCK_DIM_Y",
    "max_block_z": "MAX_BLOCK_DIM_Z",
    "max_grid_x": "MAX_GRID_DIM_X",
    "max_grid_y": "MAX_GRID_DIM_Y",
    "max_grid_z": "MAX_GRID_DIM_Z",
    "max_shared": "MAX_SHARED_MEMORY_PER_BLOCK",
    "max_shared_optin": "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    "registers": "MAX_REGISTERS_PER_BLOCK",
    "warp_size": "WARP_SIZE",
    "multiprocessors": "MULTIPROCESSOR_COUNT",
    "max_threads_per_multiprocessor": "MAX_THREADS_PER_MULTIPROCESSOR",
    "registers_per_multiprocessor": "MAX_REGISTERS_PER_MULTIPROCESSOR",
    "shared_per_multiprocessor": "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",
    "max_blocks_per_multiprocessor": "MAX_BLOCKS_PER_MULTIPROCESSOR",
    "reserved_shared": "RESERVED_SHARED_MEMORY_PER_BLOCK",
}
"""`DeviceInfo.limits` → the driver's device attribute."""


_AXES = "xyz"


def of_architecture(architecture: ArchitectureLimits) -> dict[str, int]:
    """`DeviceInfo.limits` of a device of which only the architecture is known."""
    limits = {f"max_block_{axis}": side for axis, side in zip(_AXES, architecture.max_block, strict=True)}
    limits |= {f"max_grid_{axis}": side for axis, side in zip(_AXES, architecture.max_grid, strict=True)}
    return limits | {
        "max_threads": architecture.max_threads,
        "max_shared": architecture.static_shared,
        "max_shared_optin": architecture.shared,
        "registers": architecture.registers,
        "warp_size": architecture.warp_size,
        "multiprocessors": architecture.multiprocessors,
        "max_threads_per_multiprocessor": architecture.threads_per_multiprocessor,
        "registers_per_multiprocessor": architecture.registers,
        "shared_per_multiprocessor": architecture.shared_per_multiprocessor,
        "max_blocks_per_multiprocessor": architecture.blocks_per_multiprocessor,
        "reserved_shared": architecture.reserved_shared,
    }


def check_launch(device: DeviceInfo, kernel: KernelInfo, grid: Dim3, block: Dim3, shared: int) -> None:
    """Refuse a launch that the device cannot do.

    Args:
        device: with its limits.
        kernel: resources of the compiled kernel.
        grid: blocks along x, y, z.
        block: threads along x, y, z.
        shared: dynamic shared memory, bytes.

    Raises:
        LaunchRefused: names the number that is too large, and the limit.
    """
    problem = (
        _sides("grid", "blocks", grid, device.limits)
        or _threads(block, kernel, device.limits)
        or _sides("block", "threads", block, device.limits)
        or _required(block, kernel)
        or _cluster(grid, kernel)
        or _local(kernel)
        or _shared(shared, kernel, device.limits)
        or _registers(block, kernel, device.limits)
    )
    if problem:
        raise LaunchRefused(f"{demangle(kernel.name) or kernel.name} cannot be launched on {device.name}: {problem}")


def check_cooperative(device: DeviceInfo, kernel: KernelInfo, grid: Dim3, resident: int) -> None:
    """Refuse a grid that waits for itself and cannot all be on the device at once.

    Args:
        device: with its limits.
        kernel: the launched kernel.
        grid: blocks along x, y, z.
        resident: the blocks that one multiprocessor holds at once.

    Raises:
        LaunchRefused: how many blocks there are, and how many the device takes.
    """
    blocks, multiprocessors = grid[0] * grid[1] * grid[2], device.limits.get("multiprocessors", 0)
    most = resident * multiprocessors
    if multiprocessors and not fits_at_once(device, grid, resident):
        raise LaunchRefused(
            f"{demangle(kernel.name) or kernel.name} cannot be launched on {device.name}: it waits for its whole grid, "
            f"so all {blocks} blocks must run at once; this device takes {most} of them, "
            f"{resident} on each of {multiprocessors} multiprocessors"
        )


def fits_at_once(device: DeviceInfo, grid: Dim3, resident: int) -> bool:
    """Whether all blocks can be on the device at once, so that they may wait for each other.

    Args:
        device: with its limits.
        grid: blocks along x, y, z.
        resident: the blocks that one multiprocessor holds at once.
    """
    return grid[0] * grid[1] * grid[2] <= resident * device.limits.get("multiprocessors", 0)


def _sides(what: str, unit: str, size: Dim3, limits: Mapping[str, int]) -> str:
    written = _written(size)
    for axis, count in zip(_AXES, size, strict=True):
        limit = limits.get(f"max_{what}_{axis}")
        if count < 1:
            return f"{what} {written} has {count} {unit} along {axis}; there must be at least 1"
        if limit is not None and count > limit:
            return f"{what} {written} has {count} {unit} along {axis}; this device takes {limit}"
    return ""


def _threads(block: Dim3, kernel: KernelInfo, limits: Mapping[str, int]) -> str:
    threads = block[0] * block[1] * block[2]
    limit = limits.get("max_threads", threads)
    if threads > limit:
        return f"block {_written(block)} has {threads} threads; this device takes {limit}"
    if threads > kernel.max_threads:
        why = "its __launch_bounds__"
        if kernel.registers:
            why += f", or its {kernel.registers} registers a thread"
        return f"block {_written(block)} has {threads} threads; this kernel takes {kernel.max_threads} ({why})"
    return ""


def _required(block: Dim3, kernel: KernelInfo) -> str:
    if kernel.block is None or kernel.block == block:
        return ""
    return f"block {_written(block)}; this kernel takes {_written(kernel.block)} only (its __block_size__)"


def _local(kernel: KernelInfo) -> str:
    if kernel.local <= SM_90.local:
        return ""
    return f"it has {kernel.local} bytes of local memory a thread; there are at most {SM_90.local}"


def _cluster(grid: Dim3, kernel: KernelInfo) -> str:
    cluster = kernel.cluster
    blocks = cluster[0] * cluster[1] * cluster[2]
    if kernel.takes_large_clusters and blocks > SM_90.largest_cluster:
        return f"its clusters of {_written(cluster)} have {blocks} blocks; at most {SM_90.largest_cluster}"
    if not kernel.takes_large_clusters and blocks > SM_90.portable_cluster:
        allowed = f"at most {SM_90.portable_cluster}, because more need an attribute that a job cannot set"
        return f"its clusters of {_written(cluster)} have {blocks} blocks; {allowed}"
    for axis, count, side in zip(_AXES, grid, cluster, strict=True):
        if count % side:
            clusters = f"its clusters have {_written(cluster)}: the grid must be a multiple of that"
            return f"grid {_written(grid)} has {count} blocks along {axis}; {clusters}"
    return ""


def _shared(shared: int, kernel: KernelInfo, limits: Mapping[str, int]) -> str:
    limit = max(limits.get("max_shared", 0), limits.get("max_shared_optin", 0))
    if shared < 0:
        return f"shared: {shared} bytes of dynamic shared memory; there must be at least 0"
    if limit and shared + kernel.shared > limit:
        own = f" beside the kernel's own {kernel.shared}" if kernel.shared else ""
        return f"{shared} bytes of dynamic shared memory{own}; this device takes {limit} a block"
    return ""


def _registers(block: Dim3, kernel: KernelInfo, limits: Mapping[str, int]) -> str:
    limit, warp = limits.get("registers", 0), limits.get("warp_size", 32)
    warps = -(-(block[0] * block[1] * block[2]) // warp)
    needed = warps * -(-(kernel.registers * warp) // REGISTER_UNIT) * REGISTER_UNIT
    if limit and needed > limit:
        each = f"{kernel.registers} registers for each thread of {warps} warps"
        return f"{each} are {needed}; this device has {limit} a block"
    return ""


def _written(size: Dim3) -> str:
    return " × ".join(str(count) for count in size)  # noqa: RUF001 - the sign for "times"


# --- occupancy of a multiprocessor ------------------------------------------------------------------------------------
# Occupancy of a multiprocessor, with the arithmetic of NVIDIA's cuda_occupancy.h.
#
# It needs the device's attributes and no driver call, so it is the same wherever it is asked.


# cuda_occupancy.h, compute capability 8.0 and above: registers go to warps in units of 256, shared memory to blocks in
# units of 128 bytes, and the registers lie in four parts, none of which a warp crosses.
REGISTER_UNIT = 256
_SHARED_UNIT = 128
_PARTS = 4


class Occupancy(Record):
    """The occupancy of one multiprocessor.

    Attributes:
        blocks: how many blocks.
        percent: their warps, of the most that there can be.
        limited_by: `threads`, `registers`, `shared` or `blocks`: the resource that is used up.
    """

    blocks: int
    percent: int
    limited_by: str


def of_launch(limits: Mapping[str, int], kernel: KernelInfo, block: Dim3, shared: int) -> Occupancy | None:
    """The occupancy of a launch; None where the device's limits are not all known.

    Args:
        limits: `DeviceInfo.limits`.
        kernel: with its registers and static shared memory.
        block: threads along x, y, z.
        shared: dynamic shared memory, bytes.
    """
    needed = ("max_threads_per_multiprocessor", "registers_per_multiprocessor", "shared_per_multiprocessor")
    if any(name not in limits for name in needed):
        return None
    warp = limits.get("warp_size", 32)
    warps = max(1, -(-(block[0] * block[1] * block[2]) // warp))
    most_warps = limits["max_threads_per_multiprocessor"] // warp
    ways = {
        "threads": most_warps // warps,
        "registers": _by_registers(limits["registers_per_multiprocessor"], kernel.registers, warps, warp),
        "shared": _by_shared(limits, kernel.shared + shared),
        "blocks": limits.get("max_blocks_per_multiprocessor", most_warps),
    }
    limited_by = min(ways, key=lambda name: ways[name])
    blocks = ways[limited_by]
    return Occupancy(blocks, round(100 * blocks * warps / most_warps), limited_by)


def _by_registers(available: int, registers: int, warps: int, warp: int) -> int:
    each = max(1, -(-registers * warp // REGISTER_UNIT)) * REGISTER_UNIT
    return (available // _PARTS // each) * _PARTS // warps


def _by_shared(limits: Mapping[str, int], shared: int) -> int:
    needed = shared + limits.get("reserved_shared", 0)
    each = -(-needed // _SHARED_UNIT) * _SHARED_UNIT
    return limits["shared_per_multiprocessor"] // each if each else limits["max_threads_per_multiprocessor"]

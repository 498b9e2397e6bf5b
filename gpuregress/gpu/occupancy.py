"""Occupancy of a multiprocessor, with the arithmetic of NVIDIA's cuda_occupancy.h.

It needs the device's attributes and no driver call, so it is the same wherever it is asked.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpuregress.gpu.base import KernelInfo
from gpuregress.gpu.programs import Dim3
from gpuregress.gpu.records import Record

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

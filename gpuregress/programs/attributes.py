"""Device attributes of the driver API by number, as the virtual GPU has them."""

from __future__ import annotations

import hashlib
import struct

from gpuregress.gpu.programs import DeviceInfo

GREETING = struct.Struct("<QQ64s16s192i")
"""Memory in bytes, that of the shared file, name, UUID, attributes: `struct Greeting` of the driver."""
_COUNT = 192
_CLOCK_KHZ = 1_980_000
_MEMORY_CLOCK_KHZ = 3_201_000
_OF_LIMITS = {
    1: "max_threads", 2: "max_block_x", 3: "max_block_y", 4: "max_block_z", 5: "max_grid_x", 6: "max_grid_y",
    7: "max_grid_z", 8: "max_shared", 10: "warp_size", 12: "registers", 16: "multiprocessors",
    39: "max_threads_per_multiprocessor", 81: "shared_per_multiprocessor", 82: "registers_per_multiprocessor",
    97: "max_shared_optin", 106: "max_blocks_per_multiprocessor", 111: "reserved_shared",
}  # fmt: skip
"""Number of CUdevice_attribute → key of `DeviceInfo.limits`."""
_CONSTANT = {
    9: 64 << 10, 11: 2**31 - 1, 13: _CLOCK_KHZ, 14: 512, 15: 1, 19: 1, 30: 512, 31: 1, 35: 0, 36: _MEMORY_CLOCK_KHZ,
    37: 6144, 38: 50 << 20, 40: 3, 41: 1, 44: 1, 51: 32, 75: 9, 76: 0, 78: 1, 79: 1, 80: 1, 83: 1, 87: 2, 90: 1, 92: 1,
    93: 1, 94: 1, 95: 1, 99: 1, 115: 1, 120: 1, 122: 1, 123: 1, 127: 1, 129: 1, 142: 1, 144: 1,
}  # fmt: skip
"""Number → what an H200 has, and whether the virtual one can do it. All others are 0: it cannot."""
_TEXTURES = {
    21: 131072, 22: 131072, 23: 65536, 24: 16384, 25: 16384, 26: 16384, 27: 32768, 28: 32768, 29: 2048, 42: 32768,
    43: 2048, 45: 32768, 46: 32768, 47: 8192, 48: 8192, 49: 32768, 52: 32768, 53: 32768, 54: 2046, 55: 32768,
    56: 131072, 57: 65536, 58: 16384, 59: 16384, 60: 16384, 61: 32768, 62: 2048, 63: 32768, 64: 32768, 65: 2048,
    66: 32768, 67: 32768, 68: 2046, 69: 1 << 28, 70: 131072, 71: 65000, 72: 2097120, 73: 32768, 74: 32768, 77: 32768,
}  # fmt: skip
"""Number → the largest extents of textures and surfaces of an H200 (CUDA C++ Programming Guide)."""


def greeting(info: DeviceInfo, shared_bytes: int) -> bytes:
    """Return what the driver learns of the device when its server starts.

    Args:
        info: of the virtual GPU; its name says that it is one.
        shared_bytes: of the memory that is shared.
    """
    values = [0] * _COUNT
    for number, value in (_CONSTANT | _TEXTURES).items():
        values[number] = value
    for number, name in _OF_LIMITS.items():
        values[number] = info.limits[name]
    uuid = hashlib.sha256(info.model.encode()).digest()[:16]
    return GREETING.pack(info.memory, shared_bytes, f"gpuregress {info.model}".encode()[:63], uuid, *values)

"""A kernel's arguments as its parameter space holds them."""

from __future__ import annotations

from collections.abc import Mapping

from gpuregress import dtypes
from gpuregress.devices.base import Memory
from gpuregress.records import Argument


def pack(argument: Argument, memory: Mapping[str, Memory]) -> tuple[bytes, int]:
    """An argument's bytes as the kernel's parameter space holds them, and its alignment.

    Args:
        argument: what the case passes.
        memory: buffer → where it is now.
    """
    if argument.kind == "buffer":
        return memory[argument.buffer].address.to_bytes(8, "little"), 8
    if argument.kind == "null":
        return bytes(8), 8
    if argument.kind == "scalar":
        return bytes.fromhex(argument.data), dtypes.parse(argument.dtype).alignment
    packed, largest = bytearray(), 1
    for member in argument.fields:
        data, alignment = pack(member, memory)
        packed += bytes(-len(packed) % alignment) + data
        largest = max(largest, alignment)
    return bytes(packed) + bytes(-len(packed) % largest), largest

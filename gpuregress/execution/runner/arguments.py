"""Encoding of a kernel's arguments for its parameter space."""

from __future__ import annotations

from collections.abc import Mapping

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import TENSOR_MAP_ALIGNMENT, Argument
from gpuregress.gpu.base import Memory
from gpuregress.gpu.records import Record


class EncodedMap(Record):
    """A tensor map as kernels are given it.

    Attributes:
        data: the 128 bytes.
        address: of a copy in global memory, 0 where no kernel takes one.
    """

    data: bytes
    address: int = 0


def pack(
    argument: Argument,
    memory: Mapping[str, Memory],
    handles: Mapping[int, int] | None = None,
    maps: Mapping[int, EncodedMap] | None = None,
) -> tuple[bytes, int]:
    """Encode an argument, and return its bytes and alignment.

    Args:
        argument: what the case passes.
        memory: buffer → where it is now.
        handles: address → the texture or surface object that kernels are given in its place.
        maps: address → the tensor map that kernels are given in its place.
    """
    if argument.kind == "buffer":
        address = memory[argument.buffer].address
        if argument.as_map:
            encoded = (maps or {})[address]
            if argument.in_memory:
                return encoded.address.to_bytes(8, "little"), 8
            return encoded.data, TENSOR_MAP_ALIGNMENT
        return ((handles or {}).get(address, address) + argument.offset).to_bytes(8, "little"), 8
    if argument.kind == "null":
        return bytes(8), 8
    if argument.kind == "scalar":
        return bytes.fromhex(argument.data), dtypes.parse(argument.dtype).alignment
    packed, largest = bytearray(), 1
    for member in argument.fields:
        data, alignment = pack(member, memory, handles, maps)
        packed += bytes(-len(packed) % alignment) + data
        largest = max(largest, alignment)
    return bytes(packed) + bytes(-len(packed) % largest), largest

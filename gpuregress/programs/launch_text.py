"""A launch of a program as one line of the launch log."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from gpuregress.gpu.demangle import demangle
from gpuregress.gpu.programs import Entry, LaunchShape, Parameter
from gpuregress.virtual_gpu.runtime.memory import AddressSpace

_LONGEST = 16
"""Bytes of a structure that are written out."""
_INTEGERS = {1: "<b", 2: "<h", 4: "<i", 8: "<q"}
_FLOATS = {2: "<e", 4: "<f", 8: "<d"}


def call_text(space: AddressSpace, entry: Entry, shape: LaunchShape, args: Sequence[bytes]) -> str:
    """Render a launch: `scale<<<(1,1,1),(32,1,1),0>>>(cuMemAlloc #1=<128>, 32, 2.5)`.

    Args:
        space: the device's memory, whose allocations stand for their addresses.
        entry: the kernel.
        shape: its threads.
        args: each argument's bytes.
    """
    texts = [_argument(space, parameter, data) for parameter, data in zip(entry.parameters, args, strict=True)]
    (x, y, z), (tx, ty, tz) = shape.grid, shape.block
    kernel = demangle(entry.mangled) or entry.mangled
    return f"{kernel}<<<({x},{y},{z}),({tx},{ty},{tz}),{shape.shared}>>>({', '.join(texts)})"


def _argument(space: AddressSpace, parameter: Parameter, data: bytes) -> str:
    size = parameter.size
    if size == 8 and parameter.kind != "float":
        (value,) = struct.unpack("<Q", data)
        region = space.find(value) if value >> 40 else None
        if region is not None:
            offset = value - region.address
            return f"{region.name}+{offset}=<{region.size}>" if offset else f"{region.name}=<{region.size}>"
        if parameter.kind == "pointer":
            return f"{value:#x}" if value else "null"
    if parameter.kind == "float" and size in _FLOATS:
        return f"{struct.unpack(_FLOATS[size], data)[0]:g}"
    if parameter.kind in ("integer", "word") and size in _INTEGERS:
        return str(struct.unpack(_INTEGERS[size], data)[0])
    return f"{data[:_LONGEST].hex()}…" if size > _LONGEST else data.hex()

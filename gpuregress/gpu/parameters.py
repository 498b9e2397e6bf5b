"""Parameter space of a kernel: its arguments as one block of bytes."""

from __future__ import annotations

from collections.abc import Sequence

from gpuregress.gpu.errors import DeviceError
from gpuregress.gpu.programs import Entry


def pack(entry: Entry, args: Sequence[bytes]) -> bytes:
    """All arguments behind each other, each at its parameter's alignment (PTX ISA, "Kernel Function Parameters").

    Args:
        entry: the kernel.
        args: each argument's bytes, in order.

    Raises:
        DeviceError: their number or a size is not the kernel's.
    """
    if len(args) != len(entry.parameters):
        raise DeviceError(f"{entry.mangled} takes {len(entry.parameters)} arguments; {len(args)} were given")
    packed = bytearray()
    for position, (parameter, data) in enumerate(zip(entry.parameters, args, strict=True)):
        if len(data) != parameter.size:
            name = parameter.name or f"number {position + 1}"
            raise DeviceError(f"{entry.mangled}: argument {name} has {parameter.size} bytes; {len(data)} were given")
        packed += bytes(-len(packed) % parameter.alignment) + data
    return bytes(packed)

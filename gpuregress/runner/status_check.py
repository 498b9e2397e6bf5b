"""Check of the status buffer, in which a kernel reports its own errors: any value but zero is a fault."""

from __future__ import annotations

import numpy as np

from gpuregress.devices.base import Memory
from gpuregress.errors import KernelFault
from gpuregress.records import Buffer
from gpuregress.runner.buffer_reader import BufferReader

_MOST_CODES = 20


def check_status(memory: Memory, buffer: Buffer) -> None:
    """Refuse a status buffer that is not all zero.

    Args:
        memory: of the buffer, after the last launch.
        buffer: of integers.

    Raises:
        KernelFault: names the first code and its index.
    """
    reader = BufferReader(memory, buffer)
    codes = reader.array().reshape(-1)
    raised = np.flatnonzero(np.logical_or.reduce([column != 0 for column in reader.element.columns(codes)]))
    if not raised.size:
        return
    lines = [f"{buffer.name}[{index}] = {_code(codes[index])}" for index in raised[:_MOST_CODES]]
    others = f" and {raised.size - 1} more of {codes.size} are not zero" if raised.size > 1 else ""
    raise KernelFault("status", lines[0] + others, details=tuple(lines))


def _code(value: np.generic) -> str:
    """A status code in decimal and hexadecimal, `35 (0x23)`; negative ones as the two's complement of their width."""
    if isinstance(value, np.void):  # a vector or record
        return f"({', '.join(_code(value[name]) for name in value.dtype.names or ())})"
    if isinstance(value, np.integer) and value:
        return f"{value} ({int(value) % (1 << 8 * value.itemsize):#x})"
    return str(value)

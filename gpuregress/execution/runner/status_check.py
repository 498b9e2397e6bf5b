"""Check of the status buffer, in which a kernel reports its own errors: any value but zero is a fault."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpuregress.execution.runner.buffer_reader import BufferReader
from gpuregress.foundation.errors import KernelFault
from gpuregress.foundation.records import Buffer
from gpuregress.gpu.base import Memory

_MOST_CODES = 20


def check_status(memory: Memory, buffer: Buffer, names: Mapping[str, str] | None = None) -> None:
    """Refuse a status buffer that is not all zero.

    Args:
        memory: of the buffer, after the last launch.
        buffer: of integers.
        names: code in decimal → its name.

    Raises:
        KernelFault: names the first code and its index.
    """
    reader = BufferReader(memory, buffer)
    codes = reader.array().reshape(-1)
    raised = np.flatnonzero(np.logical_or.reduce([column != 0 for column in reader.element.columns(codes)]))
    if not raised.size:
        return
    lines = [f"{buffer.name}[{index}] = {_code(codes[index], names or {})}" for index in raised[:_MOST_CODES]]
    others = f" and {raised.size - 1} more of {codes.size} are not zero" if raised.size > 1 else ""
    raise KernelFault("status", lines[0] + others, details=tuple(lines))


def _code(value: np.generic, names: Mapping[str, str]) -> str:
    """A status code as `35 (0x23): table full`; negative ones have the two's complement of their width."""
    if isinstance(value, np.void):  # a vector or record
        return f"({', '.join(_code(value[name], names) for name in value.dtype.names or ())})"
    named = f": {names[str(value)]}" if str(value) in names else ""
    if isinstance(value, np.integer) and value:
        return f"{value} ({int(value) % (1 << 8 * value.itemsize):#x}){named}"
    return f"{value}{named}"

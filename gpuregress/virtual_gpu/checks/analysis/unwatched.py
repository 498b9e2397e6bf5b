"""Memory accesses of a kernel that the dynamic checks cannot watch."""

from __future__ import annotations

from collections.abc import Iterable

from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.ptx.tree import Function, Instruction
from gpuregress.virtual_gpu.runtime.checks.unwatched import CLOCKS


def unwatched(functions: Iterable[Function]) -> tuple[str, ...]:
    """What a kernel accesses unwatched, in words.

    Args:
        functions: the kernel, and those that it calls.
    """
    items = (item for function in functions for item in function.body or () if isinstance(item, Instruction))
    return (CLOCKS,) if any(map(_depends_on_schedule, items)) else ()


def _depends_on_schedule(instruction: Instruction) -> bool:
    reads = effects.reads(instruction)
    return instruction.opcode == "activemask" or any("clock" in name or "timer" in name for name in reads)

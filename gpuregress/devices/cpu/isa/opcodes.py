"""Every opcode the device knows: the families' tables put together."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from gpuregress.devices.cpu.ptx.errors import unsupported
from gpuregress.devices.cpu.ptx.tree import Instruction

MACHINE = (
    *("memory.memory", "memory.atomics", "control.control", "control.special", "warp.barriers", "warp.warp"),
    *("memory.fences", "memory.mbarrier", "matrix.matrix", "matrix.fragments", "warp.clusters", "texture.textures"),
    "memory.stack",
)
VALUES = ("arithmetic.arithmetic",)


@cache
def table() -> dict[str, Callable[[Any, Instruction], None]]:
    """Opcode → lowering."""
    found: dict[str, Callable[[Any, Instruction], None]] = {}
    for name in (*VALUES, *MACHINE):
        found.update(import_module(f"gpuregress.devices.cpu.isa.{name}").TABLE)
    return found


def lowering(instruction: Instruction) -> Callable[[Any, Instruction], None]:
    """The function that lowers an instruction.

    Raises:
        UnsupportedError: there is none; names the instruction and its line.
    """
    found = table().get(instruction.opcode)
    if found is None:
        raise unsupported(instruction)
    return found

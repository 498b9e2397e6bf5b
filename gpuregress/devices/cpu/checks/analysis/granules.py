"""Granules of shadow memory: the bytes of a cell, as few as the smallest access of a program has."""

from __future__ import annotations

from collections.abc import Iterable

from gpuregress.devices.cpu.ptx.modifiers import lanes, space_of, type_of
from gpuregress.devices.cpu.ptx.opcode_table import MemoryEffect, info
from gpuregress.devices.cpu.ptx.tree import Function, Instruction, Integer
from gpuregress.devices.cpu.ptx.types import size

_MOST, _USUAL = 16, 4
_ORDERING = {"acquire", "release", "acq_rel", "sc"}
_PRIVATE = ("local", "const", "param")


def granules(functions: Iterable[Function]) -> dict[str, int]:
    """The log2 of the bytes of a granule in shared and in global memory.

    Args:
        functions: of the program.
    """
    least = {"shared": _MOST, "global": _MOST}
    for function in functions:
        for item in function.body or ():
            if isinstance(item, Instruction) and info(item).memory is not MemoryEffect.NONE:
                space = space_of(item)
                for name, count in least.items():
                    if space not in _PRIVATE and space in ("", name):
                        least[name] = min(count, _bytes(item))
    return {name: count.bit_length() - 1 for name, count in least.items()}


def _bytes(instruction: Instruction) -> int:
    if instruction.opcode not in ("ld", "ldu", "st", "atom", "red"):
        return _USUAL
    return lanes(instruction) * size(type_of(instruction))


def synchronizes(functions: Iterable[Function]) -> bool:
    """Whether strong accesses of a program may order other ones: it has fences, or accesses that acquire or release.

    Args:
        functions: of the program.
    """
    return any(
        isinstance(item, Instruction)
        and (item.opcode in ("fence", "membar", "mbarrier") or not _ORDERING.isdisjoint(item.modifiers))
        for function in functions
        for item in function.body or ()
    )


def meets_in_part(instruction: Instruction) -> bool:
    """Whether a barrier may be one of some threads only: some lanes of a warp, or some warps of a block."""
    if instruction.opcode not in ("bar", "barrier") or "cluster" in instruction.modifiers:
        return False
    words, operands = instruction.modifiers, instruction.operands
    if "step" in words:
        return False
    if "warp" in words:
        mask = operands[0] if operands else None
        return not (isinstance(mask, Integer) and mask.value & 0xFFFF_FFFF == 0xFFFF_FFFF)
    if "red" in words:
        return len(operands) > 3
    return "arrive" in words or len(operands) > 1

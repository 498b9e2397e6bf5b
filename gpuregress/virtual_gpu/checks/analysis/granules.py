"""Granules of shadow memory: the bytes of a cell, as few as the smallest access of a program has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpuregress.virtual_gpu.ptx.modifiers import lanes, space_of, type_of
from gpuregress.virtual_gpu.ptx.opcode_table import MemoryEffect, info
from gpuregress.virtual_gpu.ptx.tree import Function, Instruction, Integer
from gpuregress.virtual_gpu.ptx.types import size

_MOST, _USUAL = 16, 4
_ORDERING = {"acquire", "release", "acq_rel", "sc"}
_STRONG = _ORDERING | {"volatile", "relaxed", "mmio"}
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
                space = info(item).space or space_of(item)
                for name, count in least.items():
                    if space not in _PRIVATE and space in ("", name):
                        least[name] = min(count, _bytes(item))
    return {name: count.bit_length() - 1 for name, count in least.items()}


def _bytes(instruction: Instruction) -> int:
    if instruction.opcode not in ("ld", "ldu", "st", "atom", "red", "suld", "sust"):
        return _USUAL  # A texture's elements may be smaller: it only reads, and what is written decides.
    step = size(type_of(instruction))
    if instruction.used_bytes is not None:
        parts = {instruction.used_bytes >> step * lane & (1 << step) - 1 for lane in range(lanes(instruction))}
        return step if parts <= {0, (1 << step) - 1} else 1
    return lanes(instruction) * step


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


def orders_in_part(functions: Iterable[Function]) -> bool:
    """Whether a program may order some threads of a block, or some blocks, and leave others.

    A wait for a wgmma does: it orders the reads of the warpgroup before what its own thread does next.

    Args:
        functions: of the program.
    """
    functions = list(functions)
    return synchronizes(functions) or any(
        item.opcode == "wgmma" or meets_in_part(item) for item in _instructions(functions)
    )


def has_strong_accesses(functions: Iterable[Function]) -> bool:
    """Whether a program has atomic, volatile or ordered accesses. PTX ISA manual, 8.6 "Types of Operations".

    Args:
        functions: of the program.
    """
    return any(map(_is_strong, _instructions(functions)))


def _instructions(functions: Iterable[Function]) -> Iterator[Instruction]:
    return (item for function in functions for item in function.body or () if isinstance(item, Instruction))


def _is_strong(item: Instruction) -> bool:
    return item.opcode in ("atom", "red") or (item.opcode in ("ld", "st") and not _STRONG.isdisjoint(item.modifiers))


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

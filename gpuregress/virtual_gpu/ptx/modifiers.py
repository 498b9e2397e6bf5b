"""Modifiers of an instruction: type, state space, vector width, rounding, memory ordering."""

from __future__ import annotations

from gpuregress.virtual_gpu.ptx.errors import unsupported
from gpuregress.virtual_gpu.ptx.tree import Instruction
from gpuregress.virtual_gpu.ptx.types import is_type

SPACES = ("global", "shared", "local", "const", "param")
ROUNDINGS = ("rn", "rz", "rm", "rp")
_ORDERED = frozenset(["volatile", "relaxed", "acquire", "release", "mmio", "acq_rel"])


def type_of(instruction: Instruction) -> str:
    """The instruction's type: the last modifier that is one (`min.s32.relu` ends in something else).

    Raises:
        UnsupportedError: none is.
    """
    for word in reversed(instruction.modifiers):
        if is_type(word):
            return word
    raise unsupported(instruction, "no type")


def space_of(instruction: Instruction) -> str:
    """The state space of a memory access, "" for a generic address."""
    for word in instruction.modifiers:
        if word.partition("::")[0] in SPACES:
            return word.partition("::")[0]
    return ""


def lanes(instruction: Instruction) -> int:
    """The number of elements of a vector access: 1, 2, 4 or 8."""
    return next((int(word[1:]) for word in instruction.modifiers if word in ("v2", "v4", "v8")), 1)


def rounding_of(instruction: Instruction, default: str = "rn") -> str:
    """The rounding modifier, or the instruction's default."""
    return next((word for word in instruction.modifiers if word in ROUNDINGS), default)


def is_ordered(instruction: Instruction) -> bool:
    """Whether an access is volatile, or ordered by the memory consistency model."""
    return not _ORDERED.isdisjoint(instruction.modifiers)


def is_synchronizing(instruction: Instruction) -> bool:
    """Whether an access is atomic, or ordered as those of an atomic object are: not `volatile` alone."""
    return instruction.opcode in ("atom", "red") or not (_ORDERED - {"volatile"}).isdisjoint(instruction.modifiers)

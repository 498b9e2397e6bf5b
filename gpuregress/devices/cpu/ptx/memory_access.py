"""State space, element type and vector width of a memory instruction, from its modifiers."""

from __future__ import annotations

from gpuregress.devices.cpu.ptx.errors import unsupported
from gpuregress.devices.cpu.ptx.tree import Instruction
from gpuregress.devices.cpu.ptx.types import is_type

SPACES = ("global", "shared", "local", "const", "param")


def space_of(instruction: Instruction) -> str:
    """The state space that an instruction names, "" for a generic address."""
    for word in instruction.modifiers:
        if word.partition("::")[0] in SPACES:
            return word.partition("::")[0]
    return ""


def lanes(instruction: Instruction) -> int:
    """Elements of a vector access: 1, 2, 4 or 8."""
    return next((int(word[1:]) for word in instruction.modifiers if word in ("v2", "v4", "v8")), 1)


def element_type(instruction: Instruction) -> str:
    """The type an access names: the last modifier that is one."""
    for word in reversed(instruction.modifiers):
        if is_type(word):
            return word
    raise unsupported(instruction, "no type")

"""Modifiers of an instruction, sizes of PTX types and variables, and errors about missing forms."""

from __future__ import annotations

import traceback
from collections.abc import Container, Sequence

from gpuregress.gpu.errors import UnsupportedError
from gpuregress.virtual_gpu.ptx.tree import Call, Instruction, Variable, as_instruction, code_line

# --- types ------------------------------------------------------------------------------------------------------------


BITS = {
    "pred": 1,
    **dict.fromkeys(("s4", "u4"), 4),
    **dict.fromkeys(("b8", "s8", "u8", "e4m3", "e5m2"), 8),
    **dict.fromkeys(("b16", "s16", "u16", "f16", "bf16", "e4m3x2", "e5m2x2"), 16),
    **dict.fromkeys(("b32", "s32", "u32", "f32", "f16x2", "bf16x2", "s16x2", "u16x2", "tf32"), 32),
    **dict.fromkeys(("b64", "s64", "u64", "f64", "f32x2"), 64),
    **dict.fromkeys(("texref", "samplerref", "surfref"), 64),
    "b128": 128,
}
"""Type → bits of a register that holds it."""
INDEX_BITS = {name: bits for name, bits in BITS.items() if name[0] in "bsu" and name[1:] in {"32", "64"}}
"""The types of addresses and indices, which the analyses follow → bits."""
HALVES = frozenset(["f16", "f16x2", "bf16", "bf16x2"])
FLOATS = HALVES | {"f32", "f64"}


def is_type(name: str) -> bool:
    """Whether a modifier names a type."""
    return name in BITS


def size(name: str) -> int:
    """The bytes of a type in memory.

    Raises:
        KeyError: no such type.
    """
    return max(1, BITS[name] // 8)


def byte_size(variable: Variable) -> int:
    """Bytes of a variable; 0 for the dynamic shared memory."""
    return 0 if variable.count is None else variable.count * size(variable.type)


def lay_out(variables: Sequence[Variable], gap: int = 0) -> tuple[dict[str, int], int]:
    """Lay variables out one after the other, each aligned.

    Args:
        variables: in their order.
        gap: bytes between two of them.

    Returns:
        name → first byte, and the bytes of all.
    """
    offsets: dict[str, int] = {}
    position = 0
    for item in variables:
        position = -(-position // item.alignment) * item.alignment
        offsets[item.name] = position
        position += byte_size(item) + gap
    return offsets, position - gap if variables else 0


def is_signed(name: str) -> bool:
    """Whether a type is a signed integer, or a pair of them: widening copies its sign."""
    return name.startswith("s")


def integer_range(bits: int, *, signed: bool) -> tuple[int, int]:
    """The lowest and the highest number of a type."""
    if signed:
        return -(1 << bits - 1), (1 << bits - 1) - 1
    return 0, (1 << bits) - 1


# --- errors -----------------------------------------------------------------------------------------------------------
# Errors about PTX that the CPU device cannot translate.


NOT_UNDERSTOOD = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""What a pass raises for operands that it does not expect. Only the assembler knows all forms of every instruction."""


def unsupported(instruction: Instruction, why: str = "") -> UnsupportedError:
    """The error for an unsupported instruction, or form of one."""
    line = code_line(instruction)
    reason = f": {why}" if why else ""
    message = f"{instruction.mnemonic} at {line} is not supported by the cpu device{reason}"
    return UnsupportedError(message, source_line=line)


def not_understood(error: BaseException) -> UnsupportedError:
    """The error for the statement that a pass had in hand when it raised one of `NOT_UNDERSTOOD`."""
    statement: Instruction | Call | None = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        statements = (value for value in frame.f_locals.values() if isinstance(value, Instruction | Call))
        statement = next(statements, statement)
    if statement is None:
        return UnsupportedError(f"this PTX is not understood by the cpu device: {type(error).__name__}: {error}")
    return unsupported(as_instruction(statement), f"its form is not understood ({type(error).__name__}: {error})")


# --- modifiers --------------------------------------------------------------------------------------------------------
# Modifiers of an instruction: type, state space, vector width, rounding, memory ordering.


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
    return int(modifier_among(instruction, ("v2", "v4", "v8"), "v1")[1:])


def rounding_of(instruction: Instruction) -> str:
    """The rounding modifier; "rn" without one."""
    return modifier_among(instruction, ROUNDINGS, "rn")


def modifier_among(instruction: Instruction, words: Container[str], default: str = "") -> str:
    """The first modifier that is one of some words, or the default."""
    for word in instruction.modifiers:
        if word in words:
            return word
    return default


def is_ordered(instruction: Instruction) -> bool:
    """Whether an access is volatile, or ordered by the memory consistency model."""
    return not _ORDERED.isdisjoint(instruction.modifiers)


def is_synchronizing(instruction: Instruction) -> bool:
    """Whether an access is atomic, or ordered as those of an atomic object are: not `volatile` alone."""
    return instruction.opcode in ("atom", "red") or not (_ORDERED - {"volatile"}).isdisjoint(instruction.modifiers)

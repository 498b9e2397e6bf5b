"""Dispatch of an opcode by the type of its operands.

`add` and `min` mean different instructions for `.s32`, `.f32` and `.f16x2`; with `.cc` they set the carry flag.
"""

from __future__ import annotations

from gpuregress.virtual_gpu.builder.emit import Emit, Lowering
from gpuregress.virtual_gpu.isa.arithmetic import floating, half, integer
from gpuregress.virtual_gpu.ptx.modifiers import FLOATS, HALVES, type_of, unsupported
from gpuregress.virtual_gpu.ptx.tree import Instruction

_INTEGER = ("u16", "s16", "u32", "s32", "u64", "s64", "u16x2", "s16x2")


def _by_type(emit: Emit, instruction: Instruction) -> None:
    _family(instruction)[instruction.opcode](emit, instruction)


def _family(instruction: Instruction) -> dict[str, Lowering]:
    """The table that contains the instruction.

    Raises:
        UnsupportedError: there is none: newer forms look like older ones (`add.f32x2`, `add.f32.bf16`, `min` of three),
            and must not be taken for them.
    """
    type_name = type_of(instruction)
    if "cc" in instruction.modifiers:
        family = integer.CARRY_TABLE
    elif type_name in ("f32", "f64"):
        family = floating.TABLE
    elif type_name in HALVES:
        family = half.TABLE
    elif type_name in _INTEGER:
        family = integer.TABLE
    else:
        raise unsupported(instruction, "its type is not known")
    if instruction.opcode not in family:
        raise unsupported(instruction)
    floats = [word for word in instruction.modifiers if word in FLOATS]
    if len(floats) > 1:
        raise unsupported(instruction, "mixed precision is not implemented")
    if instruction.opcode in ("min", "max") and len(instruction.operands) != 3:
        raise unsupported(instruction, "it takes two operands")
    return family


# The sums that only read the carry flag (`addc`) have whole numbers alone.
TABLE: dict[str, Lowering] = {
    **integer.CARRY_TABLE,
    **dict.fromkeys({*integer.TABLE, *floating.TABLE, *half.TABLE}, _by_type),
}

"""All instructions that compute: `TABLE` finds the family for an opcode that several families share.

Which family an `add` or a `min` belongs to is told by its type; `.cc` makes it one of the carry
chain's.
"""

from __future__ import annotations

from gpuregress.devices.cpu.lower import bitfield, carry, compare, convert, floating, half, integer, logic, video
from gpuregress.devices.cpu.lower.emit import Emit, Lowering, unsupported
from gpuregress.devices.cpu.lower.scalar import type_of
from gpuregress.devices.cpu.ptx.tree import Instruction

_HALF = ("f16", "f16x2", "bf16", "bf16x2")
_ALONE: dict[str, Lowering] = {
    **bitfield.TABLE,
    **compare.TABLE,
    **convert.TABLE,
    **logic.TABLE,
    **video.TABLE,
}


def _by_type(emit: Emit, instruction: Instruction) -> None:
    type_name = type_of(instruction)
    if not type_name:
        raise unsupported(instruction, "it has no type that is known")
    if "cc" in instruction.modifiers:
        family = carry.TABLE
    elif type_name in ("f32", "f64"):
        family = floating.TABLE
    elif type_name in _HALF:
        family = half.TABLE
    else:
        family = integer.TABLE
    lowering = family.get(instruction.opcode)
    if lowering is None:
        raise unsupported(instruction)
    lowering(emit, instruction)


_SHARED = {*integer.TABLE, *floating.TABLE, *half.TABLE, *carry.TABLE} - {"addc", "subc", "madc"}

TABLE: dict[str, Lowering] = {
    **_ALONE,
    **dict.fromkeys(sorted(_SHARED), _by_type),
    **{opcode: carry.TABLE[opcode] for opcode in ("addc", "subc", "madc")},
}

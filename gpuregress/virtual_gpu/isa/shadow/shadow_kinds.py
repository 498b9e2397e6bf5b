"""Kinds of registers that have a shadow: f64, f32, f16 or bf16, by the instructions that use them.

A register that is declared as bits (`.b32`) holds a float where an instruction of that type uses it, or a copy of it
does.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuregress.virtual_gpu.isa.shadow.shadow_arithmetic import DIGITS, NARROW_ONLY, OPERATIONS
from gpuregress.virtual_gpu.ptx.modifiers import type_of
from gpuregress.virtual_gpu.ptx.tree import Function, Instruction, Operand, Pair, Register, elements
from gpuregress.virtual_gpu.ptx.types import BITS, FLOATS

Kinds = dict[str, str]
_MOVES_OF_BITS = {32: "f32", 64: "f64"}


def float_types(instruction: Instruction) -> list[str]:
    """The floating-point types among the modifiers."""
    return [word for word in instruction.modifiers if word in FLOATS]


def is_arithmetic(instruction: Instruction) -> bool:
    """Whether an instruction is floating-point arithmetic that has a shadow."""
    types = float_types(instruction)
    if instruction.opcode not in OPERATIONS or len(types) != 1 or types[0] not in DIGITS:
        return False
    is_other = "xorsign" in instruction.modifiers or len(instruction.operands) != _operands(instruction.opcode)
    return not is_other and not (types[0] == "f64" and instruction.opcode in NARROW_ONLY)


def _operands(opcode: str) -> int:
    if opcode in ("fma", "mad"):
        return 4
    return 3 if opcode in ("add", "sub", "mul", "div", "min", "max", "copysign") else 2


def conversion(instruction: Instruction) -> tuple[str, str] | None:
    """The kinds of the result and the source of a conversion between floats; None for another instruction."""
    types = float_types(instruction)
    if instruction.opcode != "cvt" or len(types) != len(("to", "from")) or len(instruction.operands) != len(types):
        return None
    return (types[0], types[1]) if types[0] in DIGITS and types[1] in DIGITS else None


def is_copy(instruction: Instruction) -> bool:
    """Whether an instruction copies registers as they are."""
    if instruction.opcode == "mov":
        return all(isinstance(item, Register) for item in instruction.operands)
    return instruction.opcode in ("selp", "shfl")


def copied(instruction: Instruction) -> tuple[Operand, ...]:
    """The result of a copy, and the operands that it may be a copy of."""
    first = instruction.operands[0]
    target = first.first if isinstance(first, Pair) else first
    return (target, *instruction.operands[1 : 3 if instruction.opcode == "selp" else 2])


def find_kinds(function: Function) -> Kinds:
    """The kinds of the registers of a function that have a shadow, by register."""
    widths = {item.name: BITS[item.type] for item in function.registers if item.lanes == 1 and item.type in BITS}
    body = [item for item in function.body or () if isinstance(item, Instruction)]
    kinds: Kinds = {}
    for name, kind in (pair for item in body for pair in _direct(item)):
        if widths.get(name) == BITS[kind]:
            kinds.setdefault(name, kind)
    copies = [[one.name for one in copied(item) if isinstance(one, Register)] for item in body if is_copy(item)]
    _spread(kinds, copies, widths)
    moved = _of_memory(body, "ld") & _of_memory(body, "st")
    for name in moved - set(kinds):
        if widths.get(name) in _MOVES_OF_BITS:
            kinds[name] = _MOVES_OF_BITS[widths[name]]
    _spread(kinds, copies, widths)
    return kinds


def _direct(instruction: Instruction) -> Iterator[tuple[str, str]]:
    """The registers that an instruction itself uses as floats."""
    both = conversion(instruction)
    if both is not None:
        used = zip(instruction.operands, both, strict=True)
    elif instruction.opcode == "cvt":
        types = [word for word in instruction.modifiers if word in BITS][-2:]
        used = zip(instruction.operands[:2], types, strict=False)
    elif is_arithmetic(instruction):
        used = ((item, float_types(instruction)[0]) for item in instruction.operands)  # type: ignore[assignment]
    elif instruction.opcode in ("ld", "st", "atom", "red", "mov", "selp", "mma", "wgmma", "wmma"):
        types = float_types(instruction)
        kind = types[0] if types else ""
        used = ((item, kind) for one in instruction.operands for item in elements(one))  # type: ignore[assignment]
    else:
        return
    for item, kind in used:
        if isinstance(item, Register) and kind in DIGITS:
            yield item.name, kind


def _spread(kinds: Kinds, copies: list[list[str]], widths: dict[str, int]) -> None:
    """Give copies the kind of what they are copies of."""
    changed = True
    while changed:
        changed = False
        for names in copies:
            kind = next((kinds[name] for name in names if name in kinds), None)
            for name in names:
                if kind is not None and name not in kinds and widths.get(name) == BITS[kind]:
                    kinds[name], changed = kind, True


def _of_memory(body: list[Instruction], opcode: str) -> set[str]:
    found = [item for item in body if item.opcode == opcode and type_of(item) in BITS]
    operands = (elements(item.operands[0 if opcode == "ld" else 1]) for item in found)
    return {one.name for items in operands for one in items if isinstance(one, Register)}

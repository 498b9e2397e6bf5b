"""Extended-precision arithmetic through the thread's carry flag: add.cc addc sub.cc subc mad.cc madc.

The flag is the carry out of the adder, also after a subtraction, which adds the complement: set where nothing was
borrowed. The PTX manual calls it a borrow, which is the same within a chain of subtractions; an `addc` after a
`sub.cc`, as in NVRTC's 128-bit division, shows the difference.
"""

from __future__ import annotations

from functools import partial

from llvmlite import ir

from gpuregress.virtual_gpu.builder.emit import Emit, Lowering
from gpuregress.virtual_gpu.builder.scalar import extend, read_all
from gpuregress.virtual_gpu.builder.types import I1
from gpuregress.virtual_gpu.ptx.modifiers import type_of
from gpuregress.virtual_gpu.ptx.tree import Instruction
from gpuregress.virtual_gpu.ptx.types import is_signed


def _finish(emit: Emit, instruction: Instruction, wide: ir.Value, *, borrows: bool = False) -> None:
    """Write the low bits of a sum or difference computed one bit wider, and with `.cc` the carry flag."""
    builder, type_name = emit.builder, type_of(instruction)
    narrow = ir.IntType(wide.type.width - 1)
    if "cc" in instruction.modifiers:
        above = builder.trunc(builder.lshr(wide, wide.type(narrow.width)), I1)
        emit.write_carry(builder.not_(above) if borrows else above)
    emit.write(instruction.operands[0], builder.trunc(wide, narrow), type_name)


def _wide(emit: Emit, values: list[ir.Value]) -> list[ir.Value]:
    to = ir.IntType(values[0].type.width + 1)
    return [emit.builder.zext(value, to) for value in values]


def _add(emit: Emit, instruction: Instruction, *, carry_in: bool = False) -> None:
    a, b = _wide(emit, read_all(emit, instruction, type_of(instruction)))
    total = emit.builder.add(a, b)
    if carry_in:
        total = emit.builder.add(total, emit.builder.zext(emit.read_carry(), total.type))
    _finish(emit, instruction, total)


def _sub(emit: Emit, instruction: Instruction, *, borrow_in: bool = False) -> None:
    a, b = _wide(emit, read_all(emit, instruction, type_of(instruction)))
    difference = emit.builder.sub(a, b)
    if borrow_in:
        borrow = emit.builder.not_(emit.read_carry())
        difference = emit.builder.sub(difference, emit.builder.zext(borrow, difference.type))
    _finish(emit, instruction, difference, borrows=True)


def _mad(emit: Emit, instruction: Instruction, *, carry_in: bool = False) -> None:
    builder, type_name = emit.builder, type_of(instruction)
    a, b, c = read_all(emit, instruction, type_name)
    bits, signed = a.type.width, is_signed(type_name)
    double = ir.IntType(2 * bits)
    product = builder.mul(extend(emit, a, double, signed=signed), extend(emit, b, double, signed=signed))
    if "hi" in instruction.modifiers:
        product = builder.lshr(product, double(bits))
    part, addend = _wide(emit, [builder.trunc(product, a.type), c])
    total = builder.add(part, addend)
    if carry_in:
        total = builder.add(total, builder.zext(emit.read_carry(), total.type))
    _finish(emit, instruction, total)


TABLE: dict[str, Lowering] = {
    "add": _add,
    "addc": partial(_add, carry_in=True),
    "sub": _sub,
    "subc": partial(_sub, borrow_in=True),
    "mad": _mad,
    "madc": partial(_mad, carry_in=True),
}

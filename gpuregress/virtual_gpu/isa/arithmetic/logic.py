"""Bitwise logic, shifts and byte permutation: and or xor not cnot lop3 shl shr shf prmt."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from gpuregress.virtual_gpu.builder.emit import Emit, Lowering
from gpuregress.virtual_gpu.builder.scalar import larger, read_all, smaller
from gpuregress.virtual_gpu.builder.types import I32, I64
from gpuregress.virtual_gpu.ptx.errors import unsupported
from gpuregress.virtual_gpu.ptx.modifiers import type_of
from gpuregress.virtual_gpu.ptx.tree import Instruction, Integer, Pair
from gpuregress.virtual_gpu.ptx.types import is_signed

_BOOLEAN = {
    "and": lambda builder, a, b: builder.and_(a, b),
    "or": lambda builder, a, b: builder.or_(a, b),
    "xor": lambda builder, a, b: builder.xor(a, b),
}


def combine(emit: Emit, instruction: Instruction, a: ir.Value, b: ir.Value) -> ir.Value:
    """Two predicates under the instruction's `.and`, `.or` or `.xor`."""
    word = next(word for word in instruction.modifiers if word in _BOOLEAN)
    return _BOOLEAN[word](emit.builder, a, b)


def _bitwise(emit: Emit, instruction: Instruction) -> None:
    type_name = type_of(instruction)
    a, b = read_all(emit, instruction, type_name)
    emit.write(instruction.operands[0], _BOOLEAN[instruction.opcode](emit.builder, a, b), type_name)


def _not(emit: Emit, instruction: Instruction) -> None:
    type_name = type_of(instruction)
    (a,) = read_all(emit, instruction, type_name)
    emit.write(instruction.operands[0], emit.builder.not_(a), type_name)


def _cnot(emit: Emit, instruction: Instruction) -> None:
    type_name = type_of(instruction)
    (a,) = read_all(emit, instruction, type_name)
    zero = emit.builder.icmp_unsigned("==", a, a.type(0))
    emit.write(instruction.operands[0], emit.builder.zext(zero, a.type), type_name)


def _constant(instruction: Instruction, position: int) -> int:
    operand = instruction.operands[position]
    if not isinstance(operand, Integer):
        raise unsupported(instruction, f"operand {position + 1} must be a constant")
    return operand.value


def _lop3(emit: Emit, instruction: Instruction) -> None:
    """Any logic function of three operands: bit 4a+2b+c of the truth table is its value."""
    destination, *sources = instruction.operands
    a, b, c = (emit.read(operand, "b32") for operand in sources[:3])
    builder, truth = emit.builder, _constant(instruction, 4)
    result: ir.Value = I32(0)
    for row in (row for row in range(8) if truth >> row & 1):
        factors = [x if row >> bit & 1 else builder.not_(x) for x, bit in ((a, 2), (b, 1), (c, 0))]
        result = builder.or_(result, builder.and_(builder.and_(factors[0], factors[1]), factors[2]))
    if instruction.modifiers[0] not in _BOOLEAN:
        emit.write(destination, result, "b32")
        return
    assert isinstance(destination, Pair)
    emit.write(destination.first, result, "b32")
    nonzero = builder.icmp_unsigned("!=", result, I32(0))
    emit.write(destination.second, combine(emit, instruction, nonzero, emit.read(sources[4], "pred")), "pred")


def _shl(emit: Emit, instruction: Instruction) -> None:
    _shift(emit, instruction, emit.builder.shl)


def _shr(emit: Emit, instruction: Instruction) -> None:
    signed = is_signed(type_of(instruction))
    _shift(emit, instruction, lambda a, count: emit.builder.ashr(a, count) if signed else emit.builder.lshr(a, count))


def _shift(emit: Emit, instruction: Instruction, shift: Callable[[ir.Value, ir.Value], ir.Value]) -> None:
    """A shift by a u32 count; counts of the width or more shift all bits out, which LLVM leaves undefined."""
    builder, type_name = emit.builder, type_of(instruction)
    a, count = emit.read(instruction.operands[1], type_name), emit.read(instruction.operands[2], "u32")
    bits = a.type.width
    limited = smaller(emit, count, I32(bits - 1), signed=False)
    if bits != 32:
        limited = builder.trunc(limited, a.type) if bits < 32 else builder.zext(limited, a.type)
    result = shift(a, limited)
    if instruction.opcode == "shl" or not is_signed(type_name):
        inside = builder.icmp_unsigned("<", count, I32(bits))
        result = builder.select(inside, result, a.type(0))
    emit.write(instruction.operands[0], result, type_name)


def _shf(emit: Emit, instruction: Instruction) -> None:
    """The upper half of b:a shifted left, or its lower half shifted right."""
    builder = emit.builder
    a, b, count = read_all(emit, instruction, "b32")
    if "wrap" in instruction.modifiers:
        count = builder.and_(count, I32(31))
    else:
        count = smaller(emit, count, I32(32), signed=False)
    both = builder.or_(builder.shl(builder.zext(b, I64), I64(32)), builder.zext(a, I64))
    wide_count = builder.zext(count, I64)
    if "l" in instruction.modifiers:
        both = builder.lshr(builder.shl(both, wide_count), I64(32))
    else:
        both = builder.lshr(both, wide_count)
    emit.write(instruction.operands[0], builder.trunc(both, I32), "b32")


_PERMUTATIONS: dict[str, Callable[[Emit, ir.Value, int], ir.Value]] = {
    "f4e": lambda emit, select, position: emit.builder.add(select, I32(position)),
    "b4e": lambda emit, select, position: emit.builder.and_(emit.builder.sub(select, I32(position)), I32(7)),
    "rc8": lambda emit, select, position: select,  # noqa: ARG005 - every position gets the same byte
    "ecl": lambda emit, select, position: larger(emit, select, I32(position), signed=False),
    "ecr": lambda emit, select, position: smaller(emit, select, I32(position), signed=False),
    "rc16": lambda emit, select, position: emit.builder.or_(
        emit.builder.shl(emit.builder.and_(select, I32(1)), I32(1)), I32(position & 1)
    ),
}


def _prmt(emit: Emit, instruction: Instruction) -> None:
    """Select four of the eight bytes of b:a."""
    builder = emit.builder
    a, b, control = read_all(emit, instruction, "b32")
    both = builder.or_(builder.shl(builder.zext(b, I64), I64(32)), builder.zext(a, I64))
    mode = _PERMUTATIONS.get(instruction.modifiers[-1])
    select = builder.and_(control, I32(3))
    result: ir.Value = I32(0)
    for position in range(4):
        if mode:
            byte = _byte(builder, both, mode(emit, select, position))
        else:
            nibble = builder.lshr(control, I32(4 * position))
            byte = _byte(builder, both, builder.and_(nibble, I32(7)))
            sign = builder.icmp_unsigned("!=", builder.and_(byte, I32(0x80)), I32(0))
            replicated = builder.select(sign, I32(0xFF), I32(0))
            is_sign = builder.icmp_unsigned("!=", builder.and_(nibble, I32(8)), I32(0))
            byte = builder.select(is_sign, replicated, byte)
        result = builder.or_(result, builder.shl(byte, I32(8 * position)))
    emit.write(instruction.operands[0], result, "b32")


def _byte(builder: ir.IRBuilder, both: ir.Value, index: ir.Value) -> ir.Value:
    """Byte `index` (0 to 7) of an i64, as an i32."""
    moved = builder.lshr(both, builder.shl(builder.zext(index, I64), I64(3)))
    return builder.and_(builder.trunc(moved, I32), I32(0xFF))


TABLE: dict[str, Lowering] = {
    "and": _bitwise,
    "or": _bitwise,
    "xor": _bitwise,
    "not": _not,
    "cnot": _cnot,
    "lop3": _lop3,
    "shl": _shl,
    "shr": _shr,
    "shf": _shf,
    "prmt": _prmt,
}

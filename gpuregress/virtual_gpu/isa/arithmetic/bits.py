"""Lowering of logic, shifts and bit fields."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from gpuregress.virtual_gpu.builder.emit import Emit, Lowering, larger, pointwise, read_all, resize, smaller
from gpuregress.virtual_gpu.builder.structured import I1, I32, I64, subroutine
from gpuregress.virtual_gpu.ptx.modifiers import is_signed, modifier_among, type_of, unsupported
from gpuregress.virtual_gpu.ptx.tree import Instruction, Integer, Pair

# --- logic and shifts -------------------------------------------------------------------------------------------------


_BOOLEAN = {
    "and": lambda emit, a, b: emit.builder.and_(a, b),
    "or": lambda emit, a, b: emit.builder.or_(a, b),
    "xor": lambda emit, a, b: emit.builder.xor(a, b),
}


def combine(emit: Emit, instruction: Instruction, a: ir.Value, b: ir.Value) -> ir.Value:
    """Two predicates under the instruction's `.and`, `.or` or `.xor`."""
    return _BOOLEAN[modifier_among(instruction, _BOOLEAN)](emit, a, b)


def _is_zero(emit: Emit, a: ir.Value) -> ir.Value:
    return emit.builder.zext(emit.builder.icmp_unsigned("==", a, a.type(0)), a.type)


def _constant(instruction: Instruction, position: int) -> int:
    operand = instruction.operands[position]
    if not isinstance(operand, Integer):
        raise unsupported(instruction, f"operand {position + 1} must be a constant")
    return operand.value


def _lop3(emit: Emit, instruction: Instruction) -> None:
    """Any logic function of three operands: bit 4a+2b+c of the truth table is its value."""
    destination, *sources = instruction.operands
    values = [emit.read(operand, "b32") for operand in sources[:3]]
    builder, truth = emit.builder, _constant(instruction, 4)
    result: ir.Value = I32(0)
    for row in range(8):
        if not truth >> row & 1:
            continue
        factors = list(values)
        for index, bit in enumerate((4, 2, 1)):
            if not row & bit:
                factors[index] = builder.not_(values[index])
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
    shift = emit.builder.ashr if is_signed(type_of(instruction)) else emit.builder.lshr
    _shift(emit, instruction, shift)


def _shift(emit: Emit, instruction: Instruction, shift: Callable[[ir.Value, ir.Value], ir.Value]) -> None:
    """A shift by a u32 count; counts of the width or more shift all bits out, which LLVM leaves undefined."""
    builder, type_name = emit.builder, type_of(instruction)
    a, count = emit.read(instruction.operands[1], type_name), emit.read(instruction.operands[2], "u32")
    bits = a.type.width
    limited = smaller(emit, count, I32(bits - 1), signed=False)
    if bits < 32:
        limited = builder.trunc(limited, a.type)
    elif bits > 32:
        limited = builder.zext(limited, a.type)
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


# --- bit fields -------------------------------------------------------------------------------------------------------
# Bit counting, bit search and bit fields: popc clz bfind fns brev bfe bfi bmsk szext.


def _population(emit: Emit, value: ir.Value) -> ir.Value:
    count = emit.intrinsic(f"llvm.ctpop.{value.type}", value.type, value)
    return resize(emit, count, I32, signed=False)


def _leading_zeros(emit: Emit, value: ir.Value) -> ir.Value:
    count = emit.intrinsic(f"llvm.ctlz.{value.type}", value.type, value, I1(0))
    return resize(emit, count, I32, signed=False)


def _bfind(emit: Emit, instruction: Instruction) -> None:
    builder, type_name = emit.builder, type_of(instruction)
    (a,) = read_all(emit, instruction, type_name)
    if is_signed(type_name):
        a = builder.xor(a, builder.ashr(a, a.type(a.type.width - 1)))
    zeros = _leading_zeros(emit, a)
    position = zeros
    if "shiftamt" not in instruction.modifiers:
        position = builder.sub(I32(a.type.width - 1), zeros)
    nothing = builder.icmp_unsigned("==", a, a.type(0))
    emit.write(instruction.operands[0], builder.select(nothing, I32(-1), position), "u32")


def _ones(emit: Emit, count: ir.Value) -> ir.Value:
    """`count` low bits set; all of them where the count reaches the width."""
    builder, kind = emit.builder, count.type
    full = builder.icmp_unsigned(">=", count, kind(kind.width))
    shift = builder.select(full, kind(0), count)
    return builder.select(full, kind(-1), builder.sub(builder.shl(kind(1), shift), kind(1)))


def _shifted_left(emit: Emit, value: ir.Value, count: ir.Value) -> ir.Value:
    """`value << count`, 0 from the width on."""
    builder, kind = emit.builder, value.type
    inside = builder.icmp_unsigned("<", count, kind(kind.width))
    return builder.select(inside, builder.shl(value, builder.select(inside, count, kind(0))), kind(0))


def _byte_counts(emit: Emit, instruction: Instruction, start: int, kind: ir.IntType) -> tuple[ir.Value, ir.Value]:
    """Position and length of a bit field: 8 bits of each in the 32-bit forms, all bits in the 64-bit forms.

    The manual says 8 bits for both; ptxas (CUDA 13.0, sm_90) writes the 64-bit forms out in shifts, which see all.
    """
    position, length = (emit.read(operand, "u32") for operand in instruction.operands[start : start + 2])
    if kind.width == 32:
        position, length = (emit.builder.and_(value, I32(0xFF)) for value in (position, length))
    return resize(emit, position, kind, signed=False), resize(emit, length, kind, signed=False)


def _bfe(emit: Emit, instruction: Instruction) -> None:
    builder, type_name = emit.builder, type_of(instruction)
    a = emit.read(instruction.operands[1], type_name)
    kind = a.type
    position, length = _byte_counts(emit, instruction, 2, kind)
    if not is_signed(type_name):
        inside = builder.icmp_unsigned("<", position, kind(kind.width))
        shifted = builder.lshr(a, builder.select(inside, position, kind(0)))
        field = builder.and_(builder.select(inside, shifted, kind(0)), _ones(emit, length))
        emit.write(instruction.operands[0], field, type_name)
        return
    # Past the top the sign fills in, so that the field's own top bit is right even where it lies outside.
    shifted = builder.ashr(a, smaller(emit, position, kind(kind.width - 1), signed=False))
    whole = builder.icmp_unsigned(">=", length, kind(kind.width))
    empty = builder.icmp_unsigned("==", length, kind(0))
    up = builder.select(builder.or_(whole, empty), kind(0), builder.sub(kind(kind.width), length))
    field = builder.ashr(builder.shl(shifted, up), up)
    emit.write(instruction.operands[0], builder.select(empty, kind(0), field), type_name)


def _bfi(emit: Emit, instruction: Instruction) -> None:
    builder, type_name = emit.builder, type_of(instruction)
    a, base = (emit.read(operand, type_name) for operand in instruction.operands[1:3])
    position, length = _byte_counts(emit, instruction, 3, a.type)
    mask = _shifted_left(emit, _ones(emit, length), position)
    field = builder.and_(_shifted_left(emit, a, position), mask)
    emit.write(instruction.operands[0], builder.or_(builder.and_(base, builder.not_(mask)), field), type_name)


def _bmsk(emit: Emit, instruction: Instruction) -> None:
    start, count = read_all(emit, instruction, "b32")
    if "wrap" in instruction.modifiers:
        start, count = (emit.builder.and_(value, I32(31)) for value in (start, count))
    emit.write(instruction.operands[0], _shifted_left(emit, _ones(emit, count), start), "b32")


def _szext(emit: Emit, instruction: Instruction) -> None:
    builder, type_name = emit.builder, type_of(instruction)
    a, count = read_all(emit, instruction, type_name)
    if "wrap" in instruction.modifiers:
        count = builder.and_(count, I32(31))
    mask = _ones(emit, count)
    result = builder.and_(a, mask)
    if is_signed(type_name):
        # The top bit of the kept ones; none is kept for a count of 0, and all for 32 and above.
        top = builder.and_(a, builder.sub(mask, builder.lshr(mask, I32(1))))
        negative = builder.icmp_unsigned("!=", top, I32(0))
        result = builder.or_(result, builder.select(negative, builder.not_(mask), I32(0)))
    emit.write(instruction.operands[0], result, type_name)


def _fns(emit: Emit, instruction: Instruction) -> None:
    mask = emit.read(instruction.operands[1], "b32")
    base = emit.read(instruction.operands[2], "b32")
    offset = emit.read(instruction.operands[3], "s32")
    emit.write(instruction.operands[0], _find_nth_set(emit.builder, mask, base, offset), "b32")


@subroutine("gpuregress.fns", I32)
def _find_nth_set(builder: ir.IRBuilder, mask: ir.Value, base: ir.Value, offset: ir.Value) -> ir.Value:
    """The position of the |offset|-th set bit at or after `base` (before it for a negative offset), or all ones.

    An offset of 0 asks for the bit at `base` itself; one of -2^31, which has no magnitude, gives 0.
    """
    entry = builder.block
    loop, step, done = (builder.append_basic_block(name) for name in ("loop", "step", "done"))
    backward = builder.icmp_signed("<", offset, I32(0))
    count = builder.select(backward, builder.neg(offset), offset)
    left = builder.select(builder.icmp_signed("==", count, I32(0)), I32(0), builder.sub(count, I32(1)))
    stride = builder.select(backward, I32(-1), I32(1))
    only = builder.icmp_signed("==", offset, I32(0))
    outside = builder.icmp_unsigned(">", base, I32(31))
    builder.cbranch(outside, done, loop)

    builder.position_at_end(loop)
    position, remaining = builder.phi(I32), builder.phi(I32)
    bit = builder.trunc(builder.lshr(mask, position), I1)
    hit = builder.and_(bit, builder.icmp_signed("==", remaining, I32(0)))
    builder.cbranch(hit, done, step)

    builder.position_at_end(step)
    following = builder.add(position, stride)
    fewer = builder.sub(remaining, builder.zext(bit, I32))
    over = builder.or_(only, builder.icmp_unsigned(">", following, I32(31)))
    builder.cbranch(over, done, loop)
    for phi, first, later in ((position, base, following), (remaining, left, fewer)):
        phi.add_incoming(first, entry)
        phi.add_incoming(later, step)

    builder.position_at_end(done)
    result = builder.phi(I32)
    result.add_incoming(I32(-1), entry)
    result.add_incoming(position, loop)
    result.add_incoming(I32(-1), step)
    return builder.select(builder.icmp_signed("==", offset, I32(-(1 << 31))), I32(0), result)


TABLE: dict[str, Lowering] = {
    **{opcode: pointwise(compute) for opcode, compute in _BOOLEAN.items()},
    "not": pointwise(lambda emit, a: emit.builder.not_(a)),
    "cnot": pointwise(_is_zero),
    "lop3": _lop3,
    "shl": _shl,
    "shr": _shr,
    "shf": _shf,
    "prmt": _prmt,
    "popc": pointwise(_population, "u32"),
    "clz": pointwise(_leading_zeros, "u32"),
    "bfind": _bfind,
    "brev": pointwise(lambda emit, a: emit.intrinsic(f"llvm.bitreverse.{a.type}", a.type, a)),
    "bfe": _bfe,
    "bfi": _bfi,
    "bmsk": _bmsk,
    "szext": _szext,
    "fns": _fns,
}

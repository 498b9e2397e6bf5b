"""Lowering of video instructions."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from gpuregress.virtual_gpu.builder.emit import Emit, Lowering, extend, larger, read_all, smaller
from gpuregress.virtual_gpu.builder.structured import I32
from gpuregress.virtual_gpu.isa.arithmetic.compare import SIGNS
from gpuregress.virtual_gpu.ptx.modifiers import integer_range, is_signed, modifier_among, unsupported
from gpuregress.virtual_gpu.ptx.tree import Instruction, Minus, Operand, Selected

# --- scalar video instructions ----------------------------------------------------------------------------------------


_WIDE = ir.IntType(64)
"""What every intermediate result is kept in; a number shifted left by 32 bits loses its top bit."""
_SHIFTED_BITS = 34
"""What saturation looks at of a shifted number."""
_SECOND = ("add", "min", "max")
_PARTS = {"b0": (0, 8), "b1": (8, 8), "b2": (16, 8), "b3": (24, 8), "h0": (0, 16), "h1": (16, 16)}
"""A selector's first bit and its bits."""


def _part(instruction: Instruction, operand: Operand) -> tuple[int, int]:
    if not isinstance(operand, Selected):
        return 0, 32
    if operand.part not in _PARTS:
        raise unsupported(instruction, f"it selects no .{operand.part}")
    return _PARTS[operand.part]


def _read(emit: Emit, instruction: Instruction, index: int, kind: str) -> ir.Value:
    """The selected part of a source operand, widened by its type; the caller negates."""
    operand = instruction.operands[index]
    if isinstance(operand, Minus):
        operand = operand.operand
    first, bits = _part(instruction, operand)
    if isinstance(operand, Selected):
        operand = operand.register
    value = emit.read(operand, "b32")
    if bits < 32:
        value = emit.builder.trunc(emit.builder.lshr(value, I32(first)), ir.IntType(bits))
    return extend(emit, value, _WIDE, signed=is_signed(kind))


def _clamped(emit: Emit, value: ir.Value, *, signed: bool) -> ir.Value:
    """The number clamped to the range of 32 bits."""
    lowest, highest = integer_range(32, signed=signed)
    return smaller(emit, larger(emit, value, _WIDE(lowest), signed=True), _WIDE(highest), signed=True)


def _saturated(emit: Emit, value: ir.Value, bits: int, *, signed: bool) -> ir.Value:
    """A result saturated to `bits` bits with `.sat`."""
    if bits < 32:
        # Compared as if it were unsigned: what lies below the lowest number becomes the highest.
        return smaller(emit, value, _WIDE((1 << (bits - signed)) - 1), signed=False)
    # An unsigned one is only kept from falling below 0: what exceeds 32 bits is cut off.
    return _clamped(emit, value, signed=True) if signed else larger(emit, value, _WIDE(0), signed=True)


def _sign_extended(emit: Emit, value: ir.Value, bits: int) -> ir.Value:
    return extend(emit, emit.builder.trunc(value, ir.IntType(bits)), _WIDE, signed=True)


def _finish(emit: Emit, instruction: Instruction, value: ir.Value, *, signed: bool) -> None:
    """Combines with the third operand: by `.add`, `.min`, `.max`, or where the target selects a part of it."""
    builder, target = emit.builder, instruction.operands[0]
    second = modifier_among(instruction, _SECOND)
    if second:
        other = extend(emit, emit.read(instruction.operands[3], "b32"), _WIDE, signed=signed)
        value = _combined(emit, second, value, other, signed=signed)
    result = builder.trunc(value, I32)
    if isinstance(target, Selected):
        first, bits = _part(instruction, target)
        mask = ((1 << bits) - 1) << first
        # Into the upper half goes the result's upper half, not its lower one.
        shifted = result if target.part == "h1" else builder.shl(result, I32(first))
        rest = builder.and_(emit.read(instruction.operands[3], "b32"), I32(0xFFFFFFFF ^ mask))
        result, target = builder.or_(builder.and_(shifted, I32(mask)), rest), target.register
    emit.write(target, result, "b32")


def _combined(emit: Emit, operation: str, a: ir.Value, b: ir.Value, *, signed: bool = True) -> ir.Value:
    """The result of an operation before saturation or truncation; no difference or sum overflows."""
    builder = emit.builder
    if operation in ("min", "vmin"):
        return smaller(emit, a, b, signed=signed)
    if operation in ("max", "vmax"):
        return larger(emit, a, b, signed=signed)
    if operation in ("add", "vadd"):
        return builder.add(a, b)
    if operation == "vavrg":
        total = builder.add(a, b)
        # The half is rounded away from zero: one is added to what is not negative.
        is_positive = builder.icmp_signed(">=", total, total.type(0))
        return builder.ashr(builder.add(total, builder.zext(is_positive, total.type)), total.type(1))
    difference = builder.sub(a, b)
    if operation == "vsub":
        return difference
    return emit.intrinsic(f"llvm.abs.{a.type}", a.type, difference, ir.IntType(1)(0))


def _arithmetic(emit: Emit, instruction: Instruction) -> None:
    target, a_type, b_type = instruction.modifiers[:3]
    a, b = _read(emit, instruction, 1, a_type), _read(emit, instruction, 2, b_type)
    value, signed = _combined(emit, instruction.opcode, a, b), is_signed(target)
    if "sat" in instruction.modifiers:
        _, bits = _part(instruction, instruction.operands[0])
        value = _saturated(emit, value, bits, signed=signed)
    if instruction.opcode in ("vadd", "vsub"):
        # `.min` and `.max` see 32 bits of these with their sign, of the others all bits.
        value = _sign_extended(emit, value, 32)
    _finish(emit, instruction, value, signed=signed)


def _shift(emit: Emit, instruction: Instruction) -> None:
    target, a_type, b_type = instruction.modifiers[:3]
    a, count = _read(emit, instruction, 1, a_type), _read(emit, instruction, 2, b_type)
    if "wrap" in instruction.modifiers:
        count = emit.builder.and_(count, _WIDE(31))
    elif "clamp" in instruction.modifiers:
        count = smaller(emit, count, _WIDE(32), signed=False)
    else:
        raise unsupported(instruction, "it needs .clamp or .wrap")
    shift = emit.builder.shl if instruction.opcode == "vshl" else emit.builder.ashr
    value, signed = shift(a, count), is_signed(target)
    if "sat" in instruction.modifiers:
        # To 32 bits, even if the target is a part of a register.
        value = _clamped(emit, _sign_extended(emit, value, _SHIFTED_BITS), signed=signed)
        value = _sign_extended(emit, value, 32)
    _finish(emit, instruction, value, signed=signed)


def _set(emit: Emit, instruction: Instruction) -> None:
    a_type, b_type, order = instruction.modifiers[:3]
    if order not in SIGNS:
        raise unsupported(instruction, f"it knows no .{order}")
    a, b = _read(emit, instruction, 1, a_type), _read(emit, instruction, 2, b_type)
    holds = emit.builder.icmp_signed(SIGNS[order], a, b)
    _finish(emit, instruction, emit.builder.zext(holds, _WIDE), signed=is_signed(a_type))


def _multiply_add(emit: Emit, instruction: Instruction) -> None:
    """(a · b) + c, one of the two negated, plus one under `.po`; scaled down, then saturated."""
    builder = emit.builder
    _, a_type, b_type = instruction.modifiers[:3]
    minus = [isinstance(operand, Minus) for operand in instruction.operands]
    product_negated = minus[1] != minus[2]
    signed = is_signed(a_type) or is_signed(b_type) or product_negated or minus[3]
    # Factors and sum are taken with their sign whatever their types; these only decide how it is shifted and saturated.
    a = _sign_extended(emit, _read(emit, instruction, 1, a_type), 32)
    b = _sign_extended(emit, _read(emit, instruction, 2, b_type), 32)
    product, addend = builder.mul(a, b), _read(emit, instruction, 3, "s32")
    if product_negated:
        product = builder.neg(product)
    if minus[3]:
        addend = builder.neg(addend)
    value = builder.add(product, addend)
    if "po" in instruction.modifiers:
        value = builder.add(value, _WIDE(1))
    scale = int(modifier_among(instruction, ("shr7", "shr15"), "shr0").removeprefix("shr"))
    value = builder.ashr(value, _WIDE(scale)) if signed else builder.lshr(value, _WIDE(scale))
    if "sat" in instruction.modifiers:
        value = _clamped(emit, value, signed=signed)
    emit.write(instruction.operands[0], builder.trunc(value, I32), "b32")


_SCALAR: dict[str, Lowering] = {
    **dict.fromkeys(("vadd", "vsub", "vabsdiff", "vmin", "vmax"), _arithmetic),
    "vshl": _shift,
    "vshr": _shift,
    "vset": _set,
    "vmad": _multiply_add,
}


# --- SIMD video instructions ------------------------------------------------------------------------------------------
# SIMD video instructions on halves or bytes: vadd vsub vavrg vabsdiff vmin vmax vset.
#
# CUDA's `__vabsdiffu4`, `__vsadu4` and similar functions compile to these. Masks and lane selectors are refused: the
# third operand is used by `.add` only.


def _lanes(emit: Emit, value: ir.Value, bits: int, *, signed: bool) -> list[ir.Value]:
    """The fields of `bits` bits of a register, each as an i32."""
    kind, builder = ir.IntType(bits), emit.builder
    fields = [builder.trunc(builder.lshr(value, I32(bit)), kind) for bit in range(0, 32, bits)]
    return [extend(emit, field, I32, signed=signed) for field in fields]


def _lane_pairs(
    emit: Emit, instruction: Instruction, types: Sequence[str], bits: int
) -> list[tuple[ir.Value, ir.Value]]:
    """The fields of `bits` bits of both operands, by the types of these, each as an i32."""
    a, b, _ = read_all(emit, instruction, "b32")
    lanes = (_lanes(emit, value, bits, signed=is_signed(kind)) for value, kind in zip((a, b), types, strict=True))
    return list(zip(*lanes, strict=True))


def _lane_arithmetic(emit: Emit, instruction: Instruction) -> None:
    target, *types = instruction.modifiers[:3]
    operation, bits = instruction.opcode[:-1], 32 // int(instruction.opcode[-1])
    results = [_combined(emit, operation, x, y) for x, y in _lane_pairs(emit, instruction, types, bits)]
    if "sat" in instruction.modifiers:
        lowest, highest = integer_range(bits, signed=is_signed(target))
        results = [
            smaller(emit, larger(emit, lane, I32(lowest), signed=True), I32(highest), signed=True) for lane in results
        ]
    _store_lanes(emit, instruction, results, bits)


def _lane_set(emit: Emit, instruction: Instruction) -> None:
    *types, order = instruction.modifiers[:3]
    if order not in SIGNS:
        raise unsupported(instruction, f"it knows no .{order}")
    bits, builder = 32 // int(instruction.opcode[-1]), emit.builder
    results = []
    for x, y in _lane_pairs(emit, instruction, types, bits):
        results.append(builder.zext(builder.icmp_signed(SIGNS[order], x, y), I32))
    _store_lanes(emit, instruction, results, bits)


def _store_lanes(emit: Emit, instruction: Instruction, lanes: list[ir.Value], bits: int) -> None:
    """Write the lanes side by side, or with `.add` the sum of the lanes and the third operand."""
    builder, kind = emit.builder, ir.IntType(bits)
    if "add" in instruction.modifiers:
        # An H200 adds the lanes before they are cut off: 0x7fff + 0x10020 of vadd2 carries on.
        result = emit.read(instruction.operands[3], "b32")
        for lane in lanes:
            result = builder.add(result, lane)
    else:
        cut = [builder.trunc(lane, kind) for lane in lanes]
        result = I32(0)
        for index, lane in enumerate(cut):
            result = builder.or_(result, builder.shl(builder.zext(lane, I32), I32(index * bits)))
    emit.write(instruction.operands[0], result, "b32")


_SIMD: dict[str, Lowering] = {"vset2": _lane_set, "vset4": _lane_set}
for _name in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"):
    _SIMD[f"{_name}2"] = _SIMD[f"{_name}4"] = _lane_arithmetic
TABLE: dict[str, Lowering] = {**_SCALAR, **_SIMD}

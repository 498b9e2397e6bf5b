"""Scalar video instructions: vadd vsub vabsdiff vmin vmax vshl vshr vmad vset. PTX ISA manual, "Scalar Video".

Each takes a byte, a half or all of two registers, works on them with room to spare, saturates if it is told to, and
combines the result with a third operand or puts it into a part of that.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.devices.cpu.lower.emit import Emit, Lowering, unsupported
from gpuregress.devices.cpu.lower.scalar import I32, extend, is_signed, larger, smaller
from gpuregress.devices.cpu.ptx.tree import Instruction, Minus, Operand, Selected

_WIDE = ir.IntType(128)
"""What every intermediate result fits: a 32-bit number shifted by 32 bits, a product with a sum."""
_ORDERS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_SECOND = ("add", "min", "max")
_PARTS = {"b0": (0, 8), "b1": (8, 8), "b2": (16, 8), "b3": (24, 8), "h0": (0, 16), "h1": (16, 16)}
"""A selector's first bit and its bits."""


def _part(instruction: Instruction, operand: Operand) -> tuple[int, int]:
    if not isinstance(operand, Selected):
        return 0, 32
    if operand.part not in _PARTS:
        raise unsupported(instruction, f"it selects no .{operand.part}")
    return _PARTS[operand.part]


def _read(emit: Emit, instruction: Instruction, place: int, kind: str) -> ir.Value:
    """A source operand's part, widened by its type; a minus before it is the caller's affair."""
    operand = instruction.operands[place]
    if isinstance(operand, Minus):
        operand = operand.operand
    first, bits = _part(instruction, operand)
    value = emit.read(operand.register if isinstance(operand, Selected) else operand, "b32")
    cut = emit.builder.trunc(emit.builder.lshr(value, I32(first)), ir.IntType(bits)) if bits < 32 else value
    return extend(emit, cut, _WIDE, signed=is_signed(kind))


def _clamped(emit: Emit, value: ir.Value, bits: int, *, signed: bool) -> ir.Value:
    lowest, highest = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return smaller(emit, larger(emit, value, _WIDE(lowest), signed=True), _WIDE(highest), signed=True)


def _finish(emit: Emit, instruction: Instruction, value: ir.Value, *, signed: bool) -> None:
    """Saturates, then combines with the third operand: by `.add`, `.min`, `.max`, or where it selects a part of it."""
    builder, target = emit.builder, instruction.operands[0]
    first, bits = _part(instruction, target)
    if "sat" in instruction.modifiers:
        value = _clamped(emit, value, bits, signed=signed)
    second = next((word for word in instruction.modifiers if word in _SECOND), "")
    if second:
        other = extend(emit, emit.read(instruction.operands[3], "b32"), _WIDE, signed=signed)
        value = _combined(emit, second, value, other)
    result = builder.trunc(value, I32)
    if isinstance(target, Selected):
        mask = ((1 << bits) - 1) << first
        placed = builder.and_(builder.shl(result, I32(first)), I32(mask))
        rest = builder.and_(emit.read(instruction.operands[3], "b32"), I32(0xFFFFFFFF ^ mask))
        result, target = builder.or_(placed, rest), target.register
    emit.write(target, result, "b32")


def _combined(emit: Emit, operation: str, a: ir.Value, b: ir.Value) -> ir.Value:
    builder = emit.builder
    if operation in ("min", "vmin"):
        return smaller(emit, a, b, signed=True)
    if operation in ("max", "vmax"):
        return larger(emit, a, b, signed=True)
    if operation in ("add", "vadd"):
        return builder.add(a, b)
    difference = builder.sub(a, b)
    if operation == "vsub":
        return difference
    return emit.intrinsic("llvm.abs.i128", _WIDE, difference, ir.IntType(1)(0))


def _arithmetic(emit: Emit, instruction: Instruction) -> None:
    target, a_type, b_type = instruction.modifiers[:3]
    a, b = _read(emit, instruction, 1, a_type), _read(emit, instruction, 2, b_type)
    _finish(emit, instruction, _combined(emit, instruction.opcode, a, b), signed=is_signed(target))


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
    _finish(emit, instruction, shift(a, count), signed=is_signed(target))


def _set(emit: Emit, instruction: Instruction) -> None:
    a_type, b_type, order = instruction.modifiers[:3]
    if order not in _ORDERS:
        raise unsupported(instruction, f"it knows no .{order}")
    a, b = _read(emit, instruction, 1, a_type), _read(emit, instruction, 2, b_type)
    holds = emit.builder.icmp_signed(_ORDERS[order], a, b)
    _finish(emit, instruction, emit.builder.zext(holds, _WIDE), signed=False)


def _multiply_add(emit: Emit, instruction: Instruction) -> None:
    """(a · b) + c, one of the two negated, plus one under `.po`; scaled down, then saturated."""
    builder = emit.builder
    _, a_type, b_type = instruction.modifiers[:3]
    minus = [isinstance(operand, Minus) for operand in instruction.operands]
    product_negated = minus[1] != minus[2]
    signed = is_signed(a_type) or is_signed(b_type) or product_negated or minus[3]
    product = builder.mul(_read(emit, instruction, 1, a_type), _read(emit, instruction, 2, b_type))
    addend = _read(emit, instruction, 3, "s32" if signed else "u32")
    if product_negated:
        product = builder.neg(product)
    if minus[3]:
        addend = builder.neg(addend)
    value = builder.add(product, addend)
    if "po" in instruction.modifiers:
        value = builder.add(value, _WIDE(1))
    scale = next((int(word[3:]) for word in instruction.modifiers if word in ("shr7", "shr15")), 0)
    value = builder.ashr(value, _WIDE(scale))
    if "sat" in instruction.modifiers:
        value = _clamped(emit, value, 32, signed=signed)
    emit.write(instruction.operands[0], builder.trunc(value, I32), "b32")


TABLE: dict[str, Lowering] = {
    **dict.fromkeys(("vadd", "vsub", "vabsdiff", "vmin", "vmax"), _arithmetic),
    "vshl": _shift,
    "vshr": _shift,
    "vset": _set,
    "vmad": _multiply_add,
}

"""SIMD video instructions on halves or bytes: vadd vsub vavrg vabsdiff vmin vmax vset.

CUDA's `__vabsdiffu4`, `__vsadu4` and similar functions compile to these. Masks and lane selectors are refused: the
third operand is used by `.add` only.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.emit import Emit, Lowering
from gpuregress.virtual_gpu.builder.scalar import extend, larger, read_all, smaller
from gpuregress.virtual_gpu.builder.types import I32
from gpuregress.virtual_gpu.ptx.errors import unsupported
from gpuregress.virtual_gpu.ptx.tree import Instruction
from gpuregress.virtual_gpu.ptx.types import is_signed

_ORDERS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _lanes(emit: Emit, value: ir.Value, bits: int, *, signed: bool) -> list[ir.Value]:
    """The fields of `bits` bits of a register, each as an i32."""
    kind, builder = ir.IntType(bits), emit.builder
    fields = [builder.trunc(builder.lshr(value, I32(bit)), kind) for bit in range(0, 32, bits)]
    return [extend(emit, field, I32, signed=signed) for field in fields]


def _combined(emit: Emit, operation: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """One lane's result before saturation or truncation; both operands fit in an i32 without overflow."""
    builder = emit.builder
    if operation == "vadd":
        return builder.add(a, b)
    if operation == "vsub":
        return builder.sub(a, b)
    if operation == "vavrg":
        total = builder.add(a, b)
        # The half is rounded away from zero: one is added to what is not negative.
        return builder.ashr(builder.add(total, builder.zext(builder.icmp_signed(">=", total, I32(0)), I32)), I32(1))
    if operation == "vmin":
        return smaller(emit, a, b, signed=True)
    if operation == "vmax":
        return larger(emit, a, b, signed=True)
    return builder.sub(larger(emit, a, b, signed=True), smaller(emit, a, b, signed=True))


def _arithmetic(emit: Emit, instruction: Instruction) -> None:
    target, a_type, b_type = instruction.modifiers[:3]
    operation, bits = instruction.opcode[:-1], 32 // int(instruction.opcode[-1])
    a, b, _ = read_all(emit, instruction, "b32")
    signed = is_signed(target)
    pairs = zip(
        _lanes(emit, a, bits, signed=is_signed(a_type)), _lanes(emit, b, bits, signed=is_signed(b_type)), strict=True
    )
    results = [_combined(emit, operation, x, y) for x, y in pairs]
    if "sat" in instruction.modifiers:
        lowest, highest = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        results = [
            smaller(emit, larger(emit, lane, I32(lowest), signed=True), I32(highest), signed=True) for lane in results
        ]
    _store(emit, instruction, results, bits)


def _set(emit: Emit, instruction: Instruction) -> None:
    a_type, b_type, order = instruction.modifiers[:3]
    if order not in _ORDERS:
        raise unsupported(instruction, f"it knows no .{order}")
    bits = 32 // int(instruction.opcode[-1])
    a, b, _ = read_all(emit, instruction, "b32")
    pairs = zip(
        _lanes(emit, a, bits, signed=is_signed(a_type)), _lanes(emit, b, bits, signed=is_signed(b_type)), strict=True
    )
    builder = emit.builder
    results = [builder.zext(builder.icmp_signed(_ORDERS[order], x, y), I32) for x, y in pairs]
    _store(emit, instruction, results, bits)


def _store(emit: Emit, instruction: Instruction, lanes: list[ir.Value], bits: int) -> None:
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


TABLE: dict[str, Lowering] = {
    **{
        f"{name}{lanes}": _arithmetic
        for name in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax")
        for lanes in (2, 4)
    },
    "vset2": _set,
    "vset4": _set,
}

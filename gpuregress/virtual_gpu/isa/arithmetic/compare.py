"""Comparison and selection: setp set selp slct, of integers, floats, and single or packed halves."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.emit import Emit, Lowering, halves, integer, pack
from gpuregress.virtual_gpu.builder.structured import F32, I16
from gpuregress.virtual_gpu.isa.arithmetic.bits import combine
from gpuregress.virtual_gpu.isa.arithmetic.half import format_of
from gpuregress.virtual_gpu.isa.arithmetic.ieee754 import flush, flush_bits, widen
from gpuregress.virtual_gpu.ptx.modifiers import BITS, HALVES, is_signed, type_of, unsupported
from gpuregress.virtual_gpu.ptx.tree import Instruction, Operand, Pair

SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UNSIGNED = {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}


def _float_order(emit: Emit, order: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """A comparison of floats: `ne` is false for a NaN, `neu` and the other `u` forms true."""
    builder = emit.builder
    if order == "num":
        return builder.fcmp_ordered("ord", a, b)
    if order == "nan":
        return builder.fcmp_unordered("uno", a, b)
    if order in SIGNS:
        return builder.fcmp_ordered(SIGNS[order], a, b)
    return builder.fcmp_unordered(SIGNS[order.removesuffix("u")], a, b)


def _integer_order(emit: Emit, order: str, a: ir.Value, b: ir.Value, *, signed: bool) -> ir.Value:
    if signed and order in SIGNS:
        return emit.builder.icmp_signed(SIGNS[order], a, b)
    return emit.builder.icmp_unsigned(SIGNS.get(order) or _UNSIGNED[order], a, b)


def _compared(emit: Emit, instruction: Instruction, type_name: str) -> list[ir.Value]:
    """The result of the comparison: one i1, or two for a packed type, the lower half first."""
    order, flushed = instruction.modifiers[0], "ftz" in instruction.modifiers
    a, b = emit.read(instruction.operands[1], type_name), emit.read(instruction.operands[2], type_name)
    if type_name in HALVES:
        form = format_of(type_name)
        pairs = [(a, b)]
        if type_name.endswith("x2"):
            pairs = list(zip(halves(emit, a), halves(emit, b), strict=True))
        outcomes = []
        for pair in pairs:
            x, y = pair
            if flushed:
                x, y = flush_bits(emit, x, form), flush_bits(emit, y, form)
            outcomes.append(_float_order(emit, order, widen(emit, x, form), widen(emit, y, form)))
        return outcomes
    if type_name in ("f32", "f64"):
        if flushed:
            a, b = flush(emit, a), flush(emit, b)
        return [_float_order(emit, order, a, b)]
    return [_integer_order(emit, order, a, b, signed=is_signed(type_name))]


def _joined(emit: Emit, instruction: Instruction, outcome: ir.Value) -> ir.Value:
    """The result combined with the predicate operand, if there is one, by `.and`, `.or` or `.xor`."""
    if len(instruction.operands) < 4:
        return outcome
    return combine(emit, instruction, outcome, emit.read(instruction.operands[3], "pred"))


def _setp(emit: Emit, instruction: Instruction) -> None:
    """Set one or two predicates: the second is the complement, or the upper half's result of a packed comparison."""
    outcomes = _compared(emit, instruction, type_of(instruction))
    destination = instruction.operands[0]
    targets: list[Operand] = [destination]
    if isinstance(destination, Pair):
        targets = [destination.first, destination.second]
    if len(outcomes) < len(targets):
        outcomes.append(emit.builder.not_(outcomes[0]))
    results = [_joined(emit, instruction, outcome) for outcome in outcomes[: len(targets)]]
    for target, result in zip(targets, results, strict=True):
        emit.write(target, result, "pred")


def _set(emit: Emit, instruction: Instruction) -> None:
    """Set a register to true or false: all ones or 0 of an integer, 1.0 or 0.0 of a float."""
    builder = emit.builder
    target, source = instruction.modifiers[-2:]
    outcomes = [_joined(emit, instruction, outcome) for outcome in _compared(emit, instruction, source)]
    if target == "f32":
        emit.write(instruction.operands[0], builder.select(outcomes[0], F32(1.0), F32(0.0)), target)
        return
    if target in HALVES:
        true = I16(0x3F80 if target.startswith("bf16") else 0x3C00)
        lanes = [builder.select(outcome, true, I16(0)) for outcome in outcomes]
    else:
        lane_type = integer(target) if len(outcomes) == 1 else I16
        lanes = [builder.sext(outcome, lane_type) for outcome in outcomes]
    result = pack(emit, lanes[0], lanes[1]) if len(lanes) == 2 else lanes[0]
    emit.write(instruction.operands[0], result, target)


def _selp(emit: Emit, instruction: Instruction) -> None:
    type_name = type_of(instruction)
    a, b = (emit.read(operand, type_name) for operand in instruction.operands[1:3])
    condition = emit.read(instruction.operands[3], "pred")
    emit.write(instruction.operands[0], emit.builder.select(condition, a, b), type_name)


def _slct(emit: Emit, instruction: Instruction) -> None:
    """Select the first operand if the third is at least 0; -0 counts as 0, a NaN does not."""
    builder = emit.builder
    type_name, selector = instruction.modifiers[-2:]
    a, b = (emit.read(operand, type_name) for operand in instruction.operands[1:3])
    c = emit.read(instruction.operands[3], selector)
    if selector == "f32":
        if "ftz" in instruction.modifiers:
            c = flush(emit, c)
        first = builder.fcmp_ordered(">=", c, F32(0.0))
    elif selector == "s32":
        first = builder.icmp_signed(">=", c, c.type(0))
    else:
        raise unsupported(instruction, f"it selects by .s32 or .f32, not .{selector}")
    assert BITS[type_name] in (16, 32, 64)
    emit.write(instruction.operands[0], builder.select(first, a, b), type_name)


TABLE: dict[str, Lowering] = {"setp": _setp, "set": _set, "selp": _selp, "slct": _slct}

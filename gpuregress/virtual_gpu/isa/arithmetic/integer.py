"""Lowering of integer arithmetic, with carry and with constant divisors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.analysis.control_flow_graph import single_definitions
from gpuregress.virtual_gpu.builder.emit import Emit, Lowering, by_halves, extend, larger, pointwise, read_all, smaller
from gpuregress.virtual_gpu.builder.structured import I1, I32
from gpuregress.virtual_gpu.ptx.modifiers import BITS, is_signed, type_of, unsupported
from gpuregress.virtual_gpu.ptx.tree import Float, Function, Instruction, Integer, Module, Operand, Register, Statement

# --- whole numbers ----------------------------------------------------------------------------------------------------


def _sum(emit: Emit, instruction: Instruction, operation: str) -> None:
    type_name = type_of(instruction)
    a, b = read_all(emit, instruction, type_name)
    method = emit.builder.add if operation == "add" else emit.builder.sub
    if type_name.endswith("x2"):
        result = by_halves(emit, method, a, b)
    elif "sat" in instruction.modifiers:
        result = emit.intrinsic(f"llvm.s{operation}.sat.{a.type}", a.type, a, b)
    else:
        result = method(a, b)
    emit.write(instruction.operands[0], result, type_name)


def _product(emit: Emit, instruction: Instruction, a: ir.Value, b: ir.Value) -> tuple[ir.Value, str]:
    """A product under `.lo`, `.hi` or `.wide`, and the type it has."""
    builder, type_name = emit.builder, type_of(instruction)
    if "lo" in instruction.modifiers:
        return builder.mul(a, b), type_name
    signed, bits = is_signed(type_name), BITS[type_name]
    double = ir.IntType(2 * bits)
    product = builder.mul(extend(emit, a, double, signed=signed), extend(emit, b, double, signed=signed))
    if "wide" in instruction.modifiers:
        return product, f"{type_name[0]}{2 * bits}"
    if "hi" in instruction.modifiers:
        return builder.trunc(builder.lshr(product, double(bits)), a.type), type_name
    raise unsupported(instruction, "it needs .lo, .hi or .wide")


def _mul(emit: Emit, instruction: Instruction) -> None:
    a, b = read_all(emit, instruction, type_of(instruction))
    result, result_type = _product(emit, instruction, a, b)
    emit.write(instruction.operands[0], result, result_type)


def _mad(emit: Emit, instruction: Instruction) -> None:
    type_name = type_of(instruction)
    a, b = (emit.read(operand, type_name) for operand in instruction.operands[1:3])
    product, result_type = _product(emit, instruction, a, b)
    _accumulate(emit, instruction, product, result_type)


def _accumulate(emit: Emit, instruction: Instruction, product: ir.Value, result_type: str) -> None:
    """Add the third operand, saturating with `.sat`."""
    c = emit.read(instruction.operands[3], result_type)
    if "sat" in instruction.modifiers:
        result = emit.intrinsic(f"llvm.sadd.sat.{c.type}", c.type, product, c)
    else:
        result = emit.builder.add(product, c)
    emit.write(instruction.operands[0], result, result_type)


def _product24(emit: Emit, instruction: Instruction) -> ir.Value:
    """The low (`.lo`) or high (`.hi`: from bit 16) 32 bits of the 48-bit product of two 24-bit operands."""
    builder, type_name = emit.builder, type_of(instruction)
    signed, wide = is_signed(type_name), ir.IntType(64)
    factors = []
    for operand in instruction.operands[1:3]:
        shifted = builder.shl(extend(emit, emit.read(operand, type_name), wide, signed=signed), wide(40))
        factors.append(builder.ashr(shifted, wide(40)) if signed else builder.lshr(shifted, wide(40)))
    product = builder.mul(*factors)
    if "hi" in instruction.modifiers:
        product = builder.lshr(product, wide(16))
    return builder.trunc(product, I32)


def _mul24(emit: Emit, instruction: Instruction) -> None:
    emit.write(instruction.operands[0], _product24(emit, instruction), type_of(instruction))


def _mad24(emit: Emit, instruction: Instruction) -> None:
    _accumulate(emit, instruction, _product24(emit, instruction), type_of(instruction))


def _sad(emit: Emit, instruction: Instruction) -> None:
    builder, type_name = emit.builder, type_of(instruction)
    a, b, c = read_all(emit, instruction, type_name)
    signed = is_signed(type_name)
    distance = builder.sub(larger(emit, a, b, signed=signed), smaller(emit, a, b, signed=signed))
    emit.write(instruction.operands[0], builder.add(c, distance), type_name)


def _quotient(emit: Emit, instruction: Instruction, *, remainder: bool) -> None:
    builder, type_name = emit.builder, type_of(instruction)
    a, b = read_all(emit, instruction, type_name)
    zero = builder.icmp_signed("==", b, b.type(0))
    unsafe = zero
    if is_signed(type_name):
        lowest = builder.icmp_signed("==", a, a.type(-(1 << (a.type.width - 1))))
        unsafe = builder.or_(zero, builder.and_(lowest, builder.icmp_signed("==", b, b.type(-1))))
    # a / 1 = a and a % 1 = 0 are the right answers of INT_MIN / -1, so one divisor serves both unsafe cases.
    divisor = builder.select(unsafe, b.type(1), b)
    if is_signed(type_name):
        result = builder.srem(a, divisor) if remainder else builder.sdiv(a, divisor)
    else:
        result = builder.urem(a, divisor) if remainder else builder.udiv(a, divisor)
    emit.write(instruction.operands[0], builder.select(zero, a.type(-1), result), type_name)


def _magnitude(emit: Emit, a: ir.Value) -> ir.Value:
    """The absolute value; the negative of the lowest number is itself, as on the hardware."""
    return larger(emit, a, emit.builder.neg(a), signed=True)


def _extreme(emit: Emit, instruction: Instruction, choose: Callable[..., ir.Value]) -> None:
    type_name = type_of(instruction)
    a, b = read_all(emit, instruction, type_name)
    signed = is_signed(type_name)

    def pick(x: ir.Value, y: ir.Value) -> ir.Value:
        chosen = choose(emit, x, y, signed=signed)
        if "relu" in instruction.modifiers:
            chosen = larger(emit, chosen, x.type(0), signed=True)
        return chosen

    result = by_halves(emit, pick, a, b) if type_name.endswith("x2") else pick(a, b)
    emit.write(instruction.operands[0], result, type_name)


def _part(emit: Emit, value: ir.Value, bit: int, bits: int, *, signed: bool) -> ir.Value:
    """The field of `bits` bits at `bit`, as an i32."""
    builder = emit.builder
    narrow = builder.trunc(builder.lshr(value, I32(bit)), ir.IntType(bits))
    return extend(emit, narrow, I32, signed=signed)


def _dot(emit: Emit, instruction: Instruction, pairs: list[tuple[int, int]], a_bits: int) -> None:
    """Add to c the products of fields of a (`a_bits` wide) and bytes of b; `pairs` holds their first bits."""
    a_type, b_type = instruction.modifiers[-2:]
    a, b, c = read_all(emit, instruction, "b32")
    for a_bit, b_bit in pairs:
        x = _part(emit, a, a_bit, a_bits, signed=is_signed(a_type))
        y = _part(emit, b, b_bit, 8, signed=is_signed(b_type))
        c = emit.builder.add(c, emit.builder.mul(x, y))
    result_type = "s32" if is_signed(a_type) or is_signed(b_type) else "u32"
    emit.write(instruction.operands[0], c, result_type)


def _dp4a(emit: Emit, instruction: Instruction) -> None:
    _dot(emit, instruction, [(bit, bit) for bit in (0, 8, 16, 24)], 8)


def _dp2a(emit: Emit, instruction: Instruction) -> None:
    first = 16 if "hi" in instruction.modifiers else 0
    _dot(emit, instruction, [(0, first), (16, first + 8)], 16)


TABLE: dict[str, Lowering] = {
    "add": partial(_sum, operation="add"),
    "sub": partial(_sum, operation="sub"),
    "mul": _mul,
    "mad": _mad,
    "mul24": _mul24,
    "mad24": _mad24,
    "sad": _sad,
    "div": partial(_quotient, remainder=False),
    "rem": partial(_quotient, remainder=True),
    "abs": pointwise(_magnitude),
    "neg": pointwise(lambda emit, a: emit.builder.neg(a)),
    "min": partial(_extreme, choose=smaller),
    "max": partial(_extreme, choose=larger),
    "dp4a": _dp4a,
    "dp2a": _dp2a,
}


# --- sums with carry --------------------------------------------------------------------------------------------------
# Extended-precision arithmetic through the thread's carry flag: add.cc addc sub.cc subc mad.cc madc.
#
# The flag is the carry out of the adder, also after a subtraction, which adds the complement: set where nothing was
# borrowed. The PTX manual calls it a borrow, which is the same within a chain of subtractions; an `addc` after a
# `sub.cc`, as in NVRTC's 128-bit division, shows the difference.


def _finish(emit: Emit, instruction: Instruction, wide: ir.Value, *, borrows: bool = False) -> None:
    """Write the low bits of a sum or difference computed one bit wider, and with `.cc` the carry flag."""
    builder, type_name = emit.builder, type_of(instruction)
    narrow = ir.IntType(wide.type.width - 1)
    if "cc" in instruction.modifiers:
        above = builder.trunc(builder.lshr(wide, wide.type(narrow.width)), I1)
        if borrows:
            above = builder.not_(above)
        emit.write_carry(above)
    emit.write(instruction.operands[0], builder.trunc(wide, narrow), type_name)


def _wide(emit: Emit, values: list[ir.Value]) -> list[ir.Value]:
    to = ir.IntType(values[0].type.width + 1)
    return [emit.builder.zext(value, to) for value in values]


def _add_with_carry(emit: Emit, instruction: Instruction, *, carry_in: bool = False) -> None:
    a, b = _wide(emit, read_all(emit, instruction, type_of(instruction)))
    total = emit.builder.add(a, b)
    if carry_in:
        total = emit.builder.add(total, emit.builder.zext(emit.read_carry(), total.type))
    _finish(emit, instruction, total)


def _subtract_with_borrow(emit: Emit, instruction: Instruction, *, borrow_in: bool = False) -> None:
    a, b = _wide(emit, read_all(emit, instruction, type_of(instruction)))
    difference = emit.builder.sub(a, b)
    if borrow_in:
        borrow = emit.builder.not_(emit.read_carry())
        difference = emit.builder.sub(difference, emit.builder.zext(borrow, difference.type))
    _finish(emit, instruction, difference, borrows=True)


def _mad_with_carry(emit: Emit, instruction: Instruction, *, carry_in: bool = False) -> None:
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


CARRY_TABLE: dict[str, Lowering] = {
    "add": _add_with_carry,
    "addc": partial(_add_with_carry, carry_in=True),
    "sub": _subtract_with_borrow,
    "subc": partial(_subtract_with_borrow, borrow_in=True),
    "mad": _mad_with_carry,
    "madc": partial(_mad_with_carry, carry_in=True),
}


# --- constant divisors ------------------------------------------------------------------------------------------------
# Constant propagation into the divisors of approximate divisions.
#
# ptxas multiplies by the correctly rounded reciprocal of a divisor that it knows, in place of the special-function
# unit's. So the divisor has to be a constant of the instruction before it is lowered.


_DIVISOR = {"div": 2, "rcp": 1}


def with_constant_divisors(tree: Module) -> Module:
    """The module with registers that hold one constant replaced by it where they are divisors."""
    return replace(tree, functions=tuple(map(_propagated, tree.functions)))


def _propagated(function: Function) -> Function:
    body = function.statements
    if not any(_is_approximate(item) for item in body):
        return function
    definitions = single_definitions(body)
    return replace(function, body=tuple(_with_constant(item, definitions) for item in body))


def _is_approximate(item: Statement) -> bool:
    if not isinstance(item, Instruction) or item.opcode not in _DIVISOR or type_of(item) != "f32":
        return False
    return not {"approx", "full"}.isdisjoint(item.modifiers)


def _with_constant(item: Statement, definitions: dict[str, Instruction]) -> Statement:
    if not isinstance(item, Instruction) or not _is_approximate(item):
        return item
    operands, position = list(item.operands), _DIVISOR[item.opcode]
    constant = _constant(operands[position], definitions)
    if constant is None:
        return item
    operands[position] = constant
    return replace(item, operands=tuple(operands))


def _constant(operand: Operand, definitions: dict[str, Instruction]) -> Float | None:
    """The constant that a register holds."""
    for _ in definitions:  # Not more often: moves may copy registers in a circle.
        if not isinstance(operand, Register) or operand.name not in definitions:
            break
        move = definitions[operand.name]
        if move.opcode != "mov":
            break
        operand = move.operands[1]
        if isinstance(operand, Integer) and type_of(move) in ("b32", "s32", "u32"):
            return Float(operand.value & 0xFFFFFFFF, 32)
    return operand if isinstance(operand, Float) else None

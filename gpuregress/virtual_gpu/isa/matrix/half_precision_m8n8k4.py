"""Half-precision mma of shape m8n8k4, in ordinary f32 arithmetic, as ptxas writes it for sm_90.

Hopper's tensor cores have no such product. The order of the additions was read off the machine code; an H200 gave the
same bits. Lanes 4 q to 4 q + 3 and the 4 lanes 16 further on compute a product of their own, for q from 0 to 3.

PTX ISA manual, 9.7.14.5.1.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.emit import Emit
from gpuregress.virtual_gpu.builder.services import Services, subroutine_body
from gpuregress.virtual_gpu.builder.structured import at, element, i32
from gpuregress.virtual_gpu.builder.types import F32, I32
from gpuregress.virtual_gpu.isa.arithmetic.ieee754 import canonical
from gpuregress.virtual_gpu.isa.arithmetic.narrow_floats import F16, round_to, widen
from gpuregress.virtual_gpu.isa.matrix.matrix_element import element_of
from gpuregress.virtual_gpu.isa.matrix.warp_area import MULTIPLY, area, meet, own_lane, show
from gpuregress.virtual_gpu.ptx.tree import Instruction, Operand, elements

_HALF = element_of("f16")
_COUNT = 8
"""Elements of C and D that a lane holds."""


def lower(emitter: Services, instruction: Instruction) -> None:
    """Lower `mma.m8n8k4` of f16."""
    target, left, right, addend = instruction.operands
    words = instruction.modifiers
    orders = [word for word in words if word in ("row", "col")]
    types = [word for word in words if word in ("f16", "f32")]
    result, accumulator = types[0], types[3]
    starts, end = [], 0
    for operand in (left, right, addend):
        starts.append(end)
        end = show(emitter, end, [emitter.read(item, "b32") for item in elements(operand)])
    meet(emitter, MULTIPLY)
    b, everything, lane = emitter.builder, area(emitter), own_lane(emitter)
    shown = [at(b, everything, start) for start in starts]

    def build(builder: ir.IRBuilder, given: tuple[ir.Value, ...]) -> ir.Value:
        with subroutine_body(emitter, builder):
            return _element(emitter, (result, accumulator), orders, given)

    parameters = (*(value.type for value in shown), I32, I32)
    name = f"mma.m8n8k4.{orders[0]}.{orders[1]}.{result}.{accumulator}"
    compute = emitter.subroutine(name, F32, parameters, build)
    numbers = [_number(b, result, lane, index) for index in range(_COUNT)]
    _write(emitter, result, target, [b.call(compute, (*shown, lane, number)) for number in numbers])


def _element(emit: Emit, types: tuple[str, str], orders: list[str], given: tuple[ir.Value, ...]) -> ir.Value:
    """An element of D, whose row and column are the upper and the lower three bits of its number."""
    b = emit.builder
    left, right, addend, lane, number = given
    first = b.and_(lane, i32(12))  # of the four lanes
    row, column = b.lshr(number, i32(3)), b.and_(number, i32(7))
    factors = []
    for step in range(4):
        x = _factor(emit, left, first, row, step, holds_depth=orders[0] == "row")
        y = _factor(emit, right, first, column, step, holds_depth=orders[1] == "col")
        factors.append((x, y))
    total = _addend(emit, types[1], addend, first, row, column)
    for chain in [factors] if types[0] == "f32" else [factors[:2], factors[2:]]:
        part: ir.Value = F32(0.0)
        for x, y in chain:
            part = emit.intrinsic("llvm.fma.f32", F32, x, y, part)
        total = b.fadd(total, part)
    return total


def _addend(emit: Emit, kind: str, shown: ir.Value, first: ir.Value, row: ir.Value, column: ir.Value) -> ir.Value:
    """An element of C as f32, wherever it is held."""
    b = emit.builder
    owner = b.or_(first, b.shl(b.lshr(row, i32(2)), i32(4)))
    if kind == "f16":
        owner = b.or_(owner, b.and_(row, i32(3)))
        return widen(emit, _HALF.load_bits(emit, shown, b.or_(b.shl(owner, i32(3)), column)), F16)
    owner = b.or_(owner, b.or_(b.and_(row, i32(1)), b.and_(column, i32(2))))
    index = b.or_(b.and_(row, i32(2)), b.and_(column, i32(5)))
    return b.load(element(b, shown, b.or_(b.shl(owner, i32(3)), index), F32), typ=F32, align=4)


def _factor(
    emit: Emit, shown: ir.Value, first: ir.Value, position: ir.Value, step: int, *, holds_depth: bool
) -> ir.Value:
    """An element of A or B as f32: its row or column `position`, and its place `step` along the depth.

    A lane holds four elements along the depth, or four neighbours across it.
    """
    b = emit.builder
    low, far = b.and_(position, i32(3)), b.shl(b.lshr(position, i32(2)), i32(4))
    inner, index = (low, i32(step)) if holds_depth else (i32(step), low)
    owner = b.or_(b.or_(first, far), inner)
    return widen(emit, _HALF.load_bits(emit, shown, b.or_(b.shl(owner, i32(2)), index)), F16)


def _number(b: ir.IRBuilder, kind: str, lane: ir.Value, index: int) -> ir.Value:
    """The row-major number (i32) of a lane's element of D."""
    below = b.lshr(b.and_(lane, i32(16)), i32(2))
    if kind == "f16":
        row, column = b.or_(b.and_(lane, i32(3)), below), i32(index)
    else:
        row = b.or_(b.or_(b.and_(lane, i32(1)), i32(index & 2)), below)
        column = b.or_(b.and_(lane, i32(2)), i32(index & 5))
    return b.or_(b.shl(row, i32(3)), column)


def _write(emitter: Services, kind: str, operand: Operand, values: list[ir.Value]) -> None:
    b, registers = emitter.builder, elements(operand)
    if kind == "f32":
        for register, value in zip(registers, values, strict=True):
            emitter.write(register, canonical(emitter, value), "f32")
        return
    halves = [b.zext(round_to(emitter, value, F16, "rn"), I32) for value in values]
    for number, register in enumerate(registers):
        emitter.write(register, b.or_(halves[2 * number], b.shl(halves[2 * number + 1], i32(16))), "b32")

"""PTX's scalar types as LLVM sees them, and the constants and small selections every family builds from.

Half precision (`f16`, `bf16`) travels as its bits, an i16; the packed forms as an i32.
"""

from __future__ import annotations

import re

from llvmlite import ir

from gpuregress.devices.cpu.builder.emit import Emit
from gpuregress.devices.cpu.ptx.tree import Instruction

I1, I8, I16, I32, I64 = (ir.IntType(width) for width in (1, 8, 16, 32, 64))
F32, F64 = ir.FloatType(), ir.DoubleType()

_WIDTHS = {"pred": 1, "f16x2": 32, "bf16x2": 32, "bf16": 16, "s16x2": 32, "u16x2": 32, "tf32": 32, "f32x2": 64}
_NARROW = {"e4m3x2": 16, "e5m2x2": 16}
_TYPE = re.compile(r"pred|[bsu](8|16|32|64)|b?f16(x2)?|t?f32|f64|[su]16x2|f32x2|e4m3x2|e5m2x2")
ROUNDINGS = ("rn", "rz", "rm", "rp")


def width(type_name: str) -> int:
    """Bits of a PTX type: 32 for `s32` and `f16x2`, 1 for `pred`."""
    return _WIDTHS.get(type_name) or _NARROW.get(type_name) or int(type_name[1:])


def is_signed(type_name: str) -> bool:
    """Whether a PTX type is a signed integer (or a pair of them)."""
    return type_name[0] == "s"


def integer(type_name: str) -> ir.IntType:
    """The LLVM integer that holds a PTX type's bits."""
    return ir.IntType(width(type_name))


def type_of(instruction: Instruction) -> str:
    """The instruction's type: the last modifier that is one (`min.s32.relu` ends in something else)."""
    return next((word for word in reversed(instruction.modifiers) if _TYPE.fullmatch(word)), "")


def rounding_of(instruction: Instruction, default: str = "rn") -> str:
    """The rounding modifier, or what the instruction does without one."""
    return next((word for word in instruction.modifiers if word in ROUNDINGS), default)


def read_all(emit: Emit, instruction: Instruction, type_name: str, start: int = 1) -> list[ir.Value]:
    """The values of the source operands from `start` on, all of one type."""
    return [emit.read(operand, type_name) for operand in instruction.operands[start:]]


def extend(emit: Emit, value: ir.Value, to: ir.IntType, *, signed: bool) -> ir.Value:
    """Widens an integer, or leaves it as it is where it has that width already."""
    if value.type.width == to.width:
        return value
    return emit.builder.sext(value, to) if signed else emit.builder.zext(value, to)


def resize(emit: Emit, value: ir.Value, to: ir.IntType, *, signed: bool) -> ir.Value:
    """Widens or truncates an integer."""
    if value.type.width > to.width:
        return emit.builder.trunc(value, to)
    return extend(emit, value, to, signed=signed)


def smaller(emit: Emit, a: ir.Value, b: ir.Value, *, signed: bool) -> ir.Value:
    """The smaller of two integers."""
    kind = "smin" if signed else "umin"
    return emit.intrinsic(f"llvm.{kind}.i{a.type.width}", a.type, a, b)


def larger(emit: Emit, a: ir.Value, b: ir.Value, *, signed: bool) -> ir.Value:
    """The larger of two integers."""
    kind = "smax" if signed else "umax"
    return emit.intrinsic(f"llvm.{kind}.i{a.type.width}", a.type, a, b)


def halves(emit: Emit, packed: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The lower and the upper i16 of an i32."""
    builder = emit.builder
    return builder.trunc(packed, I16), builder.trunc(builder.lshr(packed, I32(16)), I16)


def pack(emit: Emit, low: ir.Value, high: ir.Value) -> ir.Value:
    """An i32 of two i16."""
    builder = emit.builder
    return builder.or_(builder.zext(low, I32), builder.shl(builder.zext(high, I32), I32(16)))

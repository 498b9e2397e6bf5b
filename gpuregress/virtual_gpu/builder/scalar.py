"""Scalar helpers of all instruction families: operands, widening, minima, packed halves.

Half precision (`f16`, `bf16`) is handled as its bits, an i16; the packed forms as an i32.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from gpuregress.virtual_gpu.builder.emit import Emit
from gpuregress.virtual_gpu.builder.types import I16, I32
from gpuregress.virtual_gpu.ptx.tree import Instruction
from gpuregress.virtual_gpu.ptx.types import BITS


def integer(type_name: str) -> ir.IntType:
    """The LLVM integer that holds a PTX type's bits."""
    return ir.IntType(BITS[type_name])


def read_all(emit: Emit, instruction: Instruction, type_name: str, start: int = 1) -> list[ir.Value]:
    """The values of the source operands from `start` on, all of one type."""
    return [emit.read(operand, type_name) for operand in instruction.operands[start:]]


def extend(emit: Emit, value: ir.Value, to: ir.IntType, *, signed: bool) -> ir.Value:
    """Widen an integer; one of that width already stays as it is."""
    if value.type.width == to.width:
        return value
    return emit.builder.sext(value, to) if signed else emit.builder.zext(value, to)


def resize(emit: Emit, value: ir.Value, to: ir.IntType, *, signed: bool) -> ir.Value:
    """Widen or truncate an integer."""
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


def by_halves(emit: Emit, operation: Callable[..., ir.Value], *operands: ir.Value) -> ir.Value:
    """Apply a 16-bit operation to the lower and to the upper halves of 32-bit operands."""
    low, high = zip(*(halves(emit, operand) for operand in operands), strict=True)
    return pack(emit, operation(*low), operation(*high))

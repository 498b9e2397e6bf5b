"""The Emit protocol, for lowerings that compute: operands, results, LLVM intrinsics, subroutines.

An opcode family is a module with functions `(emit, instruction) -> None` and a `TABLE` from base opcode to function.
A family never sees registers' homes, the scheduler, or guards: the function builder wraps those around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import I16, I32
from gpuregress.virtual_gpu.ptx.modifiers import BITS, type_of
from gpuregress.virtual_gpu.ptx.tree import Instruction, Operand


class Emit(Protocol):
    """The services a lowering may use.

    LLVM types of PTX types: `pred` i1; `b8 s8 u8` i8; `b16 s16 u16 f16 bf16` i16; `b32 s32 u32 f16x2 bf16x2` i32;
    `b64 s64 u64 f32x2` i64; `b128` i128; `f32` float; `f64` double. Half precision travels as its bits.
    """

    @property
    def builder(self) -> ir.IRBuilder:
        """Positioned where the instruction's code belongs; a lowering may add basic blocks and leave it in the last."""

    @property
    def module(self) -> ir.Module:
        """The module being built."""

    def read(self, operand: Operand, type_name: str) -> ir.Value:
        """An operand's value, in the LLVM type of `type_name`.

        A register declared with another type of the same width is bitcast; a wider one is truncated; a constant
        is converted; `!%p` is negated.
        """

    def write(self, operand: Operand, value: ir.Value, type_name: str) -> None:
        """Set a register; widened by `type_name`'s signedness if the register is wider. A Sink takes anything."""

    def intrinsic(self, name: str, result: ir.Type, *arguments: ir.Value) -> ir.Value:
        """Call an LLVM intrinsic by its full name (`llvm.fma.f32`), declaring it on first use."""

    def table(self, name: str) -> ir.Value:
        """A pointer (to i32) to a table of `runtime/special_function_tables.py`, loaded lazily."""

    def read_carry(self) -> ir.Value:
        """The thread's carry flag (`.cc`), i1."""

    def write_carry(self, value: ir.Value) -> None:
        """Set the thread's carry flag, i1."""


Lowering: TypeAlias = Callable[[Emit, Instruction], None]


# --- scalars and packed lanes -----------------------------------------------------------------------------------------
# Scalar helpers of all instruction families: operands, widening, minima, packed halves.
#
# Half precision (`f16`, `bf16`) is handled as its bits, an i16; the packed forms as an i32.


def integer(type_name: str) -> ir.IntType:
    """The LLVM integer that holds a PTX type's bits."""
    return ir.IntType(BITS[type_name])


def read_all(emit: Emit, instruction: Instruction, type_name: str) -> list[ir.Value]:
    """The values of the source operands, all of one type."""
    return [emit.read(operand, type_name) for operand in instruction.operands[1:]]


def pointwise(compute: Callable[..., ir.Value], result: str = "") -> Lowering:
    """Make the lowering of a function of the source operands, all of the instruction's type.

    Args:
        compute: takes the emitter and the values of the operands.
        result: the type of the result; "" for that of the operands.
    """

    def lower(emit: Emit, instruction: Instruction) -> None:
        type_name = type_of(instruction)
        value = compute(emit, *read_all(emit, instruction, type_name))
        emit.write(instruction.operands[0], value, result or type_name)

    return lower


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

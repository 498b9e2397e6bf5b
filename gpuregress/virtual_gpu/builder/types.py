"""PTX types and the LLVM types that stand for them."""

from __future__ import annotations

import struct

from llvmlite import ir

from gpuregress.virtual_gpu.ptx.tree import Float, Integer
from gpuregress.virtual_gpu.ptx.types import BITS

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
F32, F64 = ir.FloatType(), ir.DoubleType()
POINTER = ir.PointerType()

_FLOATS: dict[str, ir.Type] = {"f32": F32, "f64": F64}


def llvm_type(name: str) -> ir.Type:
    """The LLVM type of a PTX type.

    Raises:
        KeyError: no such type.
    """
    return _FLOATS.get(name) or ir.IntType(BITS[name])


def width(type_: ir.Type) -> int:
    """Bits of an LLVM scalar type."""
    if isinstance(type_, ir.IntType):
        return int(type_.width)
    return 32 if isinstance(type_, ir.FloatType) else 64


def constant(operand: Integer | Float, type_: ir.Type) -> ir.Constant:
    """A constant operand in an LLVM type: an integer for a float type gives that number, a float its bits or value."""
    if isinstance(operand, Integer):
        if isinstance(type_, ir.IntType):
            return ir.Constant(type_, operand.value & (1 << type_.width) - 1)
        return _float(float(operand.value), type_)
    if isinstance(type_, ir.IntType):
        return ir.Constant(type_, operand.bits & (1 << type_.width) - 1)
    if width(type_) == operand.width:
        return _from_bits(operand.bits, type_)
    value = struct.unpack("<d", operand.bits.to_bytes(8, "little"))[0] if operand.width == 64 else _single(operand.bits)
    return _float(value, type_)


def _single(bits: int) -> float:
    return float(struct.unpack("<f", bits.to_bytes(4, "little"))[0])


def _float(value: float, type_: ir.Type) -> ir.Constant:
    form = "<f" if width(type_) == 32 else "<d"
    return _from_bits(int.from_bytes(struct.pack(form, value), "little"), type_)


def _from_bits(bits: int, type_: ir.Type) -> ir.Constant:
    # A bitcast of the bits: a NaN's payload would not survive the way through a Python float.
    return ir.Constant(ir.IntType(width(type_)), bits).bitcast(type_)


def convert(builder: ir.IRBuilder, value: ir.Value, to: ir.Type, *, signed: bool = False) -> ir.Value:
    """The same bits in another type: a bitcast, and a truncation or extension where widths differ."""
    if value.type == to:
        return value
    have, want = width(value.type), width(to)
    if not isinstance(value.type, ir.IntType):
        value = builder.bitcast(value, ir.IntType(have))
    if have > want:
        value = builder.trunc(value, ir.IntType(want))
    elif have < want:
        extend = builder.sext if signed else builder.zext
        value = extend(value, ir.IntType(want))
    return value if value.type == to else builder.bitcast(value, to)

"""Texel formats: one channel's bits, as a register gets it."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.gpu.textures import FORMATS
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import i32, i64
from gpuregress.virtual_gpu.builder.types import F32, I1, I8, I16, I32, I64, POINTER

_Values = tuple[ir.Value, ...]


def channel(emitter: Services) -> ir.Function:
    """`(pointer, format, normalized) → bits`: read and convert one channel."""

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        pointer, format_, normalized = arguments
        done = b.append_basic_block("done")
        choice = b.switch(format_, done)
        incoming = [(i32(0), b.block)]
        for number, name in enumerate(FORMATS):
            block = b.append_basic_block(name)
            choice.add_case(i64(number), block)
            b.position_at_end(block)
            incoming.append((_converted(b, pointer, name, normalized), b.block))
            b.branch(done)
        b.position_at_end(done)
        bits = b.phi(I32)
        for value, block in incoming:
            bits.add_incoming(value, block)
        return bits

    return emitter.subroutine("texture.channel", I32, (POINTER, I64, I1), build)


def raw(b: ir.IRBuilder, pointer: ir.Value, name: str) -> ir.Value:
    """A channel's value: an integer extended to 32 bits, or a float's bits as a float32."""
    if name.endswith("32"):
        return b.load(pointer, typ=I32, align=4)
    bits = 8 if name.endswith("8") else 16
    value = b.load(pointer, typ=I8 if bits == 8 else I16, align=bits // 8)
    if name == "float16":
        return _widened_half(b, value)
    return b.zext(value, I32) if name.startswith("u") else b.sext(value, I32)


def _converted(b: ir.IRBuilder, pointer: ir.Value, name: str, normalized: ir.Value) -> ir.Value:
    value = raw(b, pointer, name)
    if name.endswith("32") or name == "float16":
        return value
    bits = 8 if name.endswith("8") else 16
    largest = F32(float((1 << bits - (not name.startswith("u"))) - 1))
    share = b.fdiv(b.sitofp(value, F32), largest)
    share = b.select(b.fcmp_ordered("<", share, F32(-1.0)), F32(-1.0), share)
    return b.select(normalized, b.bitcast(share, I32), value)


def _widened_half(b: ir.IRBuilder, half: ir.Value) -> ir.Value:
    """A float16's value as a float32's bits: the exponent moves by a product with 2^112, exact for subnormals too."""
    bits = b.zext(half, I32)
    magnitude = b.shl(b.and_(bits, i32(0x7FFF)), i32(13))
    moved = b.bitcast(b.fmul(b.bitcast(magnitude, F32), i32(0x77800000).bitcast(F32)), I32)
    special = b.icmp_unsigned(">=", magnitude, i32(0x7C00 << 13))
    value = b.select(special, b.or_(magnitude, i32(0x7F800000)), moved)
    return b.or_(value, b.shl(b.and_(bits, i32(0x8000)), i32(16)))

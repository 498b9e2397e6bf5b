"""Element types of matrix instructions: packed in registers, widened to f64 or i64."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.emit import Emit
from gpuregress.virtual_gpu.builder.structured import at, i32, i64
from gpuregress.virtual_gpu.builder.types import F32, F64, I8, I64
from gpuregress.virtual_gpu.isa.arithmetic.narrow_floats import BF16, E4M3, E5M2, F16, widen_to_double
from gpuregress.virtual_gpu.ptx.types import BITS

_NARROW = {"f16": F16, "bf16": BF16, "e4m3": E4M3, "e5m2": E5M2}


class MatrixElement(Record):
    """Element type of a matrix.

    Attributes:
        name: `f16`, `s8` …
        bits: of an element.
        register: bits of the registers that hold them.
    """

    name: str
    bits: int
    register: int

    @property
    def parts(self) -> int:
        """Elements of a register."""
        return self.register // self.bits

    def load(self, emit: Emit, shown: ir.Value, register: ir.Value, part: ir.Value) -> ir.Value:
        """Load part `part` (i32) of register `register` (i32) from an array of registers: f64 or i64."""
        b = emit.builder
        index = b.add(b.mul(register, i32(self.parts)), part)
        return self.widened(emit, self.load_bits(emit, shown, index))

    def load_bits(self, emit: Emit, shown: ir.Value, index: ir.Value) -> ir.Value:
        """Load the bits of element `index` (i32) of an array."""
        b = emit.builder
        offset = b.lshr(b.mul(b.zext(index, I64), i64(self.bits)), i64(3))
        type_ = ir.IntType(max(8, self.bits))
        bits = b.load(at(b, shown, offset), typ=type_, align=type_.width // 8)
        if self.bits >= 8:
            return bits
        high = b.trunc(b.and_(index, i32(1)), ir.IntType(1))
        return b.trunc(b.select(high, b.lshr(bits, ir.Constant(I8, 4)), bits), ir.IntType(4))

    def widened(self, emit: Emit, bits: ir.Value) -> ir.Value:
        """An element's bits as a number: f64 or i64."""
        b = emit.builder
        if self.name in _NARROW:
            return widen_to_double(emit, bits, _NARROW[self.name])
        if self.name == "tf32":
            bits = b.and_(bits, i32(0xFFFF_E000))
        if self.name in ("tf32", "f32"):
            return b.fpext(b.bitcast(bits, F32), F64)
        if self.name == "f64":
            return b.bitcast(bits, F64)
        return b.sext(bits, I64) if self.name[0] == "s" else b.zext(bits, I64)


def element_of(name: str) -> MatrixElement:
    """The element type with a PTX name."""
    bits = BITS[name]
    return MatrixElement(name, bits, max(32, bits))

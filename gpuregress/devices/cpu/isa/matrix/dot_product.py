"""Dot products of mma and wmma: elements are widened, products summed in order, the sum rounded once.

Integers are exact, and so are sums of f16, bf16 and tf32 that fit in a double. The order of additions and the
intermediate rounding of a tensor core are not documented: other sums agree within a tolerance. f64 is a chain of fma in
the order of the inner index, with fma's NaNs (`ieee754`); an H200 gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from llvmlite import ir

from gpuregress.devices.cpu.builder.emit import Emit
from gpuregress.devices.cpu.builder.services import Services
from gpuregress.devices.cpu.builder.structured import Cell, at, counted, i32, i64
from gpuregress.devices.cpu.builder.types import I8, I32, I64
from gpuregress.devices.cpu.isa.arithmetic.ieee754 import canonical, propagate
from gpuregress.devices.cpu.isa.arithmetic.narrow_floats import BF16, F16, round_to, widen_to_double
from gpuregress.devices.cpu.ptx.types import BITS

_F32, _F64 = ir.FloatType(), ir.DoubleType()
_VALUES = {"f16": ir.IntType(16), "f32": _F32, "f64": _F64, "s32": I32}


Term: TypeAlias = Callable[..., tuple[ir.Value, ir.Value]]
"""Given a step (i32) and what it needs besides: the two factors of a product, each an f64 or i64."""


@dataclass(frozen=True, slots=True)
class MatrixElement:
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
        if self.name in ("f16", "bf16"):
            return widen_to_double(emit, bits, F16 if self.name == "f16" else BF16)
        if self.name == "tf32":
            bits = b.and_(bits, i32(0xFFFF_E000))
        if self.name in ("tf32", "f32"):
            return b.fpext(b.bitcast(bits, _F32), _F64)
        if self.name == "f64":
            return b.bitcast(bits, _F64)
        return b.sext(bits, I64) if self.name[0] == "s" else b.zext(bits, I64)


def element_of(name: str) -> MatrixElement:
    """The element type with a PTX name."""
    bits = BITS[name]
    return MatrixElement(name, bits, max(32, bits))


def unpacked(emit: Emit, values: list[ir.Value]) -> list[ir.Value]:
    """The f16 numbers, as bits, in registers of two."""
    b, half = emit.builder, ir.IntType(16)
    return [b.trunc(b.lshr(value, i32(16 * index)), half) for value in values for index in (0, 1)]


def packed(emit: Emit, values: list[ir.Value]) -> list[ir.Value]:
    """Registers of two f16 numbers, given as bits."""
    b = emit.builder
    wide = [b.zext(value, I32) for value in values]
    return [b.or_(low, b.shl(high, i32(16))) for low, high in zip(wide[::2], wide[1::2], strict=True)]


def started(emit: Emit, result: str, addend: ir.Value) -> ir.Value:
    """The initial value of a sum: C as f64 or i64."""
    if result == "s32":
        return emit.builder.sext(addend, I64)
    if result == "f16":
        return widen_to_double(emit, addend, F16)
    return emit.builder.fpext(addend, _F64) if result == "f32" else addend


def added(emit: Emit, result: str, total: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
    """One step of a sum: `total + x * y`."""
    b = emit.builder
    if result == "s32":
        return b.add(total, b.mul(x, y))
    if result == "f64":
        return propagate(emit, emit.intrinsic("llvm.fma.f64", _F64, x, y, total), y, total, x)
    return b.fadd(total, b.fmul(x, y))


@dataclass(frozen=True, slots=True)
class DotProduct:
    """The code of an element of D, in a subroutine: kernels hold thousands of mma with eight elements a lane.

    Attributes:
        name: of all that the code depends on besides `types` and `limited`.
        depth: products.
        types: of D and of C.
        term: given a step (i32) and the arguments after the first, the two factors; built once for each name.
        limited: where the sum does not fit it stops at the ends of the range.
    """

    name: str
    depth: int
    types: tuple[str, str]
    term: Term
    limited: bool

    def compute(self, emitter: Services, *arguments: ir.Value) -> ir.Value:
        """Call the subroutine with the element of C and what `term` needs."""
        result, addend = self.types

        def build(builder: ir.IRBuilder, given: tuple[ir.Value, ...]) -> ir.Value:
            # Stack slots go into the first block, the code into the next: an insertion moves a builder behind it.
            body = builder.append_basic_block("body")
            builder.branch(body)
            builder.position_at_end(body)
            caller, emitter.builder = emitter.builder, builder
            total = Cell(builder, started(emitter, addend, given[0]))
            with counted(builder, i32(self.depth)) as step:
                total.set(added(emitter, result, total.get(), *self.term(step, *given[1:])))
            value = finished(emitter, result, total.get(), limited=self.limited)
            emitter.builder = caller
            return value

        parameters = tuple(value.type for value in arguments)
        whole = f"{self.name}.{'.'.join(self.types)}{'.limited' if self.limited else ''}"
        return emitter.builder.call(emitter.subroutine(whole, _VALUES[result], parameters, build), arguments)


def finished(emit: Emit, result: str, total: ir.Value, *, limited: bool) -> ir.Value:
    """The sum in the result's type; saturated if `limited`."""
    b = emit.builder
    if result == "f32":
        return canonical(emit, b.fptrunc(total, _F32))
    if result == "f16":
        return round_to(emit, total, F16, "rn")
    if result == "f64":
        return total
    if limited:
        low, high = ir.Constant(I64, -(1 << 31)), ir.Constant(I64, (1 << 31) - 1)
        total = b.select(b.icmp_signed("<", total, low), low, total)
        total = b.select(b.icmp_signed(">", total, high), high, total)
    return b.trunc(total, I32)

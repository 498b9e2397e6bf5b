"""Dot products of integers and f64: products summed in order, each lane its own elements.

Integers are exact. f64 is a chain of fma in the order of the inner index, with fma's NaNs (`ieee754`); an H200 gives
the same bits. Other floats are in `fused_sum`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.emit import Emit
from gpuregress.virtual_gpu.builder.services import Services, subroutine_body
from gpuregress.virtual_gpu.builder.structured import Cell, counted, i32
from gpuregress.virtual_gpu.builder.types import F64, I32, I64
from gpuregress.virtual_gpu.isa.arithmetic.ieee754 import propagate

_VALUES = {"f64": F64, "s32": I32}

Term: TypeAlias = Callable[..., tuple[ir.Value, ir.Value]]
"""Given a step (i32) and what it needs besides: the two factors of a product, each an f64 or i64."""


def started(emit: Emit, result: str, addend: ir.Value) -> ir.Value:
    """The initial value of a sum: C as f64 or i64."""
    return emit.builder.sext(addend, I64) if result == "s32" else addend


def added(emit: Emit, result: str, total: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
    """One step of a sum: `total + x * y`."""
    b = emit.builder
    if result == "s32":
        return b.add(total, b.mul(x, y))
    return propagate(emit, emit.intrinsic("llvm.fma.f64", F64, x, y, total), y, total, x)


class DotProduct(Record):
    """The code of an element of D, in a subroutine: kernels hold thousands of mma with eight elements a lane.

    Attributes:
        name: of all that the code depends on besides `result` and `limited`.
        depth: products.
        result: the type of D and of C, `s32` or `f64`.
        term: given a step (i32) and the arguments after the first, the two factors; built once for each name.
        limited: where the sum does not fit it stops at the ends of the range.
    """

    name: str
    depth: int
    result: str
    term: Term
    limited: bool

    def compute(self, emitter: Services, *arguments: ir.Value) -> ir.Value:
        """Call the subroutine with the element of C and what `term` needs."""
        result = self.result

        def build(builder: ir.IRBuilder, given: tuple[ir.Value, ...]) -> ir.Value:
            with subroutine_body(emitter, builder):
                total = Cell(builder, started(emitter, result, given[0]))
                with counted(builder, i32(self.depth)) as step:
                    total.set(added(emitter, result, total.get(), *self.term(step, *given[1:])))
                return finished(emitter, result, total.get(), limited=self.limited)

        parameters = tuple(value.type for value in arguments)
        whole = f"{self.name}.{result}{'.limited' if self.limited else ''}"
        return emitter.builder.call(emitter.subroutine(whole, _VALUES[result], parameters, build), arguments)


def finished(emit: Emit, result: str, total: ir.Value, *, limited: bool) -> ir.Value:
    """The sum in the result's type; saturated if `limited`."""
    b = emit.builder
    if result == "f64":
        return total
    if limited:
        low, high = ir.Constant(I64, -(1 << 31)), ir.Constant(I64, (1 << 31) - 1)
        total = b.select(b.icmp_signed("<", total, low), low, total)
        total = b.select(b.icmp_signed(">", total, high), high, total)
    return b.trunc(total, I32)

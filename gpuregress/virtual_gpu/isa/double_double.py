"""Double-double arithmetic: a number as the unevaluated sum of two doubles.

Dekker, "A floating-point technique for extending the available precision" (1971); Hida, Li and Bailey, "Library for
double-double and quad-double arithmetic" (2007). Where a result is infinite or no number, its second part is 0.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import F64, call_intrinsic, subroutine

Pair = tuple[ir.Value, ir.Value]
PAIR = ir.LiteralStructType([F64, F64])
Steps = Callable[["PairArithmetic", list[Pair]], Pair]


class PairArithmetic:
    """Steps of double-double operations.

    Args:
        b: where the steps are built.
    """

    def __init__(self, b: ir.IRBuilder) -> None:
        self._b = b

    def call(self, name: str, *values: ir.Value) -> ir.Value:
        """Call an intrinsic of doubles."""
        return call_intrinsic(self._b, f"llvm.{name}.f64", F64, *values)

    def two_sum(self, x: ir.Value, y: ir.Value) -> Pair:
        """A sum and its rounding error (Knuth)."""
        b = self._b
        total = b.fadd(x, y)
        part = b.fsub(total, x)
        return total, b.fadd(b.fsub(x, b.fsub(total, part)), b.fsub(y, part))

    def quick_sum(self, x: ir.Value, y: ir.Value) -> Pair:
        """A sum and its rounding error, where x is the larger one (Dekker)."""
        b = self._b
        total = b.fadd(x, y)
        return total, b.fsub(y, b.fsub(total, x))

    def negated(self, x: Pair) -> Pair:
        """The opposite number."""
        return self._b.fneg(x[0]), self._b.fneg(x[1])

    def add(self, x: Pair, y: Pair) -> Pair:
        """A sum."""
        b = self._b
        high, low = self.two_sum(x[0], y[0])
        other, rest = self.two_sum(x[1], y[1])
        high, low = self.quick_sum(high, b.fadd(low, other))
        return self.settled(self.quick_sum(high, b.fadd(low, rest)), b.fadd(x[0], y[0]))

    def multiply(self, x: Pair, y: Pair) -> Pair:
        """A product."""
        b = self._b
        high = b.fmul(x[0], y[0])
        low = self.call("fma", x[0], y[0], b.fneg(high))
        low = b.fadd(low, b.fadd(b.fmul(x[0], y[1]), b.fmul(x[1], y[0])))
        return self.settled(self.quick_sum(high, low), high)

    def divide(self, x: Pair, y: Pair) -> Pair:
        """A quotient, from three quotients of doubles."""
        b = self._b
        first = b.fdiv(x[0], y[0])
        zero = F64(0.0)
        rest = self.add(x, self.negated(self.multiply(y, (first, zero))))
        second = b.fdiv(rest[0], y[0])
        rest = self.add(rest, self.negated(self.multiply(y, (second, zero))))
        third = b.fdiv(rest[0], y[0])
        return self.settled(self.add(self.quick_sum(first, second), (third, zero)), first)

    def root(self, x: Pair) -> Pair:
        """A square root: that of a double, and one step of Newton's method."""
        b = self._b
        first = self.call("sqrt", x[0])
        square = self.multiply((first, F64(0.0)), (first, F64(0.0)))
        rest = self.add(x, self.negated(square))
        step = b.fdiv(rest[0], b.fmul(F64(2.0), first))
        is_zero = b.fcmp_ordered("==", first, F64(0.0))
        step = b.select(is_zero, F64(0.0), step)
        return self.settled(self.quick_sum(first, step), first)

    def settled(self, exact: Pair, plain: ir.Value) -> Pair:
        """The result, or the plain one where a part of it is no finite number."""
        b = self._b
        is_finite = b.fcmp_ordered("<", self.call("fabs", b.fadd(*exact)), F64(float("inf")))
        return b.select(is_finite, exact[0], plain), b.select(is_finite, exact[1], F64(0.0))


_ONE = (F64(1.0), F64(0.0))
OPERATIONS: dict[str, Steps] = {
    "add": lambda a, x: a.add(x[0], x[1]),
    "sub": lambda a, x: a.add(x[0], a.negated(x[1])),
    "mul": lambda a, x: a.multiply(x[0], x[1]),
    "fma": lambda a, x: a.add(a.multiply(x[0], x[1]), x[2]),
    "mad": lambda a, x: a.add(a.multiply(x[0], x[1]), x[2]),
    "div": lambda a, x: a.divide(x[0], x[1]),
    "rcp": lambda a, x: a.divide(_ONE, x[0]),
    "sqrt": lambda a, x: a.root(x[0]),
    "rsqrt": lambda a, x: a.divide(_ONE, a.root(x[0])),
}
"""Opcode → its operation on double-doubles."""


def compute(emitter: Services, operation: str, values: list[Pair]) -> Pair:
    """Compute an operation on double-doubles."""
    b = emitter.builder
    result = _compute(operation, b, *(part for value in values for part in value))
    return b.extract_value(result, 0), b.extract_value(result, 1)


@subroutine(lambda operation: f"shadow.{operation}.f64", PAIR)
def _compute(operation: str, b: ir.IRBuilder, *parts: ir.Value) -> ir.Value:
    pairs = list(zip(parts[::2], parts[1::2], strict=True))
    high, low = OPERATIONS[operation](PairArithmetic(b), pairs)
    return b.insert_value(b.insert_value(ir.Constant(PAIR, ir.Undefined), high, 0), low, 1)

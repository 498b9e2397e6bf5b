"""Integer instructions on affine expressions: 32- and 64-bit arithmetic that wraps around.

Quotients, masks and exclusive-ors become further variables, with constraints on their values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from gpuregress.virtual_gpu.parallel.affine_expressions import ZERO, Affine, NotAffineError
from gpuregress.virtual_gpu.parallel.constraints import ConstraintSystem
from gpuregress.virtual_gpu.parallel.launch import Range
from gpuregress.virtual_gpu.runtime.footprint_ir import Operation


class AffineOperations(ABC):
    """The operators of `footprint_ir.Operation` on affine expressions; a subclass evaluates the operands.

    Args:
        ranges: least and greatest value of each coordinate.
    """

    def __init__(self, ranges: Mapping[str, Range]) -> None:
        self.system = ConstraintSystem(ranges)
        self.xors: dict[str, tuple[Affine, int]] = {}
        """Variable that stands for `x ^ mask` -> x, and the power of two above the mask."""
        self._open_loops: list[str] = []
        """Iteration variables that are being bounded: facts about their values are proven afterwards."""
        self._to_prove: list[tuple[Affine, int, int]] = []
        """(expression, least, greatest): assumed ranges of values that depend on them."""

    @abstractmethod
    def value(self, node: int) -> Affine:
        """Return a node's value, modulo 2^32 or 2^64.

        Raises:
            NotAffineError: it is no affine expression.
        """

    @abstractmethod
    def _choose(self, key: str, alternatives: Sequence[int]) -> int:
        """Choose one of several alternatives."""

    @abstractmethod
    def _constrain(self, item: Affine) -> None:
        """Add the constraint that an expression is at most 0."""

    # --- values -------------------------------------------------------------------------------------------------------

    def _exact(self, node: int, bits: int, *, signed: bool) -> Affine:
        """The number that a register's bits stand for."""
        return self._in_range(self.value(node), bits, signed=signed)

    def _in_range(self, item: Affine, bits: int, *, signed: bool) -> Affine:
        least = -(1 << bits - 1) if signed else 0
        moving = [variable for variable in self._open_loops if variable in item.coefficients]
        first = item
        for variable in moving:
            first = first.substituted(variable, ZERO)
        low, high = self.system.lower_bound(first), self.system.upper_bound(first)
        wraps = (low - least) >> bits
        if (high - least) >> bits != wraps:
            raise NotAffineError
        item = item.add(-wraps << bits)
        if moving:
            self._to_prove.append((item, least, least + (1 << bits) - 1))
        return item

    def _constant(self, node: int, bits: int) -> int | None:
        item = self.value(node)
        return None if item.coefficients else item.constant % (1 << bits)

    def _constant_if_affine(self, node: int, bits: int) -> int | None:
        try:
            return self._constant(node, bits)
        except NotAffineError:
            return None

    def _variable(self, name: str, low: int, high: int) -> Affine:
        if low == high:
            return Affine(low)
        self.system.ranges[name] = low, high
        return Affine(0, {name: 1})

    def _refuse_open(self, *items: Affine) -> None:
        if any(item.depends_on(self._open_loops) for item in items):
            raise NotAffineError

    # --- operations ---------------------------------------------------------------------------------------------------

    def _product(self, left: Affine, right: Affine) -> Affine:
        if right.coefficients:
            left, right = right, left
        if right.coefficients:
            raise NotAffineError
        return left.times(right.constant)

    def _bitwise(self, operation: Operation, node: int) -> Affine:
        operator, bits, (left, right) = operation.operator, operation.bits, operation.operands
        if operator == "<<":
            by = self._constant(right, 32)
            if by is None:
                raise NotAffineError
            return self.value(left).times(1 << by) if by < bits else ZERO
        first, second = self._constant_if_affine(left, bits), self._constant_if_affine(right, bits)
        if first is not None and second is not None:
            return Affine({"&": first & second, "|": first | second, "^": first ^ second}[operator])
        if first is not None:
            left, right, second = right, left, first
        if operator == "|" and second is not None:
            return self.value(left).add(second).minus(self._masked(left, second, bits, node))
        if operator == "|":
            return self._disjoint_or(left, right, bits)
        if second is None:
            raise NotAffineError
        return self._masked(left, second, bits, node) if operator == "&" else self._xor(left, second, bits, node)

    def _masked(self, operand: int, mask: int, bits: int, node: int) -> Affine:
        """`x & mask`."""
        below = (1 << bits) - mask
        try:
            item = self._exact(operand, bits, signed=True)
        except NotAffineError:
            if mask >> (bits - 1) or self._open_loops:
                raise
            return self._variable(f"&{node}", 0, mask)
        self._refuse_open(item)
        if mask & (mask + 1) == 0:
            return item.plus(self._quotient(item, mask + 1, f"&{node}"), -(mask + 1))
        if mask and below & (below - 1) == 0:
            return self._quotient(item, below, f"&{node}").times(below)
        if mask >> (bits - 1):
            raise NotAffineError
        return self._variable(f"&{node}", 0, mask)

    def _quotient(self, item: Affine, divisor: int, name: str) -> Affine:
        """An expression divided by a positive number, rounded down."""
        self._refuse_open(item)
        if all(coefficient % divisor == 0 for coefficient in item.coefficients.values()):
            divided = {variable: coefficient // divisor for variable, coefficient in item.coefficients.items()}
            return Affine(item.constant // divisor, divided)
        low, high = self.system.lower_bound(item) // divisor, self.system.upper_bound(item) // divisor
        quotient = self._variable(f"{name}/", low, high)
        remainder = item.plus(quotient, -divisor)
        self.system.add(remainder.times(-1))
        self.system.add(remainder.add(1 - divisor))
        return quotient

    def _xor(self, operand: int, mask: int, bits: int, node: int) -> Affine:
        """`x ^ mask`."""
        if mask == 0:
            return self.value(operand)
        if mask == (1 << bits) - 1:
            return self.value(operand).times(-1).add(-1)
        item = self._exact(operand, bits, signed=True)
        self._refuse_open(item)
        if self.system.lower_bound(item) < 0 or mask >> (bits - 1):
            raise NotAffineError
        for power in reversed(range(mask.bit_length())):
            if mask % (1 << power) == 0 and item.is_multiple_of(1 << power):
                break
        mask >>= power
        item = Affine(item.constant >> power, {name: number >> power for name, number in item.coefficients.items()})
        group = 1 << mask.bit_length()
        self.xors[f"^{node}"] = item, group
        return self._variable(f"^{node}", *xor_range(self.system, item, group)).times(1 << power)

    def _disjoint_or(self, left: int, right: int, bits: int) -> Affine:
        """`x | y` of numbers that have no bit in common."""
        first, second = (self._exact(node, bits, signed=True) for node in (left, right))
        for high, low in ((first, second), (second, first)):
            power = 1 << max(0, self.system.upper_bound(low)).bit_length()
            if self.system.lower_bound(low) >= 0 and high.is_multiple_of(power):
                return high.plus(low)
        raise NotAffineError

    def _on_numbers(self, operation: Operation, node: int) -> Affine:
        """Shifts to the right, quotients, remainders, minima and maxima."""
        operator, bits, signed = operation.operator, operation.bits, operation.signed
        left, right = operation.operands
        first = self._exact(left, bits, signed=signed)
        if operator == ">>":
            by = self._constant(right, 32)
            if by is None:
                raise NotAffineError
            return self._quotient(first, 1 << min(by, bits), f">{node}")
        second = self._exact(right, bits, signed=signed)
        if operator == "hi":
            return self._quotient(self._product(first, second), 1 << bits, f"h{node}")
        if operator in ("min", "max"):
            return self._extreme(operator, first, second, node)
        if second.coefficients or second.constant <= 0 or self.system.lower_bound(first) < 0:
            raise NotAffineError
        quotient = self._quotient(first, second.constant, f"/{node}")
        return quotient if operator == "/" else first.plus(quotient, -second.constant)

    def _extreme(self, operator: str, first: Affine, second: Affine, node: int) -> Affine:
        self._refuse_open(first, second)
        difference = first.minus(second) if operator == "min" else second.minus(first)
        if self.system.upper_bound(difference) <= 0:
            return first
        if self.system.lower_bound(difference) >= 0:
            return second
        if self._choose(f"m{node}", (0, 1)) == 0:
            self._constrain(difference)
            return first
        self._constrain(difference.times(-1))
        return second


def xor_range(system: ConstraintSystem, item: Affine, group: int) -> Range:
    """Return the range of `x ^ mask`, the mask below `group`, a power of two."""
    low, high = system.lower_bound(item), system.upper_bound(item)
    return low // group * group, high // group * group + group - 1

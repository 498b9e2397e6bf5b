"""Integer instructions on affine expressions: 32- and 64-bit arithmetic that wraps around.

Quotients, masks and exclusive-ors become further variables, with constraints on their values.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import and_, or_, xor

from msgspec import field

from gpuregress.gpu.programs import Dim3
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime.footprint_ir import Operation
from gpuregress.virtual_gpu.runtime.memory import AddressSpace
from gpuregress.virtual_gpu.runtime.program import StoredFootprint
from gpuregress.virtual_gpu.runtime.textures import Textures

# --- affine expressions -----------------------------------------------------------------------------------------------
# Affine expressions over integer variables.
#
# The variables are a launch's coordinates, the iterations of loops, and the results of operations that are not affine.


class NotAffineError(Exception):
    """An address is no affine expression, or analysing it would take too long."""


class Affine(Record):
    """A constant, and a coefficient other than 0 for each variable."""

    constant: int
    coefficients: Mapping[str, int] = field(default_factory=dict)

    def plus(self, other: Affine, scale: int = 1) -> Affine:
        """Return the sum of this and `scale` times the other."""
        coefficients = dict(self.coefficients)
        for variable, coefficient in other.coefficients.items():
            total = coefficients.get(variable, 0) + scale * coefficient
            if total:
                coefficients[variable] = total
            else:
                coefficients.pop(variable, None)
        return Affine(self.constant + scale * other.constant, coefficients)

    def minus(self, other: Affine) -> Affine:
        """Return the difference of this and the other."""
        return self.plus(other, -1)

    def times(self, factor: int) -> Affine:
        """Return the product of this and a number."""
        return ZERO.plus(self, factor) if factor else ZERO

    def add(self, number: int) -> Affine:
        """Return the sum of this and a number."""
        return Affine(self.constant + number, self.coefficients)

    def substituted(self, variable: str, value: Affine) -> Affine:
        """Return this with a variable replaced by its value."""
        coefficient = self.coefficients.get(variable, 0)
        if not coefficient:
            return self
        coefficients = dict(self.coefficients)
        del coefficients[variable]
        return Affine(self.constant, coefficients).plus(value, coefficient)

    def tightened(self) -> Affine:
        """Return the tightest expression that is at most 0 for the same integers.

        It is divided by the greatest common divisor of the coefficients, the constant rounded up.
        """
        divisor = math.gcd(*self.coefficients.values())
        if divisor <= 1:
            return self
        return Affine(-(-self.constant // divisor), self.divided(divisor).coefficients)

    def divided(self, divisor: int) -> Affine:
        """Return this with the constant and all coefficients divided by a number, rounded down."""
        coefficients = {variable: coefficient // divisor for variable, coefficient in self.coefficients.items()}
        return Affine(self.constant // divisor, coefficients)

    def is_multiple_of(self, divisor: int) -> bool:
        """Whether a number divides the constant and all coefficients."""
        return not any(number % divisor for number in (self.constant, *self.coefficients.values()))

    def depends_on(self, variables: Iterable[str]) -> bool:
        """Whether any of the variables has a coefficient."""
        return any(variable in self.coefficients for variable in variables)


ZERO = Affine(0)


# --- launch -----------------------------------------------------------------------------------------------------------
# One launch as records: the input of the partition.

Range = tuple[int, int]
"""Least and greatest value, both included."""
Box = Mapping[str, Range]
"""Range of each coordinate of some blocks."""


class AddressMap(Record):
    """The memory that addresses, handles and names refer to.

    Attributes:
        space: where the buffers are.
        textures: of textures and surfaces.
        symbols: addresses of the program's variables.
    """

    space: AddressSpace
    textures: Textures
    symbols: Mapping[str, int]


class KernelLaunch(Record):
    """One launch: grid, block, arguments, and the kernel's footprint.

    Attributes:
        footprint: of the kernel; None where the order of its blocks may matter.
        grid: blocks along x, y, z.
        block: threads along x, y, z.
        parameters: the argument bytes.
        addresses: the memory that they refer to.
    """

    footprint: StoredFootprint | None
    grid: Dim3
    block: Dim3
    parameters: bytes
    addresses: AddressMap

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def box(self) -> Box:
        """Ranges of all coordinates in the whole launch."""
        ranges = {}
        for axis, name in enumerate("xyz"):
            ranges[f"tid.{name}"] = 0, self.block[axis] - 1
            ranges[f"ctaid.{name}"] = 0, self.grid[axis] - 1
            ranges[f"ntid.{name}"] = self.block[axis], self.block[axis]
            ranges[f"nctaid.{name}"] = self.grid[axis], self.grid[axis]
        return ranges


# --- constraints ------------------------------------------------------------------------------------------------------
# Systems of affine constraints: a range for each variable, and affine expressions that are at most 0.

UNBOUNDED = 1 << 200
"""An upper bound that stands for none."""
NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
"""Comparison -> the one that holds where it does not."""
_MOST_COMBINED = 3
"""Constraints that are added up, at most, to bound one expression."""


class ConstraintSystem:
    """Constraints on integer variables; bounds of expressions under them.

    Bounds come from the ranges (interval arithmetic) and from eliminating variables with the constraints
    (Fourier-Motzkin). They are conservative: an expression never exceeds its bound.
    """

    def __init__(self, ranges: Mapping[str, Range]) -> None:
        self.ranges = dict(ranges)
        self.constraints: list[Affine] = []

    def upper_bound(self, item: Affine) -> int:
        """Return a number that an expression does not exceed; `UNBOUNDED` or more where there is none."""
        return self._upper_bound(item, _MOST_COMBINED)

    def lower_bound(self, item: Affine) -> int:
        """Return a number below which an expression does not fall; `-UNBOUNDED` or less where there is none."""
        return -self._upper_bound(item.times(-1), _MOST_COMBINED)

    def restricted(self, ranges: Mapping[str, Range]) -> ConstraintSystem:
        """Return the same system with the ranges of some variables intersected with others."""
        system = ConstraintSystem(self.ranges)
        system.constraints = list(self.constraints)
        for variable, (low, high) in ranges.items():
            least, most = self.ranges[variable]
            system.ranges[variable] = max(low, least), min(high, most)
        for _ in range(2):
            for constraint in system.constraints:
                system._propagate(constraint)
        return system

    def add(self, item: Affine) -> None:
        """Add the constraint that an expression is at most 0; one of a single variable narrows its range."""
        item = item.tightened()
        if len(item.coefficients) == 1:
            ((variable, coefficient),) = item.coefficients.items()
            low, high = self.ranges[variable]
            if coefficient == 1:
                self.ranges[variable] = low, min(high, -item.constant)
            elif coefficient == -1:
                self.ranges[variable] = max(low, item.constant), high
        elif item.coefficients and item not in self.constraints:
            self.constraints.append(item)

    def is_feasible(self) -> bool:
        """Whether the constraints are not shown to contradict each other."""
        return self.has_ranges() and all(self._by_ranges(item.times(-1)) >= 0 for item in self.constraints)

    def has_ranges(self) -> bool:
        """Whether each variable has at least one value."""
        return all(low <= high for low, high in self.ranges.values())

    def _propagate(self, constraint: Affine) -> None:
        """Narrow the ranges of a constraint's variables to the values that it allows."""
        least = -self._by_ranges(constraint.times(-1))
        for variable, coefficient in constraint.coefficients.items():
            low, high = self.ranges[variable]
            if low > high:
                return
            # coefficient * variable is at most the limit when all other variables are at their least.
            if coefficient > 0:
                limit = coefficient * low - least
                self.ranges[variable] = low, min(high, limit // coefficient)
            else:
                limit = coefficient * high - least
                self.ranges[variable] = max(low, -(limit // -coefficient)), high

    def _by_ranges(self, item: Affine) -> int:
        """The upper bound of an expression by interval arithmetic."""
        total = item.constant
        for variable, coefficient in item.coefficients.items():
            low, high = self.ranges[variable]
            total += coefficient * (high if coefficient > 0 else low)
        return total

    def _upper_bound(self, item: Affine, depth: int) -> int:
        best = self._by_ranges(item)
        if depth == 0 or len(item.coefficients) < 2:
            return best
        for constraint in self.constraints:
            for times, scale in _eliminations(item, constraint):
                remaining = item.times(scale).plus(constraint, -times)
                if len(remaining.coefficients) < len(item.coefficients):
                    best = min(best, self._upper_bound(remaining, depth - 1) // scale)
        return best


def _eliminations(item: Affine, constraint: Affine) -> set[tuple[int, int]]:
    """(m, n) such that a variable drops out of n times the expression minus m times the constraint."""
    eliminations = set()
    for variable, coefficient in constraint.coefficients.items():
        wanted = item.coefficients.get(variable, 0)
        if wanted * coefficient > 0:
            common = math.gcd(wanted, coefficient)
            eliminations.add((abs(wanted) // common, abs(coefficient) // common))
    return eliminations


# --- comparisons ------------------------------------------------------------------------------------------------------


def decide(operator: str, low: int, high: int) -> bool | None:
    """Whether a comparison with 0 holds for a number between two bounds; None where it is open."""
    if operator in ("!=", ">=", ">"):
        negated = decide(NEGATED[operator], low, high)
        return None if negated is None else not negated
    if operator == "==":
        holds, fails = low == high == 0, low > 0 or high < 0
    elif operator == "<":
        holds, fails = high < 0, low >= 0
    else:
        holds, fails = high <= 0, low > 0
    if holds:
        return True
    return False if fails else None


def nonpositive(operator: str, difference: Affine, system: ConstraintSystem) -> list[Affine]:
    """Return expressions that are at most 0 where a comparison of a difference with 0 holds; not for `==`."""
    if operator == "!=":
        if system.upper_bound(difference) <= 0:
            return [difference.add(1)]
        if system.lower_bound(difference) >= 0:
            return [difference.times(-1).add(1)]
        return []
    if operator in (">", ">="):
        difference = difference.times(-1)
    return [difference.add(1) if operator in ("<", ">") else difference]


def nonpositive_before_zero(difference: Affine, iteration: str, system: ConstraintSystem) -> list[Affine]:
    """Return expressions that are at most 0 while a loop runs that ends when a difference is 0.

    There are some only where the difference reaches 0 in whole steps: until then it is on one side of 0.
    """
    step = difference.coefficients[iteration]
    first = difference.substituted(iteration, ZERO)
    if not first.is_multiple_of(step):
        return []
    if step < 0 <= system.lower_bound(first):
        return [difference.times(-1).add(-step)]
    if system.upper_bound(first) <= 0 < step:
        return [difference.add(step)]
    return []


def iteration_limit(item: Affine, iteration: str, system: ConstraintSystem) -> int:
    """Return the most iterations of a loop in which a growing expression is at most 0, save in the last one."""
    least = system.lower_bound(item.substituted(iteration, ZERO))
    return UNBOUNDED if least <= -UNBOUNDED else max(0, -least // item.coefficients[iteration] + 1)


# --- affine operations ------------------------------------------------------------------------------------------------


_BITWISE: dict[str, Callable[[int, int], int]] = {"&": and_, "|": or_, "^": xor}


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
        first = item
        for variable in self._open_loops:
            first = first.substituted(variable, ZERO)
        low, high = self.system.lower_bound(first), self.system.upper_bound(first)
        wraps = (low - least) >> bits
        if (high - least) >> bits != wraps:
            raise NotAffineError
        item = item.add(-wraps << bits)
        if item.depends_on(self._open_loops):
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
        operator, bits = operation.operator, operation.bits
        left, right = operation.operands
        if operator == "<<":
            amount = self._constant(right, 32)
            if amount is None:
                raise NotAffineError
            return self.value(left).times(1 << amount) if amount < bits else ZERO
        first, mask = self._constant_if_affine(left, bits), self._constant_if_affine(right, bits)
        if first is not None and mask is not None:
            return Affine(_BITWISE[operator](first, mask))
        if first is not None:
            left, mask = right, first
        if mask is None:
            if operator == "|":
                return self._disjoint_or(left, right, bits)
            raise NotAffineError
        if operator == "^":
            return self._xor(left, mask, bits, node)
        if operator == "|":
            return self.value(left).add(mask).minus(self._masked(left, mask, bits, node))
        return self._masked(left, mask, bits, node)

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
        if not any(coefficient % divisor for coefficient in item.coefficients.values()):
            return item.divided(divisor)
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
        item = item.divided(1 << power)
        group = 1 << mask.bit_length()
        self.xors[f"^{node}"] = item, group
        return self._variable(f"^{node}", *xor_range(self.system, item, group)).times(1 << power)

    def _disjoint_or(self, left: int, right: int, bits: int) -> Affine:
        """`x | y` of numbers that have no bit in common."""
        first, second = self._exact(left, bits, signed=True), self._exact(right, bits, signed=True)
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
            amount = self._constant(right, 32)
            if amount is None:
                raise NotAffineError
            return self._quotient(first, 1 << min(amount, bits), f">{node}")
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
        difference = first.minus(second)
        if operator == "max":
            difference = difference.times(-1)
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

"""Affine expressions of a launch, and systems of constraints on their variables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from msgspec import field

from gpuregress.gpu.programs import Dim3
from gpuregress.gpu.records import Record
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


def xor_range(system: ConstraintSystem, item: Affine, group: int) -> Range:
    """Return the range of `x ^ mask`, the mask below `group`, a power of two."""
    low, high = system.lower_bound(item), system.upper_bound(item)
    return low // group * group, high // group * group + group - 1

"""Systems of affine constraints: a range for each variable, and affine expressions that are at most 0."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gpuregress.virtual_gpu.parallel.affine_expressions import ZERO, Affine
from gpuregress.virtual_gpu.parallel.launch import Range

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
            # coefficient * variable is at most the rest when all other variables are at their least.
            rest = coefficient * (low if coefficient > 0 else high) - least
            if coefficient > 0 and rest // coefficient < high:
                self.ranges[variable] = low, rest // coefficient
            elif coefficient < 0 and -(rest // -coefficient) > low:
                self.ranges[variable] = -(rest // -coefficient), high

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
                rest = item.times(scale).plus(constraint, -times)
                if len(rest.coefficients) < len(item.coefficients):
                    best = min(best, self._upper_bound(rest, depth - 1) // scale)
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
        return True if low == high == 0 else False if low > 0 or high < 0 else None
    end = 0 if operator == "<" else 1
    return True if high < end else False if low >= end else None


def nonpositive(operator: str, difference: Affine, system: ConstraintSystem) -> list[Affine]:
    """Return expressions that are at most 0 where a comparison of a difference with 0 holds; not for `==`."""
    if operator in ("<", "<="):
        return [difference.add(operator == "<")]
    if operator in (">", ">="):
        return [difference.times(-1).add(operator == ">")]
    if system.upper_bound(difference) <= 0:
        return [difference.add(1)]
    if system.lower_bound(difference) >= 0:
        return [difference.times(-1).add(1)]
    return []


def nonpositive_before_zero(difference: Affine, iteration: str, system: ConstraintSystem) -> list[Affine]:
    """Return expressions that are at most 0 while a loop runs that ends when a difference is 0.

    There are some only where the difference reaches 0 in whole steps: until then it is on one side of 0.
    """
    step = difference.coefficients[iteration]
    first = difference.substituted(iteration, ZERO)
    if not first.is_multiple_of(step):
        return []
    if step < 0:
        return [difference.times(-1).add(-step)] if system.lower_bound(first) >= 0 else []
    return [difference.add(step)] if system.upper_bound(first) <= 0 else []


def iteration_limit(item: Affine, iteration: str, system: ConstraintSystem) -> int:
    """Return the most iterations of a loop in which a growing expression is at most 0, save in the last one."""
    least = system.lower_bound(item.substituted(iteration, ZERO))
    return UNBOUNDED if least <= -UNBOUNDED else max(0, -least // item.coefficients[iteration] + 1)

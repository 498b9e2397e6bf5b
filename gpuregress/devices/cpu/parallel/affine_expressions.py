"""Integers that are sums of numbers with factors, what is known of the numbers, and so between what the sums lie."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Atom: TypeAlias = str
INFINITE = 1 << 200
"""Stands for no bound."""
_DEPTH = 3
"""Constraints that are added up, at most, to bound one sum."""


class NotUnderstoodError(Exception):
    """A formula is no such sum, or too much would have to be looked at."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A constant and a factor, not 0, for each atom."""

    constant: int
    factors: Mapping[Atom, int] = field(default_factory=dict)

    def plus(self, other: Sum, times: int = 1) -> Sum:
        """This and so many times the other."""
        factors = dict(self.factors)
        for atom, factor in other.factors.items():
            total = factors.get(atom, 0) + times * factor
            if total:
                factors[atom] = total
            else:
                factors.pop(atom, None)
        return Sum(self.constant + times * other.constant, factors)

    def times(self, number: int) -> Sum:
        """So many times this."""
        return ZERO.plus(self, number) if number else ZERO

    def add(self, number: int) -> Sum:
        """This and a number."""
        return Sum(self.constant + number, self.factors)

    def replaced(self, atom: Atom, by: Sum) -> Sum:
        """This with a sum in an atom's place."""
        factor = self.factors.get(atom, 0)
        if not factor:
            return self
        rest = {name: item for name, item in self.factors.items() if name != atom}
        return Sum(self.constant, rest).plus(by, factor)

    def tightened(self) -> Sum:
        """A sum that is at most 0 for the same integers: divided by the factors' common divisor, the constant up."""
        divisor = math.gcd(*self.factors.values()) if self.factors else 1
        if divisor <= 1:
            return self
        return Sum(-(-self.constant // divisor), {name: factor // divisor for name, factor in self.factors.items()})


ZERO = Sum(0)


class Knowledge:
    """Between what each atom lies, and sums that are at most 0."""

    def __init__(self, ranges: Mapping[Atom, tuple[int, int]]) -> None:
        self.ranges = dict(ranges)
        self.constraints: list[Sum] = []

    def most(self, item: Sum) -> int:
        """What a sum is at most; `INFINITE` or more where nothing says so."""
        return self._most(item, _DEPTH)

    def least(self, item: Sum) -> int:
        """What a sum is at least; `-INFINITE` or less where nothing says so."""
        return -self._most(item.times(-1), _DEPTH)

    def within(self, ranges: Mapping[Atom, tuple[int, int]]) -> Knowledge:
        """The same with these atoms' ranges cut."""
        found = Knowledge(self.ranges)
        found.constraints = list(self.constraints)
        for atom, (low, high) in ranges.items():
            least, most = self.ranges[atom]
            found.ranges[atom] = max(low, least), min(high, most)
        for _ in range(2):
            for constraint in found.constraints:
                found.narrow(constraint)
        return found

    def narrow(self, constraint: Sum) -> None:
        """Cuts the ranges of a constraint's atoms to what it leaves of them."""
        least = -self.box(constraint.times(-1))
        for atom, factor in constraint.factors.items():
            low, high = self.ranges[atom]
            if low > high:
                return
            # factor * atom is at most what is left when all others are at their least.
            left = factor * (low if factor > 0 else high) - least
            if factor > 0 and left // factor < high:
                self.ranges[atom] = low, left // factor
            elif factor < 0 and -(left // -factor) > low:
                self.ranges[atom] = -(left // -factor), high

    def constrain(self, item: Sum) -> None:
        """Adds that a sum is at most 0; of one atom alone it narrows its range."""
        item = item.tightened()
        if len(item.factors) == 1:
            ((atom, factor),) = item.factors.items()
            low, high = self.ranges[atom]
            if factor == 1:
                self.ranges[atom] = low, min(high, -item.constant)
            elif factor == -1:
                self.ranges[atom] = max(low, item.constant), high
        elif item.factors and item not in self.constraints:
            self.constraints.append(item)

    def possible(self) -> bool:
        """Whether nothing here shows that there is no such thing."""
        if any(low > high for low, high in self.ranges.values()):
            return False
        return all(self.box(item.times(-1)) >= 0 for item in self.constraints)

    def box(self, item: Sum) -> int:
        """What a sum is at most by its atoms' ranges alone."""
        total = item.constant
        for atom, factor in item.factors.items():
            low, high = self.ranges[atom]
            total += factor * (high if factor > 0 else low)
        return total

    def _most(self, item: Sum, depth: int) -> int:
        best = self.box(item)
        if depth == 0 or len(item.factors) < 2:
            return best
        for constraint in self.constraints:
            for times, scale in self._multiples(item, constraint):
                rest = item.times(scale).plus(constraint, -times)
                if len(rest.factors) < len(item.factors):
                    best = min(best, self._most(rest, depth - 1) // scale)
        return best

    def _multiples(self, item: Sum, constraint: Sum) -> Iterable[tuple[int, int]]:
        """How many times a constraint may be taken off how many times the sum, so that an atom goes."""
        found = set()
        for atom, factor in constraint.factors.items():
            wanted = item.factors.get(atom, 0)
            if wanted * factor > 0:
                common = math.gcd(wanted, factor)
                found.add((abs(wanted) // common, abs(factor) // common))
        return found

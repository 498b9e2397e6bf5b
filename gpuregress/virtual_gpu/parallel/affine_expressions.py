"""Affine expressions over integer variables.

The variables are a launch's coordinates, the iterations of loops, and the results of operations that are not affine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from msgspec import field

from gpuregress.gpu.records import Record


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
        rest = {name: item for name, item in self.coefficients.items() if name != variable}
        return Affine(self.constant, rest).plus(value, coefficient)

    def tightened(self) -> Affine:
        """Return the tightest expression that is at most 0 for the same integers.

        It is divided by the greatest common divisor of the coefficients, the constant rounded up.
        """
        divisor = math.gcd(*self.coefficients.values()) if self.coefficients else 1
        if divisor <= 1:
            return self
        divided = {name: coefficient // divisor for name, coefficient in self.coefficients.items()}
        return Affine(-(-self.constant // divisor), divided)

    def is_multiple_of(self, divisor: int) -> bool:
        """Whether a number divides the constant and all coefficients."""
        return not any(number % divisor for number in (self.constant, *self.coefficients.values()))

    def depends_on(self, variables: Iterable[str]) -> bool:
        """Whether any of the variables has a coefficient."""
        return any(variable in self.coefficients for variable in variables)


ZERO = Affine(0)

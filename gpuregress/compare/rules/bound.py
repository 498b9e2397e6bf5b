"""What a rule lets one element be off by; the arithmetic is in `bounds`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuregress.records import Outliers, Rule


@dataclass(frozen=True, slots=True)
class Bound:
    """What one element may be off by; nothing given means every bit.

    Where a tolerance and `ulp` are both given, an element needs to keep only one of them: `atol` for what is near zero,
    `ulp` for the rest.

    Attributes:
        rtol: see the module.
        atol: see the module.
        ulp: steps between floats of one sign; integers must be equal.
        nan: whether a NaN equals a NaN.
        signed_zero: whether -0 is 0, where no tolerance says so.
    """

    rtol: float | None = None
    atol: float | None = None
    ulp: int | None = None
    nan: Literal["equal", "never"] = "equal"
    signed_zero: Literal["distinct", "equal"] = "distinct"

    @property
    def has_tolerance(self) -> bool:
        """Whether rtol or atol is given."""
        return self.rtol is not None or self.atol is not None

    @property
    def is_exact(self) -> bool:
        """Whether neither a tolerance nor ulp is given."""
        return not self.has_tolerance and self.ulp is None

    @classmethod
    def of_rule(cls, rule: Rule) -> Bound:
        """The bound that each element must keep."""
        return cls(rule.rtol, rule.atol, rule.ulp, rule.nan, rule.signed_zero)

    @classmethod
    def of_outliers(cls, outliers: Outliers, rule: Rule) -> Bound:
        """The second bound, which no outlier may break."""
        return cls(outliers.rtol, outliers.atol, None, rule.nan, rule.signed_zero)

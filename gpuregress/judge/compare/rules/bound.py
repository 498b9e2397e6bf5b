"""Bound of one element's error; its arithmetic is in `elementwise`."""

from __future__ import annotations

from typing import Literal

from gpuregress.foundation.records import Outliers, Rule
from gpuregress.gpu.records import Record, replace


class Bound(Record):
    """The largest error of one element; without any limit every bit must be equal.

    With both a tolerance and `ulp`, an element must keep only one of them: `atol` for values near zero, `ulp` for the
    rest.

    Attributes:
        rtol: relative tolerance; see `elementwise`.
        atol: absolute tolerance.
        ulp: steps between floats of one sign; integers must be equal.
        nan: whether a NaN equals a NaN.
        signed_zero: whether -0 equals 0 without a tolerance.
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
        """The bound of every element."""
        return cls(rule.rtol, rule.atol, rule.ulp, rule.nan, rule.signed_zero)

    @classmethod
    def of_outliers(cls, outliers: Outliers, rule: Rule) -> Bound:
        """The second bound, which no outlier may break."""
        return cls(outliers.rtol, outliers.atol, None, rule.nan, rule.signed_zero)

    def for_pairing(self) -> Bound:
        """The same bound with NaN equal to NaN: `nan: never` is judged once for the buffer."""
        return replace(self, nan="equal")

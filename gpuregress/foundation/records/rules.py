"""Comparison rules, limits of statistical tests, and settings of checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from gpuregress.foundation.records.fills import Number
from gpuregress.foundation.records.json_form import OneOf
from gpuregress.gpu.records import Record, Sparse

METRICS = ("max", "mean", "rms", "l2")
"""Norms of the errors of a whole buffer, which a rule may limit."""


class Sigmas(Record):
    """The largest distance of two estimates, in standard errors."""

    sigmas: float


class StatisticLimits(Sparse):
    """Limits of statistical tests, for results random by design; None: not tested.

    Attributes:
        mean: of the means.
        variance: of the variances.
        ks: the smallest p-value of the Kolmogorov-Smirnov test that passes.
    """

    mean: Sigmas | None = None
    variance: Sigmas | None = None
    ks: float | None = None

    @property
    def given(self) -> dict[str, float]:
        """Statistic → its limit: standard errors, or a p-value for `ks`."""
        sigmas = {"mean": self.mean, "variance": self.variance}
        limits = {name: limit.sigmas for name, limit in sigmas.items() if limit is not None}
        return limits if self.ks is None else {**limits, "ks": self.ks}


class ExpectedSum(Record):
    """Setting of the check `sum`: |sum - value| <= atol + rtol * |value|."""

    value: Number
    rtol: float = 0.0
    atol: float = 0.0


class ElementCount(Sparse):
    """Setting of the check `nonzero`: bounds of a number of elements; None: not given."""

    exactly: int | None = None
    at_least: int | None = None
    at_most: int | None = None


class KnownRows(Record):
    """Setting of the check `rows`: number of a row → the values of all its parts, or one for all of them."""

    rows: Mapping[str, tuple[Number, ...]]


CheckSetting = ExpectedSum | KnownRows | ElementCount | tuple[Number, Number] | Number | str | None
"""The setting of a check; a pair is the `range` of low and high."""


class Outliers(Record):
    """A budget of elements that may miss the first bound, and the second bound that they must keep."""

    fraction: float
    rtol: float = 0.0
    atol: float = 0.0


class VerifyTolerance(Record):
    """The tolerance of a rule as a `verify` function gets it; 0 where the rule does not give it.

    Attributes:
        rtol: relative.
        atol: absolute.
        ulp: steps between floats of the dtype.
    """

    rtol: float = 0.0
    atol: float = 0.0
    ulp: int = 0


class Rule(Record):
    """A comparison rule of a buffer; all defaults: every bit equal, in order.

    Attributes:
        rtol: |actual - baseline| <= atol + rtol * |baseline|; None: not given.
        atol: see rtol.
        ulp: steps between floats of the dtype; None: not given.
        nan: whether a NaN equals a NaN.
        signed_zero: whether -0 is 0.
        outliers: a budget for elements that miss the bound.
        metric: whole-buffer metric (`rms`, `max`, `mean`, `l2`) → its limit.
        order: `any` compares the values as a multiset.
        key: a record's columns that find its partner.
        statistics: limits of statistical tests, in place of a bound of each element.
        verify: `/abs/module.py:function`, the user's own comparison, in place of all this; the rule supplies its
            tolerance.
    """

    rtol: float | None = None
    atol: float | None = None
    ulp: int | None = None
    nan: Literal["equal", "never"] = "equal"
    signed_zero: Literal["distinct", "equal"] = "distinct"
    outliers: Outliers | None = None
    metric: Mapping[str, float] = field(default_factory=dict)
    order: Literal["indexed", "any"] = "indexed"
    key: tuple[str, ...] = ()
    statistics: StatisticLimits = StatisticLimits()
    verify: str | None = None

    @property
    def is_exact(self) -> bool:
        """Tell whether only identical bits, in order, pass."""
        return self == Rule()

    @property
    def tolerance(self) -> VerifyTolerance:
        """The tolerance as a `verify` function gets it."""
        return VerifyTolerance(self.rtol or 0.0, self.atol or 0.0, self.ulp or 0)


class Check(Record):
    """A property that a buffer must have by itself: a name from `compare.checks` and its setting."""

    name: str
    setting: OneOf[CheckSetting] = None

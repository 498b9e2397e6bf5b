"""Comparison rules with their words for reports, limits of statistical tests, and settings of checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from gpuregress.foundation.json_form import OneOf
from gpuregress.foundation.records.launches import Number
from gpuregress.gpu.records import Record, Sparse, replace

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
        if self.ks is not None:
            limits["ks"] = self.ks
        return limits


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
        rtol: |actual - expected| <= atol + rtol * |expected|; None: not given.
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


_METRICS = {"max": "largest |error|", "mean": "mean |error|", "rms": "rms error", "l2": "|error|2 / |expected|2"}


def number_text(value: float) -> str:
    """Format a number with the fewest digits: `1e-05`, `0`, `3`."""
    if float(value).is_integer() and abs(value) < 1e15:
        return repr(int(value))
    return repr(float(value))


def bound_text(limits: Bound) -> str:
    """Describe a bound of one element."""
    terms = []
    if limits.has_tolerance:
        terms.append(
            f"|actual - expected| <= {number_text(limits.atol or 0)} + {number_text(limits.rtol or 0)} * |expected|"
        )
    if limits.ulp is not None:
        terms.append(f"within {limits.ulp} ulp of the same sign")
    return " or ".join(terms) or "every bit equal"


def rule_text(wanted: Rule) -> str:
    """Describe a whole rule in one line."""
    if wanted.verify:
        return f"verify: {wanted.verify}"
    limits, terms = Bound.of_rule(wanted), []
    if not limits.is_exact or not (wanted.metric or wanted.statistics.given):
        terms.append(bound_text(limits))
    if wanted.outliers:
        second = bound_text(Bound.of_outliers(wanted.outliers, wanted))
        terms.append(f"except {number_text(wanted.outliers.fraction)} of the elements, which keep {second}")
    terms += [f"{_METRICS.get(name, name)} <= {number_text(limit)}" for name, limit in wanted.metric.items()]
    terms += [_statistic(name, limit) for name, limit in wanted.statistics.given.items()]
    if wanted.key:
        terms.append(f"records matched by {', '.join(wanted.key)}")
    elif wanted.order == "any":
        terms.append("in any order")
    if wanted.nan == "never":
        terms.append("no NaN")
    if wanted.signed_zero == "equal":
        terms.append("-0 is 0")
    return ", ".join(terms)


def _statistic(name: str, limit: float) -> str:
    if name == "ks":
        return f"Kolmogorov-Smirnov p >= {number_text(limit)}"
    return f"{name}s within {number_text(limit)} standard errors"

"""Limits of statistical tests, and settings of checks, with every expression evaluated."""

from __future__ import annotations

from collections.abc import Mapping

from gpuregress.frozen import dataclass
from gpuregress.records.fills import Number
from gpuregress.records.serialization import Sparse


@dataclass(frozen=True, slots=True)
class Sigmas:
    """The largest distance of two estimates, in standard errors."""

    sigmas: float


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class ExpectedSum:
    """Setting of the check `sum`: |sum - value| <= atol + rtol * |value|."""

    value: Number
    rtol: float = 0.0
    atol: float = 0.0


@dataclass(frozen=True, slots=True)
class ElementCount(Sparse):
    """Setting of the check `nonzero`: bounds of a number of elements; None: not given."""

    exactly: int | None = None
    at_least: int | None = None
    at_most: int | None = None


@dataclass(frozen=True, slots=True)
class KnownRows:
    """Setting of the check `rows`: number of a row → the values of all its parts, or one for all of them."""

    rows: Mapping[str, tuple[Number, ...]]


CheckSetting = ExpectedSum | KnownRows | ElementCount | tuple[Number, Number] | Number | str | None
"""The setting of a check; a pair is the `range` of low and high."""

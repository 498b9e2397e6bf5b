"""Limits of statistical tests, and settings of checks, with every expression evaluated."""

from __future__ import annotations

from dataclasses import dataclass

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


CheckSetting = ExpectedSum | tuple[Number, Number] | Number | str | None
"""The setting of a check; a pair is the `range` of low and high."""

"""Statistical tests for results that are random by design: both sides are samples of a distribution.

* `mean: {sigmas: s}`: |m1 - m2| <= s sqrt(v1/n1 + v2/n2), Welch's statistic.
* `variance: {sigmas: s}`: |v1 - v2| <= s sqrt(V1 + V2), where V = (m4 - v^2 (n - 3)/(n - 1)) / n is the variance of a
  sample variance and m4 the fourth central moment (Mood, Graybill and Boes, Introduction to the Theory of Statistics).
* `ks: p`: the two-sample Kolmogorov-Smirnov test; fails where its p-value is under p. The p-value is the asymptotic one
  with Stephens' correction (Numerical Recipes, 14.3).

A run's own spread counts for no more than three times the baseline's (as a standard deviation): a single number of
1e30 would make its standard error as large as the distance of the means. A run of equal numbers has another variance
than any that vary.

NaN and infinities are left out and counted. If only one side has any, or one has more than chance explains, the samples
differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import Part
from gpuregress.foundation.numeric import ordinals, row_hash, tolerances
from gpuregress.foundation.numeric.ordinals import Array
from gpuregress.foundation.records import (
    Comparison,
    EstimateDistance,
    Figures,
    KolmogorovSmirnov,
    SampleFigures,
    SideCounts,
    StatisticLimits,
)
from gpuregress.foundation.records.rules import rule_text
from gpuregress.foundation.wording import joined
from gpuregress.gpu.records import Record, replace
from gpuregress.judge.compare.bounds import Floats
from gpuregress.judge.compare.comparison_request import ComparisonRequest
from gpuregress.judge.compare.difference_statistics import finite

_SMALL, _LARGE = 1e-70, 1e70
"""Between these the fourth power of a number, and its sums, are normal float64s."""
_SHARE_SIGMAS = 5.0
_MAX_SPREAD = 3.0
"""How many times the baseline's standard deviation a run's own widens its allowance."""


class NumericSample(Record):
    """The finite numbers of one part of one side.

    Attributes:
        values: float64, finite.
        left_out: NaNs and infinities.
    """

    values: Floats
    left_out: int

    @property
    def count(self) -> int:
        """The size of the sample."""
        return len(self.values)

    @property
    def mean(self) -> float:
        """Their mean."""
        return float(self.values.mean())

    @property
    def variance(self) -> float:
        """Their variance, over n - 1."""
        return float(self.values.var(ddof=1))


def compare(request: ComparisonRequest, expected: Array, actual: Array) -> Comparison:
    """Compare two samples by the statistics of the rule, each part by itself.

    Args:
        request: the buffer and the rule.
        expected: one dimension, `request.element_type.storage`.
        actual: the same.
    """
    kind, rule = request.element_type, request.rule
    problems: list[str] = []
    of_parts: dict[str, SampleFigures] = {}
    for part, e, a in kind.column_pairs(expected, actual):
        of_part, figures = _compare_part(rule.statistics, sample(e, part), sample(a, part))
        problems += [joined(": ", part.name, problem) for problem in of_part]
        of_parts[part.name or "value"] = figures
    changed, multiset_same = row_hash.differences(expected, actual, kind)
    return request.result(
        same=not problems,
        rule=rule_text(rule),
        figures=Figures(statistics=of_parts),
        identical=changed == 0,
        changed=changed,
        differing=request.total if problems else 0,
        multiset_same=multiset_same,
        message="; ".join(problems),
        tolerance_share=_tolerance_share(rule.statistics, of_parts.values()),
    )


def _tolerance_share(limits: StatisticLimits, parts: Iterable[SampleFigures]) -> float | None:
    """The largest part of the allowed standard errors that a mean or a variance is off; the KS test has none."""
    shares: list[float] = []
    for part in parts:
        for limit, distance in ((limits.given.get("mean"), part.mean), (limits.given.get("variance"), part.variance)):
            if not limit or distance is None:
                continue
            if distance.sigmas is None or not math.isfinite(distance.sigmas / limit):
                return None
            shares.append(distance.sigmas / limit)
    return max(shares, default=None)


def sample(column: Array, part: Part) -> NumericSample:
    """The finite numbers of a column as float64."""
    good = ordinals.is_finite(column, part.scalar)
    values = dtypes.to_float(column[good], part.scalar).astype(np.float64)
    return NumericSample(values, len(column) - len(values))


def _compare_part(
    limits: StatisticLimits, expected: NumericSample, actual: NumericSample
) -> tuple[list[str], SampleFigures]:
    figures = SampleFigures(SideCounts(expected.left_out, actual.left_out))
    tested: dict[str, Any] = {}
    if min(expected.count, actual.count) < 2:
        return [f"cannot be compared: {actual.count} numbers here, {expected.count} in the baseline"], figures
    problems = []
    if _other_share(expected, actual):
        problems.append(f"{actual.left_out} NaN or infinite here, {expected.left_out} in the baseline")
    largest = max(float(np.abs(side.values).max()) for side in (expected, actual))
    for name, limit in limits.given.items():
        if name != "ks" and largest and not _SMALL < largest < _LARGE:
            problems.append(f"{name} of numbers up to {largest:.3g}: their fourth powers leave float64")
            continue
        problem, tested[name] = STATISTICS[name](expected, actual, limit)
        if problem:
            problems.append(problem)
    return problems, replace(figures, **tested)


def _other_share(expected: NumericSample, actual: NumericSample) -> bool:
    """Tell whether NaN and infinities are more frequent on one side than chance explains, or on one side only."""
    if expected.left_out == actual.left_out:
        return False
    if not (expected.left_out and actual.left_out):
        return True
    total = expected.left_out + expected.count
    share = (expected.left_out + actual.left_out) / (2 * total)
    error = math.sqrt(2 * share * (1 - share) / total)
    return abs(expected.left_out - actual.left_out) > _SHARE_SIGMAS * error * total


def _mean(expected: NumericSample, actual: NumericSample, limit: float) -> tuple[str, EstimateDistance]:
    spread = min(actual.variance, _MAX_SPREAD**2 * expected.variance)
    error = math.sqrt(expected.variance / expected.count + spread / actual.count)
    return _sigmas("mean", expected.mean, actual.mean, error, limit)


def _variance(expected: NumericSample, actual: NumericSample, limit: float) -> tuple[str, EstimateDistance]:
    allowed = _variance_of_variance(expected)
    spread = min(_variance_of_variance(actual), _MAX_SPREAD**4 * allowed)
    error = math.sqrt(allowed + spread) if actual.variance else 0.0
    return _sigmas("variance", expected.variance, actual.variance, error, limit)


def _variance_of_variance(numbers: NumericSample) -> float:
    n, variance = numbers.count, numbers.variance
    fourth = float(((numbers.values - numbers.mean) ** 4).mean())
    return max(0.0, (fourth - variance**2 * (n - 3) / (n - 1)) / n)


def _sigmas(name: str, expected: float, actual: float, error: float, limit: float) -> tuple[str, EstimateDistance]:
    off = abs(actual - expected)
    sigmas = 0.0
    if error:
        sigmas = off / error
    elif off:
        sigmas = math.inf
    figures = EstimateDistance(_finite(expected), _finite(actual), finite(sigmas))
    if sigmas <= limit:
        return "", figures
    return f"{name} {actual:.6g} is {sigmas:.3g} sigmas from {expected:.6g}, over {limit:g}", figures


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _ks(expected: NumericSample, actual: NumericSample, limit: float) -> tuple[str, KolmogorovSmirnov]:
    distance = ks_distance(expected.values, actual.values)
    p = tolerances.ks_p_value(distance, expected.count, actual.count)
    figures = KolmogorovSmirnov(distance, p)
    if p >= limit:
        return "", figures
    return f"Kolmogorov-Smirnov distance {distance:.4g} has p = {p:.3g}, under {limit:g}", figures


def ks_distance(expected: Floats, actual: Floats) -> float:
    """The largest gap between the empirical distribution functions of two samples."""
    both = np.concatenate([expected, actual])
    e, a = (np.searchsorted(np.sort(side), both, side="right") / len(side) for side in (expected, actual))
    return float(np.abs(e - a).max())


_Test = Callable[[NumericSample, NumericSample, float], tuple[str, EstimateDistance | KolmogorovSmirnov]]
STATISTICS: dict[str, _Test] = {
    "mean": _mean,
    "variance": _variance,
    "ks": _ks,
}

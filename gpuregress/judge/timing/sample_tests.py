"""Mann-Whitney U test of two samples, with its effect size.

H. B. Mann, D. R. Whitney, On a Test of Whether one of Two Random Variables is Stochastically Larger than the Other,
Annals of Mathematical Statistics 18, 1947. The test asks nothing of the distribution of the times, which is skewed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.records import Record

_INTERVAL_LEVEL = 0.95
# Bootstrap confidence interval of the ratio of two medians.
# The percentile interval: B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.
_RESAMPLES = 2000
_AT_ONCE = 1 << 21
"""Values that are drawn at once."""
_SEED = 20261122
"""Any number: the same samples give the same interval in every run."""


class RatioInterval(Record):
    """The ratio of the medians, actual to expected, and its interval at the level `_INTERVAL_LEVEL`."""

    ratio: float
    low: float
    high: float


def of_medians(expected: Sequence[float], actual: Sequence[float]) -> RatioInterval:
    """The interval of the ratio of the medians.

    Args:
        expected: the accepted times, at least one, all positive.
        actual: this run's, likewise.
    """
    random = np.random.default_rng(_SEED)
    below, above = np.asarray(expected, np.float64), np.asarray(actual, np.float64)
    ratios = _medians(above, random) / _medians(below, random)
    low, high = np.quantile(ratios, [(1 - _INTERVAL_LEVEL) / 2, (1 + _INTERVAL_LEVEL) / 2])
    return RatioInterval(float(np.median(above) / np.median(below)), float(low), float(high))


def _medians(values: npt.NDArray[np.float64], random: np.random.Generator) -> npt.NDArray[np.float64]:
    """The medians of resamples of some values, each as many as there are, with replacement."""
    rows = max(1, min(_RESAMPLES, _AT_ONCE // len(values)))
    parts = []
    for start in range(0, _RESAMPLES, rows):
        count = min(rows, _RESAMPLES - start)
        parts.append(np.median(values[random.integers(0, len(values), (count, len(values)))], axis=1))
    return np.concatenate(parts)


EXACT_SIZE = 30
"""Samples on each side up to which the exact distribution is used, where no two are equal."""

_Counts = npt.NDArray[np.float64]


class RankTest(Record):
    """The result of the test.

    Attributes:
        p: probability of so large a difference, in either direction, where both are of one distribution.
        effect: Cliff's delta, -1 to 1: how much more often an actual time is the longer one of a pair than the shorter.
    """

    p: float
    effect: float


def compare(expected: Sequence[float], actual: Sequence[float]) -> RankTest:
    """Compare two samples, neither of them empty.

    Args:
        expected: the accepted times.
        actual: this run's.
    """
    pooled = np.concatenate([np.asarray(actual, np.float64), np.asarray(expected, np.float64)])
    first, second = len(actual), len(expected)
    _, which, counts = np.unique(pooled, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[which]  # equal values share the mean of their ranks
    u = float(ranks[:first].sum()) - first * (first + 1) / 2
    effect = 2 * u / (first * second) - 1
    has_ties = bool((counts > 1).any())
    exact = not has_ties and max(first, second) <= EXACT_SIZE
    p = _exact(u, first, second) if exact else _approximate(u, first, second, counts)
    return RankTest(min(1.0, p), effect)


def smallest_p(first: int, second: int) -> float:
    """The smallest p that samples of these sizes can have: all of one before all of the other."""
    return min(1.0, 2 / math.comb(first + second, first))


def _exact(u: float, first: int, second: int) -> float:
    counts = _distribution(first, second)
    tail = counts[: int(min(u, first * second - u)) + 1].sum()
    return float(2 * tail / counts.sum())


@cache
def _distribution(first: int, second: int) -> _Counts:
    """The number of orders of two samples with each U: coefficients of the Gaussian binomial of first + second."""
    counts = np.zeros(first * second + 1)
    counts[0] = 1
    for size in range(1, first + 1):  # times (1 - q^(second + size)) / (1 - q^size)
        factor = second + size
        if factor < len(counts):
            counts[factor:] = counts[factor:] - counts[:-factor].copy()
        for start in range(size):
            counts[start::size] = np.cumsum(counts[start::size])
    return counts


def _approximate(u: float, first: int, second: int, counts: npt.NDArray[np.int_]) -> float:
    """The normal approximation with the corrections for ties and for continuity."""
    total = first + second
    sizes = counts.astype(np.float64)
    ties = float((sizes**3 - sizes).sum()) / (total * (total - 1))
    variance = first * second / 12 * (total + 1 - ties)
    if variance <= 0:  # all values are equal
        return 1.0
    distance = max(0.0, abs(u - first * second / 2) - 0.5)
    return math.erfc(distance / math.sqrt(2 * variance))

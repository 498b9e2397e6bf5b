"""Bootstrap confidence interval of the ratio of two medians.

The percentile interval: B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.records import Record

LEVEL = 0.95
_RESAMPLES = 2000
_AT_ONCE = 1 << 21
"""Values that are drawn at once."""
_SEED = 20261122
"""Any number: the same samples give the same interval in every run."""


class RatioInterval(Record):
    """The ratio of the medians, actual to expected, and its interval at the level `LEVEL`."""

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
    low, high = np.quantile(ratios, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return RatioInterval(float(np.median(above) / np.median(below)), float(low), float(high))


def _medians(values: npt.NDArray[np.float64], random: np.random.Generator) -> npt.NDArray[np.float64]:
    """The medians of resamples of some values, each as many as there are, with replacement."""
    rows = max(1, min(_RESAMPLES, _AT_ONCE // len(values)))
    parts = []
    for start in range(0, _RESAMPLES, rows):
        count = min(rows, _RESAMPLES - start)
        parts.append(np.median(values[random.integers(0, len(values), (count, len(values)))], axis=1))
    return np.concatenate(parts)

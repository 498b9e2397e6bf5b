from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from gpuregress.judge.timing.ratio_interval import of_medians


def test_the_interval_is_scipys_percentile_interval() -> None:
    random = np.random.default_rng(3)
    expected, actual = random.lognormal(0, 0.05, 40), random.lognormal(0.3, 0.05, 30)

    def ratio(a: np.ndarray, e: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.asarray(np.median(a, axis=axis) / np.median(e, axis=axis))

    reference = stats.bootstrap(
        (actual, expected), ratio, method="percentile", n_resamples=4000, random_state=1
    ).confidence_interval
    ours = of_medians(list(expected), list(actual))
    assert ours.low == pytest.approx(reference.low, rel=0.01)
    assert ours.high == pytest.approx(reference.high, rel=0.01)
    assert ours.ratio == np.median(actual) / np.median(expected)
    assert ours.low <= ours.ratio <= ours.high


def test_the_same_samples_give_the_same_interval() -> None:
    expected, actual = [1.0, 1.1, 1.2, 1.05], [1.3, 1.4, 1.35]
    assert of_medians(expected, actual) == of_medians(expected, actual)


def test_a_sample_without_spread_has_an_interval_without_width() -> None:
    interval = of_medians([2.0] * 5, [3.0] * 7)
    assert (interval.low, interval.ratio, interval.high) == (1.5, 1.5, 1.5)


def test_long_samples_are_drawn_in_parts() -> None:
    interval = of_medians([1.0] * 5000, [2.0] * 5000)
    assert (interval.low, interval.high) == (2, 2)


def test_it_covers_the_true_ratio_about_as_often_as_its_level_says() -> None:
    random = np.random.default_rng(11)
    covered = 0
    for _ in range(200):
        expected, actual = random.lognormal(0, 0.1, 30), 1.2 * random.lognormal(0, 0.1, 30)
        interval = of_medians(list(expected), list(actual))
        covered += interval.low <= 1.2 <= interval.high
    assert 180 <= covered <= 199

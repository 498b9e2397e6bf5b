from __future__ import annotations

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.judge.sample_tests import compare, of_medians, smallest_p

_TIMES = st.lists(st.integers(1, 10**6), min_size=1, max_size=40, unique=True)


@given(_TIMES, st.data())
@settings(max_examples=40, deadline=None)
def test_without_ties_it_is_scipys_exact_test(times: list[int], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(times)))
    expected, actual = times[:cut], times[cut:]
    if not expected or not actual or max(len(expected), len(actual)) > 30:
        return
    reference = scipy.stats.mannwhitneyu(actual, expected, method="exact")
    ours = compare(expected, actual)
    assert ours.p == pytest.approx(reference.pvalue, rel=1e-9)
    assert ours.effect == pytest.approx(2 * reference.statistic / (len(expected) * len(actual)) - 1)


@given(st.lists(st.integers(1, 6), min_size=3, max_size=60), st.lists(st.integers(1, 6), min_size=3, max_size=60))
@settings(max_examples=40, deadline=None)
def test_with_ties_it_is_scipys_approximation(expected: list[int], actual: list[int]) -> None:
    values = {*expected, *actual}
    reference = scipy.stats.mannwhitneyu(actual, expected, method="asymptotic").pvalue if len(values) > 1 else 1.0
    if len({*expected}) + len({*actual}) == len(expected) + len(actual) == len(values):
        return  # no ties: the exact test
    assert compare(expected, actual).p == pytest.approx(reference, rel=1e-9)


def test_long_samples_take_the_approximation() -> None:
    random = np.random.default_rng(1)
    expected, actual = random.normal(10, 1, 200), random.normal(10.3, 1, 150)
    reference = scipy.stats.mannwhitneyu(actual, expected, method="asymptotic")
    assert compare(list(expected), list(actual)).p == pytest.approx(reference.pvalue, rel=1e-9)


def test_effect_is_1_where_every_actual_time_is_longer() -> None:
    assert compare([1, 2, 3], [4, 5]).effect == 1
    assert compare([4, 5], [1, 2, 3]).effect == -1
    assert compare([1, 2], [1, 2]).effect == 0
    assert compare([7, 7], [7, 7]).p == 1


def test_smallest_p_is_that_of_separate_samples() -> None:
    assert compare([1, 2, 3, 4], [5, 6, 7]).p == pytest.approx(smallest_p(4, 3))
    assert smallest_p(1, 1) == 1


def test_the_interval_is_scipys_percentile_interval() -> None:
    random = np.random.default_rng(3)
    expected, actual = random.lognormal(0, 0.05, 40), random.lognormal(0.3, 0.05, 30)

    def ratio(a: np.ndarray, e: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.asarray(np.median(a, axis=axis) / np.median(e, axis=axis))

    reference = scipy.stats.bootstrap(
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

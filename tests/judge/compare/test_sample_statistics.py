"""Statistics for results that are random by design, against scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy

from gpuregress.foundation.numeric import tolerances
from gpuregress.foundation.records import Rule, SideCounts, Sigmas, StatisticLimits
from gpuregress.judge.compare import sample_statistics
from tests.judge.compare.rooms import against


def test_ks_is_scipys() -> None:
    rng = np.random.default_rng(3)
    for shift in (0.0, 0.05, 0.2):
        one, two = rng.standard_normal(800), rng.standard_normal(500) + shift
        theirs = scipy.stats.ks_2samp(one, two, method="asymp")
        distance = sample_statistics.ks_distance(one, two)
        assert distance == pytest.approx(theirs.statistic)
        assert tolerances.ks_p_value(distance, 800, 500) == pytest.approx(theirs.pvalue, abs=0.03)


def test_ks_of_ties() -> None:
    one, two = np.array([0.0, 0, 0, 1]), np.array([0.0, 1, 1, 1])
    assert sample_statistics.ks_distance(one, two) == pytest.approx(scipy.stats.ks_2samp(one, two).statistic)


def test_samples_of_one_distribution_pass_and_of_another_fail() -> None:
    rng = np.random.default_rng(7)
    e, same = rng.standard_normal(4000), rng.standard_normal(4000)
    rules = {
        "mean": StatisticLimits(mean=Sigmas(4)),
        "variance": StatisticLimits(variance=Sigmas(4)),
        "ks": StatisticLimits(ks=0.001),
    }
    for statistics in rules.values():
        assert against("float32", e, same, Rule(statistics=statistics)).same
    assert not against("float32", e, same + 0.2, Rule(statistics=rules["mean"])).same
    assert not against("float32", e, same * 1.2, Rule(statistics=rules["variance"])).same
    assert not against("float32", e, rng.uniform(-1.73, 1.73, 4000), Rule(statistics=rules["ks"])).same
    assert against("float32", e, rng.uniform(-1.73, 1.73, 4000), Rule(statistics=rules["mean"])).same


def test_sigmas_are_welchs() -> None:
    rng = np.random.default_rng(9)
    e, a = rng.standard_normal(300), rng.standard_normal(300) * 2 + 0.1
    actual = against("float64", e, a, Rule(statistics=StatisticLimits(mean=Sigmas(99))))
    mean = actual.figures.statistics["value"].mean
    assert mean is not None
    assert mean.sigmas == pytest.approx(abs(scipy.stats.ttest_ind(e, a, equal_var=False).statistic))


def test_the_variance_of_a_variance() -> None:
    """Over many samples of 50, the variances scatter as the formula says."""
    rng = np.random.default_rng(11)
    variances = rng.exponential(size=(20_000, 50)).var(axis=1, ddof=1)
    one = sample_statistics.NumericSample(rng.exponential(size=200_000), 0)
    scaled = sample_statistics._variance_of_variance(one) * one.count / 50
    assert scaled == pytest.approx(float(variances.var()), rel=0.1)


def test_constant_samples() -> None:
    statistics = StatisticLimits(mean=Sigmas(4), variance=Sigmas(4))
    assert against("float32", [2, 2, 2], [2, 2, 2], Rule(statistics=statistics)).same
    assert not against("float32", [2, 2, 2], [3, 3, 3], Rule(statistics=statistics)).same


@pytest.mark.parametrize("name", ["mean", "variance"])
def test_one_wild_number_does_not_widen_its_own_bound(name: str) -> None:
    e = np.random.default_rng(5).normal(size=64)
    a = np.where(np.arange(64) == 7, 1e30, e)
    limits: dict[str, Any] = {name: Sigmas(50)}
    assert not against("float32", e, a, Rule(statistics=StatisticLimits(**limits))).same


def test_equal_numbers_have_not_the_variance_of_numbers_that_vary() -> None:
    e = np.random.default_rng(1).normal(5, 1, 64)
    assert not against("float32", e, np.zeros(64), Rule(statistics=StatisticLimits(variance=Sigmas(50)))).same


def test_nan_is_left_out_and_counted() -> None:
    e, a = np.arange(100.0), np.arange(100.0)
    e[3], a[5], a[6] = np.nan, np.nan, np.inf
    rule = Rule(statistics=StatisticLimits(mean=Sigmas(4)))
    actual = against("float64", e, a, rule)
    assert actual.same
    assert actual.figures.statistics["value"].left_out == SideCounts(1, 2)
    e[3] = 3
    assert "2 NaN or infinite here" in against("float64", e, a, rule).message
    empty = np.full(4, np.nan)
    rule = Rule(statistics=StatisticLimits(ks=0.01))
    assert "cannot be compared" in against("float64", empty, empty[::-1].copy(), rule).message


def test_more_nan_than_chance_explains() -> None:
    values = np.random.default_rng(7).normal(size=1000)

    def with_nan(count: int) -> Any:
        return np.where(np.arange(1000) < count, np.nan, values)

    rule = Rule(statistics=StatisticLimits(mean=Sigmas(5)))
    assert against("float64", with_nan(10), with_nan(14), rule).same
    assert "500 NaN" in against("float64", with_nan(10), with_nan(500), rule).message
    assert "0 NaN" in against("float64", with_nan(10), with_nan(0), rule).message


@pytest.mark.parametrize("scale", [1e200, 1e-200])
@pytest.mark.parametrize("name", ["mean", "variance"])
def test_numbers_whose_powers_leave_float64_never_pass(scale: float, name: str) -> None:
    values = np.random.default_rng(7).normal(size=1000) * scale
    limits: dict[str, Any] = {name: Sigmas(5)}
    rule = Rule(statistics=StatisticLimits(**limits))
    assert "fourth powers" in against("float64", values, values * 9, rule).message

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Rule, Sigmas, StatisticLimits
from gpuregress.judge import further_runs
from gpuregress.judge.compare import comparators
from gpuregress.judge.compare.comparison_request import ComparisonRequest

RULE = Rule(statistics=StatisticLimits(mean=Sigmas(3.0), variance=Sigmas(4.0), ks=0.05))


def test_one_test_keeps_its_limits_and_a_rule_without_statistics_too() -> None:
    assert further_runs.corrected_for_tests(RULE, 1) == RULE
    assert further_runs.corrected_for_tests(Rule(ulp=2), 20) == Rule(ulp=2)


def test_each_of_several_tests_has_its_share() -> None:
    limits = further_runs.corrected_for_tests(RULE, 20).statistics
    assert limits.ks == pytest.approx(0.0025)
    assert limits.mean is not None
    assert limits.variance is not None
    assert math.erfc(limits.mean.sigmas / math.sqrt(2)) == pytest.approx(math.erfc(3 / math.sqrt(2)) / 20, rel=0.01)
    assert limits.variance.sigmas > 4


@given(st.floats(0.01, 100), st.integers(1, 10_000))
def test_a_limit_grows_with_the_number_of_tests_and_slowly(limit: float, tests: int) -> None:
    corrected = further_runs.sigmas_for_tests(limit, tests)
    assert limit * (1 - 1e-9) <= corrected <= math.sqrt(limit**2 + 2 * math.log(tests)) + 4.5
    assert corrected <= further_runs.sigmas_for_tests(limit, tests + 1) * (1 + 1e-9)


def test_the_rate_of_false_alarms_of_all_tests_together_is_the_one_that_was_written() -> None:
    """Without the correction some 40 % of the families of ten would fail at the level 0.05."""
    kind, random = dtypes.parse("float64"), np.random.default_rng(7)
    single = Rule(statistics=StatisticLimits(ks=0.05))
    rates = []
    for rule in (single, further_runs.corrected_for_tests(single, 10)):
        request = ComparisonRequest("x", kind, (100,), rule, "baseline")
        families = 0
        for _ in range(100):
            samples = random.normal(size=(20, 100))  # independent pairs
            pairs = zip(samples[:10], samples[10:], strict=True)
            families += any(not comparators.compare(request, one, other).same for one, other in pairs)
        rates.append(families / 100)
    assert rates[0] > 0.2
    assert rates[1] <= 0.1

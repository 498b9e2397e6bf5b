"""Use of a tolerance, by every comparator, against a brute force and against the verdict."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.records import Outliers, Rule, Sigmas, StatisticLimits
from gpuregress.judge import compare
from gpuregress.judge.compare import tolerance_use
from tests.judge.compare.rooms import against, request

FLOATS = st.floats(-1e6, 1e6, width=32)


@pytest.mark.parametrize(
    ("rule", "expected", "actual", "share"),
    [
        (Rule(atol=2.0), [1.0, 1.0], [1.0, 2.0], 0.5),
        (Rule(rtol=0.5), [2.0, 4.0], [2.25, 4.0], 0.25),
        (Rule(rtol=0.5, atol=1.0), [2.0], [2.5], 0.25),
        (Rule(atol=2.0), [1.0], [6.0], 2.5),
        (Rule(atol=2.0), [1.0], [1.0], 0.0),
        (Rule(ulp=4), [1.0], [np.nextafter(np.float32(1), np.float32(2))], 0.25),
        (Rule(ulp=4, atol=1e-9), [1.0], [np.nextafter(np.float32(1), np.float32(2))], 0.25),
        (Rule(ulp=1, atol=8.0), [1.0], [5.0], 0.5),
        (Rule(ulp=1), [-1e-45], [1e-45], None),  # no step crosses 0
        (Rule(ulp=4, atol=2.0), [-1e-45], [1.0], 0.5),  # the tolerance alone
        (Rule(rtol=0.5), [0.0], [1e-45], None),  # nothing is allowed
        (Rule(atol=2.0), [1.0, 1.0], [math.nan, 2.0], None),
        (Rule(atol=2.0), [1.0, 1.0], [math.nan, 4.0], 1.5),
        (Rule(atol=2.0), [math.nan, math.inf], [math.nan, math.inf], 0.0),
        (Rule(), [1.0], [2.0], None),
        (Rule(metric={"max": 4.0}), [1.0], [2.0], 0.25),
        (Rule(metric={"max": 4.0, "mean": 0.5}), [1.0, 1.0], [2.0, 1.0], 1.0),
        (Rule(metric={"max": 4.0}, atol=1.25), [1.0], [2.0], 0.8),
        (Rule(metric={"max": 0.0}), [1.0], [2.0], None),
        (Rule(order="any", atol=2.0), [1.0, 5.0], [5.0, 2.0], 0.5),
        (Rule(order="any", atol=2.0), [1.0, 5.0], [5.0, 1.0], 0.0),
        (Rule(order="any", atol=2.0), [1.0, 5.0], [5.0, 9.0], None),
        (Rule(order="any"), [1.0, 5.0], [5.0, 1.0], None),
        (Rule(order="any", metric={"max": 4.0}), [1.0, 5.0], [5.0, 2.0], 0.25),
    ],
)
def test_the_share_of_a_rule(rule: Rule, expected: list[float], actual: list[float], share: float | None) -> None:
    compared = against("float32", expected, actual, rule)
    assert compared.tolerance_share == (None if share is None else pytest.approx(share))


def test_small_floats() -> None:
    assert against("bfloat16", [1.0], [1.0078125], Rule(ulp=4)).tolerance_share == 0.25
    assert against("bfloat16", [1e-38], [-1e-38], Rule(ulp=100)).tolerance_share is None
    assert against("float16", [1.0], [1.0009765625], Rule(ulp=2)).tolerance_share == 0.5


def test_integers_and_records() -> None:
    assert against("int32", [10], [13], Rule(atol=4.0)).tolerance_share == 0.75
    assert against("int32", [10], [13], Rule(ulp=4)).tolerance_share is None
    assert against("bool", [True], [True], Rule(atol=4.0)).tolerance_share == 0.0
    record = "{key: int32, value: float32}"
    rule = Rule(key=("key",), atol=2.0)
    assert against(record, [(1, 1.0), (2, 5.0)], [(2, 5.5), (1, 1.0)], rule).tolerance_share == 0.25
    assert against(record, [(1, 1.0), (2, 5.0)], [(3, 5.5), (1, 1.0)], rule).tolerance_share is None
    assert against("float2", [(1.0, 5.0)], [(1.0, 5.5)], Rule(order="any", atol=2.0)).tolerance_share == 0.25


@pytest.mark.parametrize(
    ("actual", "share"),
    [
        ([1.0] * 10, 0.0),
        ([1.5] * 10, 0.5),  # nothing misses the bound
        ([3.0] + [1.0] * 9, 0.5),  # one of two that may
        ([7.0] + [1.0] * 9, 0.75),  # within the second bound
        ([17.0] + [1.0] * 9, 2.0),
        ([3.0] * 4 + [1.0] * 6, 2.0),
    ],
)
def test_the_share_of_a_budget_of_outliers(actual: list[float], share: float) -> None:
    rule = Rule(atol=1.0, outliers=Outliers(fraction=0.2, atol=8.0))
    assert against("float32", [1.0] * 10, actual, rule).tolerance_share == pytest.approx(share)


def test_the_share_of_a_statistical_test() -> None:
    rule = Rule(statistics=StatisticLimits(mean=Sigmas(4.0)))
    expected = [0.0, 1.0] * 50
    compared = against("float32", expected, [one + 0.1 for one in expected], rule)
    assert compared.tolerance_share == pytest.approx(0.1 / math.sqrt(2 * np.var(expected, ddof=1) / 100) / 4)


@pytest.mark.parametrize(
    ("rule", "share"),
    [(Rule(), None), (Rule(atol=1.0), 0.0), (Rule(metric={"max": 1.0}), 0.0), (Rule(verify="/f.py:f"), None)],
)
def test_equal_digests_use_nothing(rule: Rule, share: float | None) -> None:
    if rule.verify is None:
        assert compare.identical(request("float32", (2,), rule)).tolerance_share == share


@given(
    st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=20),
    st.sampled_from([Rule(rtol=0.1), Rule(atol=3.0), Rule(rtol=1e-3, atol=0.5), Rule(ulp=7), Rule(ulp=3, rtol=0.2)]),
)
def test_a_share_up_to_1_passes_and_a_larger_one_fails(pairs: list[tuple[float, float]], rule: Rule) -> None:
    compared = against("float32", [one for one, _ in pairs], [one for _, one in pairs], rule)
    share = compared.tolerance_share
    assert share is None or (share <= 1) == compared.same
    assert not (share is None and compared.same)


def test_limits_of_metrics() -> None:
    assert tolerance_use.of_metrics({}, {}) is None
    assert tolerance_use.of_metrics({"max": 2.0, "rms": 1.0}, {"max": 1.0, "rms": 0.25}) == 0.5
    assert tolerance_use.of_metrics({"l2": 2.0}, {"l2": math.inf}) is None
    assert tolerance_use.largest(None, 0.5, 0.25) == 0.5
    assert tolerance_use.largest(None) is None

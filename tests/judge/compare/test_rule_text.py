"""Rules in words."""

from __future__ import annotations

import pytest

from gpuregress.foundation.records import Outliers, Rule, Sigmas, StatisticLimits
from gpuregress.foundation.records.rules import number_text, rule_text

BOUND = "|actual - expected| <= 0 + 1e-05 * |expected|"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (Rule(), "every bit equal"),
        (Rule(rtol=1e-5), BOUND),
        (Rule(rtol=1e-5, ulp=2), f"{BOUND} or within 2 ulp of the same sign"),
        (Rule(order="any"), "every bit equal, in any order"),
        (Rule(key=("id", "t")), "every bit equal, records matched by id, t"),
        (Rule(metric={"rms": 3.0}), "rms error <= 3"),
        (Rule(atol=1, metric={"l2": 0.5}), "|actual - expected| <= 1 + 0 * |expected|, |error|2 / |expected|2 <= 0.5"),
        (Rule(statistics=StatisticLimits(mean=Sigmas(4))), "means within 4 standard errors"),
        (Rule(statistics=StatisticLimits(ks=0.01)), "Kolmogorov-Smirnov p >= 0.01"),
        (Rule(nan="never", signed_zero="equal"), "every bit equal, no NaN, -0 is 0"),
        (Rule(verify="/v.py:f"), "verify: /v.py:f"),
        (
            Rule(rtol=1e-5, outliers=Outliers(0.25, 0.5, 0.0)),
            f"{BOUND}, except 0.25 of the elements, which keep |actual - expected| <= 0 + 0.5 * |expected|",
        ),
    ],
)
def test_rules(rule: Rule, text: str) -> None:
    assert rule_text(rule) == text


@pytest.mark.parametrize(("value", "text"), [(0.0, "0"), (3.0, "3"), (1e-5, "1e-05"), (0.1, "0.1"), (1e20, "1e+20")])
def test_numbers(value: float, text: str) -> None:
    assert number_text(value) == text

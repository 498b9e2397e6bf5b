from __future__ import annotations

from typing import Any

import pytest

from gpuregress.foundation.records import Rule, Sigmas, StatisticLimits, VerifyTolerance, from_json, to_json


def test_limits_of_statistics_that_are_given() -> None:
    limits = StatisticLimits(mean=Sigmas(4), ks=0.01)
    assert limits.given == {"mean": 4, "ks": 0.01}
    assert StatisticLimits().given == {}
    assert not Rule(statistics=limits).is_exact


def test_their_keys_in_json() -> None:
    limits = StatisticLimits(variance=Sigmas(4), ks=0.01)
    assert to_json(limits) == {"variance": {"sigmas": 4}, "ks": 0.01}
    assert from_json(StatisticLimits, to_json(limits)) == limits


@pytest.mark.parametrize("change", [{"ulp": 0}, {"rtol": 0.0}, {"nan": "never"}, {"key": ("id",)}, {"order": "any"}])
def test_only_the_default_rule_is_exact(change: dict[str, Any]) -> None:
    assert Rule().is_exact
    assert not Rule(**change).is_exact


def test_the_tolerance_of_a_rule_is_0_where_it_has_none() -> None:
    assert Rule().tolerance == VerifyTolerance(0.0, 0.0, 0)
    assert Rule(rtol=0.5, ulp=3).tolerance == VerifyTolerance(0.5, 0.0, 3)

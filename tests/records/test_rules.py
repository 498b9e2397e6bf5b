from __future__ import annotations

from typing import Any

import pytest

from gpuregress.records import Rule, Sigmas, StatisticLimits, from_json, to_json

CHANGES: list[dict[str, Any]] = [
    {"ulp": 0},
    {"rtol": 0.0},
    {"nan": "never"},
    {"key": ("id",)},
    {"order": "any"},
    {"statistics": StatisticLimits(ks=0.1)},
]


@pytest.mark.parametrize("change", CHANGES)
def test_only_the_default_rule_is_exact(change: dict[str, Any]) -> None:
    assert Rule().is_exact
    assert not Rule(**change).is_exact


def test_limits_of_statistics_that_are_given() -> None:
    limits = StatisticLimits(mean=Sigmas(4), ks=0.01)
    assert limits.given == {"mean": 4, "ks": 0.01}
    assert StatisticLimits().given == {}
    assert to_json(limits) == {"mean": {"sigmas": 4}, "ks": 0.01}
    assert from_json(StatisticLimits, to_json(limits)) == limits

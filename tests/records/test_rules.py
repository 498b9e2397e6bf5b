from __future__ import annotations

from gpuregress.records import Rule, Sigmas, StatisticLimits, from_json, to_json


def test_limits_of_statistics_that_are_given() -> None:
    limits = StatisticLimits(mean=Sigmas(4), ks=0.01)
    assert limits.given == {"mean": 4, "ks": 0.01}
    assert StatisticLimits().given == {}
    assert not Rule(statistics=limits).is_exact


def test_their_keys_in_json() -> None:
    limits = StatisticLimits(variance=Sigmas(4), ks=0.01)
    assert to_json(limits) == {"variance": {"sigmas": 4}, "ks": 0.01}
    assert from_json(StatisticLimits, to_json(limits)) == limits

"""The bounds of a rule."""

from __future__ import annotations

from gpuregress.foundation.records import Outliers, Rule
from gpuregress.foundation.records.rules import Bound


def test_a_rules_two_bounds() -> None:
    outliers = Outliers(fraction=0.1, rtol=0.5, atol=0.25)
    rule = Rule(rtol=0.1, ulp=2, nan="never", signed_zero="equal", outliers=outliers)
    assert Bound.of_rule(rule) == Bound(0.1, None, 2, "never", "equal")
    assert Bound.of_outliers(outliers, rule) == Bound(0.5, 0.25, None, "never", "equal")


def test_exact_means_no_limit_at_all() -> None:
    assert Bound(nan="never").is_exact
    assert not Bound(ulp=0).is_exact
    assert not Bound(atol=0.0).is_exact
    assert Bound(atol=0.0).has_tolerance
    assert not Bound(ulp=3).has_tolerance


def test_nan_equals_nan_for_pairing() -> None:
    bound = Bound(0.1, 0.2, 3, "never", "equal")
    assert bound.for_pairing() == Bound(0.1, 0.2, 3, "equal", "equal")

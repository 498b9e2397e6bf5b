"""The choice of a comparator, and the buffers that none takes."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Rule, Sigmas, StatisticLimits
from gpuregress.judge.compare import comparators
from tests import float_environments
from tests.judge.compare.rooms import request


@pytest.mark.parametrize(
    ("rule", "dtype", "name"),
    [
        (Rule(), "float4", "indexed"),
        (Rule(order="any"), "float32", "any"),
        (Rule(order="any"), "float4", "match"),
        (Rule(order="any", key=("x",)), "float4", "key"),
        (Rule(statistics=StatisticLimits(mean=Sigmas(4))), "float32", "statistics"),
        (Rule(order="any", verify="/v.py:f"), "float32", "verify"),
    ],
)
def test_the_comparator_of_a_rule(rule: Rule, dtype: str, name: str) -> None:
    assert comparators.comparator_name(rule, dtypes.parse(dtype)) == name
    assert name in comparators.COMPARATORS


@pytest.mark.parametrize("rule", [Rule(rtol=1e-3), Rule(atol=1e-42), Rule(rtol=1e-3, order="any")])
def test_the_callers_floating_point_environment_decides_nothing(rule: Rule) -> None:
    expected, actual = np.zeros(3, "f4"), np.full(3, 1e-40, "f4")
    with float_environments.left_behind():
        compared = comparators.compare(request("float32", (3,), rule), expected, actual)
        assert float_environments.traits() != float_environments.DEFAULT, "the caller's own is put back"
    assert (compared.same, compared.differing) == (False, 3)
    assert float_environments.traits() == float_environments.DEFAULT


def test_arrays_that_do_not_match_the_request_are_refused() -> None:
    wanted = request("float32", (2, 3))
    refused = comparators.compare(wanted, np.zeros(6, "f8"), np.zeros((3, 2), "f4"))
    assert not refused.same
    assert refused.message == (
        "cannot be compared: the baseline holds float64, not float32; this run has shape [3, 2], not [2, 3]"
    )
    assert comparators.compare(wanted, np.zeros(6, "f4"), np.zeros((2, 3), "f4")).same
    assert "no element" in comparators.compare(request("float32", (0,)), np.zeros(0, "f4"), np.zeros(0, "f4")).message

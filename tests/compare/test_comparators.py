"""The choice of a comparator, and the buffers that none takes."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress import dtypes
from gpuregress.compare import comparators
from gpuregress.records import Rule, Sigmas, StatisticLimits
from tests.compare.rooms import request


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


def test_arrays_that_do_not_match_the_request_are_refused() -> None:
    wanted = request("float32", (2, 3))
    refused = comparators.compare(wanted, np.zeros(6, "f8"), np.zeros((3, 2), "f4"))
    assert not refused.same
    assert refused.message == (
        "cannot be compared: the baseline holds float64, not float32; this run has shape [3, 2], not [2, 3]"
    )
    assert comparators.compare(wanted, np.zeros(6, "f4"), np.zeros((2, 3), "f4")).same
    assert "no element" in comparators.compare(request("float32", (0,)), np.zeros(0, "f4"), np.zeros(0, "f4")).message

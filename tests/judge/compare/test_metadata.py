"""Comparison by element types, shapes and digests."""

from __future__ import annotations

import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Rule, StatisticLimits
from gpuregress.judge.compare import metadata
from tests.judge.compare.rooms import request


@pytest.mark.parametrize(
    ("rule", "in_order", "needs_all"),
    [
        (Rule(), True, False),
        (Rule(rtol=0.1, metric={"max": 1}), True, False),
        (Rule(metric={"rms": 1}), True, True),
        (Rule(nan="never"), True, True),
        (Rule(order="any"), False, True),
        (Rule(key=("x",)), False, True),
        (Rule(statistics=StatisticLimits(ks=0.1)), False, True),
        (Rule(verify="/v.py:f"), False, True),
    ],
)
def test_the_elements_that_a_rule_needs(rule: Rule, in_order: bool, needs_all: bool) -> None:  # noqa: FBT001
    assert (metadata.is_in_order(rule), metadata.needs_all(rule)) == (in_order, needs_all)


def test_equal_digests_are_not_enough_for_every_rule() -> None:
    floats, integers = dtypes.parse("float32"), dtypes.parse("int32")
    assert metadata.needs_array_when_identical(Rule(nan="never"), floats)
    assert not metadata.needs_array_when_identical(Rule(nan="never"), integers)
    assert metadata.needs_array_when_identical(Rule(verify="/v.py:f"), integers)
    same = metadata.identical(request("float32", (2,)))
    assert (same.same, same.identical, same.multiset_same, same.of) == (True, True, True, 2)
    with pytest.raises(ValueError, match="must see the array"):
        metadata.identical(request("float32", (2,), Rule(nan="never")))


def test_other_types_and_shapes() -> None:
    wanted = request("float32", (2, 3))
    assert metadata.mismatch(wanted, dtypes.parse("float32"), (2, 3)) is None
    refused = metadata.mismatch(wanted, dtypes.parse("float64"), (6,))
    assert refused is not None
    assert (refused.same, refused.differing, refused.changed) == (False, 6, 6)
    assert refused.message.endswith("float64, this run float32; the baseline's shape is [6], this run's [2, 3]")

"""Maximum matchings of rows, held against brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Rule
from gpuregress.foundation.records.rules import Bound
from gpuregress.judge import compare
from gpuregress.judge.compare import bipartite_matching
from gpuregress.judge.compare.bipartite_matching import MatchCriterion
from tests.judge.compare.oracle import largest_matching
from tests.judge.compare.rooms import array, request

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "float2": st.tuples(*[st.sampled_from([0.0, -0.0, 0.5, 1.0, 1.5, 2.0, np.nan, np.inf, -np.inf])] * 2),
    "{id:int64,score:float64}": st.tuples(st.integers(2**60, 2**60 + 3), st.integers(-3, 3).map(float)),
    "{flag:bool,score:float16}": st.tuples(st.booleans(), st.floats(-2, 2, width=16)),
    "complex64": st.builds(complex, st.integers(-2, 2), st.integers(-2, 2)),
}
RULES = (
    Rule(order="any"),
    Rule(order="any", atol=0.5),
    Rule(order="any", atol=1),
    Rule(order="any", rtol=0.5, atol=0.25),
    Rule(order="any", ulp=3),
    Rule(order="any", ulp=1 << 22, signed_zero="equal"),
)


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("dtype", VALUES)
@settings(max_examples=10)
@given(data=st.data())
def test_the_matching_is_as_large_as_brute_force(dtype: str, rule: Rule, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 9))
    e, a = (array(dtype, data.draw(st.lists(VALUES[dtype], min_size=size, max_size=size))) for _ in range(2))
    criterion = MatchCriterion(dtypes.parse(dtype), Bound.of_rule(rule))
    near = [[bool(criterion.matches(e[i : i + 1], a[j : j + 1])[0]) for j in range(size)] for i in range(size)]
    partner = bipartite_matching.match(criterion, e, a)
    paired = np.flatnonzero(partner >= 0)
    assert len(set(partner[paired].tolist())) == len(paired), "a partner has one partner"
    assert all(near[partner[row]][row] for row in paired.tolist())
    assert len(paired) == largest_matching(near)
    actual = compare.compare(request(dtype, (size,), rule), e, a)
    assert actual.same == (len(paired) == size)
    assert actual.only_expected == actual.only_actual == size - len(paired)


def test_equal_rows_are_paired_in_order() -> None:
    criterion = MatchCriterion(dtypes.parse("float32"), Bound(signed_zero="equal"))
    e, a = array("float32", [1, 0.0, 1, 5]), array("float32", [-0.0, 1, 1, 1])
    assert bipartite_matching.pair_equal(criterion, e, a).tolist() == [1, 0, 2, -1]

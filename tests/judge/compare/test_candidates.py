"""The match criterion, and windows that lose no partner."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.records.rules import Bound
from gpuregress.judge.compare import bipartite_matching
from gpuregress.judge.compare.bipartite_matching import MatchCriterion
from tests.judge.compare.rooms import array

RECORD = "{id:int32,score:float32}"
NUMBERS = st.sampled_from([0.0, -0.0, 1.0, 1.25, -3.5, 1e-40, 3e38, math.inf, -math.inf, math.nan])


def test_keys_must_be_equal_and_all_else_near() -> None:
    criterion = MatchCriterion(dtypes.parse(RECORD), Bound(atol=1.0, nan="never"), keys=(0,))
    e = array(RECORD, [(1, 1.0), (1, 1.0), (1, math.nan)])
    a = array(RECORD, [(1, 2.0), (2, 1.0), (1, math.nan)])
    assert criterion.matches(e, a).tolist() == [True, False, True]


@pytest.mark.parametrize("bound", [Bound(), Bound(atol=1.0), Bound(rtol=0.5, atol=0.5), Bound(ulp=1 << 22)], ids=str)
@given(data=st.data())
def test_every_partner_is_in_the_window(bound: Bound, data: st.DataObject) -> None:
    criterion = MatchCriterion(dtypes.parse("float2"), bound)
    rows = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8)
    e, a = (array("float2", data.draw(rows)) for _ in range(2))
    windows = bipartite_matching.windows(criterion, e, a)
    begin, end = windows.span(a)
    for row in range(len(a)):
        inside = set(windows.order[begin[row] : end[row]].tolist())
        matches = criterion.matches(e, np.repeat(a[row : row + 1], len(e)))
        assert set(np.flatnonzero(matches).tolist()) <= inside


def test_the_part_with_the_fewest_candidates_is_chosen() -> None:
    e = array(RECORD, [(1, float(value)) for value in range(100)])
    windows = bipartite_matching.windows(MatchCriterion(dtypes.parse(RECORD), Bound(atol=0.25)), e, e)
    assert windows.part == 1
    begin, end = windows.span(e)
    assert (end - begin).max() == 1

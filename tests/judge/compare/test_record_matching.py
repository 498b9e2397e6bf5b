"""Records by key and by exact matching, proved against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Outliers, Rule
from gpuregress.judge import compare
from gpuregress.judge.compare import bipartite_matching
from tests.judge.compare.rooms import against, request

RECORD = "{id:int32,score:float32}"


def test_records_find_their_partner_by_key() -> None:
    rule = Rule(key=("id",), atol=0.1)
    result = against(RECORD, [(1, 1.0), (2, 2.0), (3, 3.0)], [(3, 3.05), (1, 1.0), (2, 2.0)], rule)
    assert result.same
    assert "matched by id" in result.rule
    result = against(RECORD, [(1, 1.0), (2, 2.0), (3, 3.0)], [(3, 3.5), (1, 1.0), (4, 2.0)], rule)
    assert not result.same
    assert (result.only_expected, result.only_actual, result.differing) == (1, 1, 2)
    assert [(one.index, one.part, one.expected, one.actual) for one in result.first] == [
        (2, "score", "3.0", "3.5"),
        (1, "", "2 2.0", ""),
        (2, "", "", "4 2.0"),
    ]


def test_keys_are_equal_and_not_near() -> None:
    assert not against(RECORD, [(100000, 1.0)], [(100001, 1.0)], Rule(key=("id",), rtol=0.1)).same


def test_a_key_that_stands_twice_is_matched_within_itself() -> None:
    rule = Rule(key=("id",), atol=0.6)
    assert against(RECORD, [(1, 1.0), (1, 2.0), (2, 2.0)], [(2, 2.5), (1, 2.5), (1, 1.5)], rule).same
    assert not against(RECORD, [(1, 1.0), (1, 2.0), (2, 2.0)], [(2, 2.5), (1, 2.5), (1, 2.5)], rule).same


def test_a_key_may_be_a_vector() -> None:
    kind = "{pos:float2,mass:float32}"
    assert against(kind, [(1, 2, 9.0), (1, 3, 8.0)], [(1, 3, 8.0), (1, 2, 9.0)], Rule(key=("pos",))).same
    assert not against(kind, [(1, 2, 9.0), (1, 3, 8.0)], [(1, 2, 8.0), (1, 3, 9.0)], Rule(key=("pos",))).same


def test_a_key_that_is_not_there_is_said() -> None:
    result = against(RECORD, [(1, 1.0)], [(1, 1.0)], Rule(key=("name",)))
    assert not result.same
    assert "no column 'name'; it has id, score" in result.message


def test_metrics_beside_key() -> None:
    rule = Rule(key=("id",), metric={"max": 0.1})
    assert against(RECORD, [(1, 1.0), (2, 2.0)], [(2, 2.05), (1, 1.0)], rule).same
    assert "max of the error" in against(RECORD, [(1, 1.0), (2, 2.0)], [(2, 2.25), (1, 1.0)], rule).message
    assert not against(RECORD, [(1, 1.0), (2, 2.0)], [(2, 2.0), (1, np.nan)], rule).same


def test_swapped_columns_are_seen() -> None:
    """Columns sorted apart would be equal."""
    assert not against("float2", [(1, 2), (2, 1)], [(1, 1), (2, 2)], Rule(order="any", atol=0.1)).same


def test_sorted_rows_would_miss_this_matching() -> None:
    """Sorted by x first, the rows pair up wrongly: only the other pairing keeps both parts."""
    rule = Rule(order="any", atol=0.15)
    assert against("float2", [(1.0, 0.0), (1.1, 5.0)], [(1.1, 0.0), (1.0, 5.0)], rule).same


def test_equal_rows_may_have_to_part() -> None:
    """1 and 1 are equal, but only 0-1, 1-2 pairs all."""
    rule = Rule(order="any", atol=1)
    assert against("float2", [(1, 0), (2, 0)], [(0, 0), (1, 0)], rule).same


def test_complex_in_any_order() -> None:
    assert against("complex128", [1 + 2j, 3 + 4j], [3 + 4j, 1 + 2j], Rule(order="any")).same
    assert not against("complex128", [1 + 2j, 3 + 4j], [3 + 2j, 1 + 4j], Rule(order="any")).same


def test_exact_records_in_any_order() -> None:
    result = against(RECORD, [(1, 1.0), (2, 2.0)], [(2, 2.0), (1, 1.5)], Rule(order="any"))
    assert (result.only_expected, result.only_actual) == (1, 1)
    assert result.message == "1 rows only in the baseline, 1 only here"
    assert against(RECORD, [(1, 0.0), (2, 2.0)], [(2, 2.0), (1, -0.0)], Rule(order="any", signed_zero="equal")).same


def test_no_nan_in_records() -> None:
    rows = [(1, np.nan), (2, 2.0)]
    assert against(RECORD, rows, rows[::-1], Rule(order="any")).same
    assert not against(RECORD, rows, rows[::-1], Rule(order="any", nan="never")).same
    assert not against(RECORD, rows, rows[::-1], Rule(key=("id",), nan="never")).same


def test_outliers_of_records() -> None:
    e = [(k, float(k)) for k in range(1, 101)]
    a = [*e[:0:-1], (1, 1.05)]
    for keys in ((), ("id",)):
        rule = Rule(order="any", key=keys, atol=0.01, outliers=Outliers(fraction=0.01, atol=0.1))
        assert against(RECORD, e, a, rule).same
        assert not against(RECORD, e, [*e[:0:-1], (1, 1.5)], rule).same


def test_too_wide_a_tolerance_is_never_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bipartite_matching, "MOST_CANDIDATES", 50)
    rng = np.random.default_rng(0)
    e, a = rng.standard_normal((30, 2)), rng.standard_normal((30, 2))
    result = against("double2", [tuple(row) for row in e], [tuple(row) for row in a], Rule(order="any", atol=9.0))
    assert not result.same
    assert "cannot be compared" in result.message


@given(st.integers(0, 2**32), st.integers(2, 60), st.floats(1e-9, 0.2))
@settings(max_examples=60)
def test_a_planted_matching_is_found(seed: int, size: int, atol: float) -> None:
    rng = np.random.default_rng(seed)
    e = np.zeros(size, dtypes.parse("double2").storage)
    for name in e.dtype.names or ():
        e[name] = rng.integers(0, 5, size) / 4
    a = rng.permutation(e)
    for name in e.dtype.names or ():
        a[name] += rng.uniform(-atol, atol, size) * 0.999
    assert compare.compare(request("double2", (size,), Rule(order="any", atol=atol)), e, a).same

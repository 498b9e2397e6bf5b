"""Any order for scalars: against a brute-force matching, and the traps of sorting floats."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation.records import InOrderFigures, Outliers, Rule, SideCounts
from gpuregress.judge import compare
from gpuregress.judge.compare.rules import elementwise
from gpuregress.judge.compare.rules.bound import Bound
from gpuregress.judge.compare.unordered import multiset
from tests.judge.compare.oracle import largest_matching
from tests.judge.compare.rooms import against, array, request

NAN = math.nan


def test_a_permutation_is_the_same() -> None:
    result = against("float32", [3, 1, 2, NAN, -0.0], [NAN, -0.0, 1, 2, 3], Rule(order="any"))
    assert result.same
    assert not result.identical
    assert result.multiset_same


def test_minus_zero_sorts_before_zero() -> None:
    assert not against("float32", [0.0, -0.0, 0.0], [-0.0, 0.0, -0.0], Rule(order="any")).same
    assert against("float32", [0.0, -0.0, 0.0], [-0.0, 0.0, 0.0], Rule(order="any")).same
    assert against("float32", [0.0, 0.0], [-0.0, -0.0], Rule(order="any", signed_zero="equal")).same


def test_nans_are_counted() -> None:
    result = against("float64", [NAN, NAN, 1], [NAN, 1, 1], Rule(order="any"))
    assert not result.same
    assert result.figures.nan == SideCounts(2, 1)
    assert (result.only_expected, result.only_actual) == (1, 1)
    assert not against("float64", [NAN], [NAN], Rule(order="any", nan="never")).same
    assert not against("float64", [NAN], [NAN], Rule(order="any", nan="never", rtol=0.1)).same


def test_one_dropped_and_one_added_are_two_and_not_a_thousand() -> None:
    e = np.arange(1000.0)
    a = np.append(e[1:], 5000.0)
    result = against("float64", e, a, Rule(order="any", rtol=1e-6))
    assert (result.only_expected, result.only_actual, result.differing) == (1, 1, 1)
    assert result.message == "1 values only in the baseline, 1 only here"
    assert [(one.index, one.expected, one.actual) for one in result.first] == [(0, "0.0", ""), (999, "", "5000.0")]
    assert result.worst is not None
    assert result.worst.absolute == 5000.0


def test_equal_values_are_told_apart_by_their_count() -> None:
    result = against("int32", [7, 7, 7, 1], [7, 7, 1, 1], Rule(order="any"))
    assert (result.only_expected, result.only_actual) == (1, 1)
    assert (result.first[0].index, result.first[0].expected) == (2, "7")


def test_a_transposed_result_passes_and_says_so() -> None:
    e = np.arange(6.0).reshape(2, 3)
    result = against("float64", e, np.ascontiguousarray(e.T).reshape(2, 3), Rule(order="any"))
    assert result.same
    assert result.figures.in_order == InOrderFigures(same=False, changed=4)


def test_outliers_in_any_order() -> None:
    e = np.arange(1.0, 1001.0)
    a = e[::-1].copy()
    a[0] = 1000.5
    rule = Rule(order="any", rtol=1e-6, outliers=Outliers(fraction=1e-3, rtol=1e-2))
    assert against("float64", e, a, rule).same
    a[0] = 2000.0
    assert not against("float64", e, a, rule).same


def test_metrics_of_the_sorted_pairs() -> None:
    rule = Rule(order="any", metric={"max": 0.5})
    assert against("float32", [1, 2, 3], [3.5, 1, 2], rule).same
    assert not against("float32", [1, 2, 3], [3.6, 1, 2], rule).same
    assert not against("float32", [1, 2, NAN], [3.5, 1, 2], rule).same


NUMBERS: dict[str, st.SearchStrategy[Any]] = {
    "float16": st.floats(-4, 4, width=16) | st.sampled_from([NAN, math.inf, -math.inf, -0.0]),
    "float32": st.floats(-3, 3, width=32) | st.sampled_from([NAN, math.inf, -math.inf, -0.0, 1.0, 1.25, 1.5]),
    "float64": st.integers(-8, 8).map(lambda k: k / 4),
    "int64": st.integers(-6, 6),
    "uint8": st.integers(0, 12),
}
RULES = (
    Rule(order="any"),
    Rule(order="any", atol=0.5),
    Rule(order="any", atol=1),
    Rule(order="any", rtol=0.5),
    Rule(order="any", rtol=0.9),
    Rule(order="any", ulp=2),
    Rule(order="any", ulp=1 << 22, atol=0.25),
    Rule(order="any", rtol=0.25, atol=0.25, signed_zero="equal"),
)


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("dtype", NUMBERS)
@settings(max_examples=12)
@given(data=st.data())
def test_the_walk_finds_as_many_partners_as_any_matching(dtype: str, rule: Rule, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 8))
    e, a = (array(dtype, data.draw(st.lists(NUMBERS[dtype], min_size=size, max_size=size))) for _ in range(2))
    kind = request(dtype, (size,)).element_type.parts[0].scalar
    bound = Bound.of_rule(rule)
    near = [
        [not elementwise.broken(e[i : i + 1], a[j : j + 1], kind, bound)[0] for j in range(size)] for i in range(size)
    ]
    result = compare.compare(request(dtype, (size,), rule), e, a)
    matched = largest_matching(near)
    assert result.only_expected == result.only_actual == size - matched
    assert result.same == (matched == size)


@pytest.mark.parametrize("block", [1, 3, 1 << 10])
@settings(max_examples=60)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.lists(st.integers(0, 9), min_size=1, max_size=30))
def test_exact_counts_are_those_of_a_multiset(
    monkeypatch: pytest.MonkeyPatch, block: int, first: list[int], second: list[int]
) -> None:
    monkeypatch.setattr(multiset, "FEWEST", block)
    size = min(len(first), len(second))
    result = against("int16", first[:size], second[:size], Rule(order="any"))
    assert result.only_expected == (Counter(first[:size]) - Counter(second[:size])).total()
    assert result.only_actual == (Counter(second[:size]) - Counter(first[:size])).total()


@pytest.mark.parametrize("rule", [Rule(order="any", atol=0.6), Rule(order="any", rtol=0.02), Rule(order="any", ulp=3)])
@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(1, 120))
def test_blocks_carry_the_walk_on(
    monkeypatch: pytest.MonkeyPatch, rule: Rule, seed: int, block: int, size: int
) -> None:
    """Chains of neighbours across many blocks, against the walk one by one."""
    monkeypatch.setattr(multiset, "FEWEST", block)
    monkeypatch.setattr(multiset, "BLOCK", 2 * block)
    monkeypatch.setattr(multiset, "MOST", 3 * block)
    rng = np.random.default_rng(seed)
    e, a = (np.sort(rng.integers(-40, 40, size) / rng.choice([2, 7])).astype(np.float32) for _ in range(2))
    kind, bound = request("float32", (size,)).element_type.parts[0].scalar, Bound.of_rule(rule)
    i = j = pairs = 0
    while i < size and j < size:
        if not elementwise.broken(e[i : i + 1], a[j : j + 1], kind, bound)[0]:
            i, j, pairs = i + 1, j + 1, pairs + 1
        elif a[j] < e[i]:
            j += 1
        else:
            i += 1
    result = against("float32", rng.permutation(e), rng.permutation(a), rule)
    assert result.only_expected == result.only_actual == size - pairs


def test_long_runs_and_breaks_take_the_same_walk() -> None:
    """Blocks, steps and runs of pairs: larger than every size at which the walk changes its gait."""
    rng = np.random.default_rng(1)
    e = np.sort(rng.integers(0, 10**9, 30_000)).astype(np.float64)
    a = e + rng.choice([0.0, 0.25], e.size)
    drop = rng.choice(e.size, 300, replace=False)
    a[drop] += 10.0**10
    a[rng.choice(np.delete(np.arange(20_000, 30_000), []), 4000, replace=False)] += 2e10
    result = against("float64", e, rng.permutation(a), Rule(order="any", atol=0.25))
    left = int(np.count_nonzero(a > 5e9))
    assert result.only_expected == result.only_actual == left

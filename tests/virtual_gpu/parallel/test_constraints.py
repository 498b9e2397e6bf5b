"""Bounds under affine constraints, and comparisons, against all integers of small ranges enumerated."""

from __future__ import annotations

import operator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.virtual_gpu.parallel.affine import (
    NEGATED,
    Affine,
    ConstraintSystem,
    decide,
    iteration_limit,
    nonpositive,
)

COMPARE = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    constraints=st.lists(st.tuples(*[st.integers(-4, 4)] * 4), max_size=4),
    asked=st.tuples(*[st.integers(-6, 6)] * 4),
    ranges=st.tuples(*[st.tuples(st.integers(-3, 2), st.integers(0, 4))] * 3),
)
def test_bounds_hold_for_all_numbers(
    constraints: list[tuple[int, ...]], asked: tuple[int, ...], ranges: tuple[tuple[int, int], ...]
) -> None:
    system = ConstraintSystem({name: (low, low + size) for name, (low, size) in zip("abc", ranges, strict=True)})
    for row in constraints:
        system.add(_sum(row))
    allowed = [
        values
        for values in _product([range(low, low + size + 1) for low, size in ranges])
        if all(_at(row, values) <= 0 for row in constraints)
    ]
    assert system.is_feasible() or not allowed
    for values in allowed:
        assert system.lower_bound(_sum(asked)) <= _at(asked, values) <= system.upper_bound(_sum(asked))


def _sum(row: tuple[int, ...]) -> Affine:
    return Affine(row[0], {name: factor for name, factor in zip("abc", row[1:], strict=True) if factor})


def _at(row: tuple[int, ...], values: tuple[int, ...]) -> int:
    return row[0] + sum(factor * value for factor, value in zip(row[1:], values, strict=True))


def _product(ranges: list[range]) -> list[tuple[int, ...]]:
    return [(a, b, c) for a in ranges[0] for b in ranges[1] for c in ranges[2]]


@pytest.mark.parametrize("order", COMPARE)
@given(low=st.integers(-3, 3), size=st.integers(0, 4))
def test_a_comparison_is_decided_where_all_numbers_agree(order: str, low: int, size: int) -> None:
    answers = {COMPARE[order](number, 0) for number in range(low, low + size + 1)}
    assert decide(order, low, low + size) == (answers.pop() if len(answers) == 1 else None)
    assert all(COMPARE[NEGATED[order]](number, 0) is not COMPARE[order](number, 0) for number in range(-2, 3))


@pytest.mark.parametrize("order", [order for order in COMPARE if order != "=="])
@given(low=st.integers(-3, 3), size=st.integers(0, 4))
def test_a_comparison_as_constraints_leaves_the_numbers_for_which_it_holds(order: str, low: int, size: int) -> None:
    system = ConstraintSystem({"a": (low, low + size)})
    items = nonpositive(order, Affine(0, {"a": 1}), system)
    for number in range(low, low + size + 1):
        holds = all(_at((item.constant, item.coefficients.get("a", 0)), (number,)) <= 0 for item in items)
        assert holds or not COMPARE[order](number, 0)
        if order != "!=":
            assert holds is COMPARE[order](number, 0)


def test_iterations_end_when_a_growing_expression_exceeds_0() -> None:
    system = ConstraintSystem({"k": (0, 1 << 200), "n": (5, 9)})
    assert iteration_limit(Affine(-10, {"k": 3, "n": 1}), "k", system) == 2  # 5 + 3 k > 10 from k = 2 on

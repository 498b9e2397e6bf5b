"""Counts by Python's own counter."""

from __future__ import annotations

from collections import Counter

from tests.kernels.recorded import Recorded, assert_sees_changes, each_case, load


def check(run: Recorded) -> None:
    counts = Counter(run.inputs["data"].tolist())
    assert run.outputs["counts"].tolist() == [counts[value] for value in range(run.number("bins"))]


@each_case("histogram")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("histogram")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))

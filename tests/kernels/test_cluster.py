"""Counts by Python's own counter, sums by Python's integers."""

from __future__ import annotations

from collections import Counter

from tests.kernels.recorded import Recorded, assert_sees_changes, each_case, load


def check(run: Recorded) -> None:
    values = run.inputs["data"].tolist()
    counts = Counter(values)
    assert run.outputs["counts"].tolist() == [counts[value] for value in range(run.number("bins"))]
    # Blocks 0 to 3 are the first cluster's: of each 2048 values its threads read the first 1024.
    first = sum(value for position, value in enumerate(values) if position % 2048 < 1024)
    assert run.outputs["sums"].tolist() == [first, sum(values) - first]


@each_case("cluster")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("cluster")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))

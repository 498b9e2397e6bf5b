"""Integer prefix sums, one after another."""

from __future__ import annotations

import itertools

from tests.kernels.recorded import Recorded, assert_sees_changes, each_case, load


def check(run: Recorded) -> None:
    assert run.outputs["out"].tolist() == list(itertools.accumulate(run.inputs["in"].tolist()))


@each_case("scan")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("scan")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))

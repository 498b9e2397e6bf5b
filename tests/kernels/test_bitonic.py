"""The same keys, ascending."""

from __future__ import annotations

from tests.kernels.recorded import Recorded, assert_sees_changes, each_case, load


def check(run: Recorded) -> None:
    assert run.outputs["keys"].tolist() == sorted(run.inputs["keys"].tolist())


@each_case("bitonic")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("bitonic")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))

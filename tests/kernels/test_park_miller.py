"""The numbers one by one, and the published one."""

from __future__ import annotations

from tests.kernels.recorded import Recorded, assert_sees_changes, each_case, load


def check(run: Recorded) -> None:
    numbers = run.outputs["numbers"].tolist()
    x = 1
    for number in numbers:
        x = 16807 * x % (2**31 - 1)
        assert number == x
    if len(numbers) >= 10_000:
        assert numbers[9_999] == 1043618065  # Park and Miller, CACM 31(10), 1988, p. 1195


@each_case("park_miller")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("park_miller")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))

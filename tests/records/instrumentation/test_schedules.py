from __future__ import annotations

import pytest

from gpuregress.records import ScheduleRun, serialization
from gpuregress.records.instrumentation import schedules


@pytest.mark.parametrize("name", ["forward", "reverse", "lockstep", "shuffled:0", "shuffled:123456789012345678"])
def test_names_of_schedules(name: str) -> None:
    assert schedules.problem(name) == ""


@pytest.mark.parametrize(
    "name",
    ["", "Forward", "backward", "shuffled", "shuffled:", "shuffled:-1", "shuffled:01", "shuffled:1 ", "random:1"],
)
def test_a_wrong_name_is_told_with_what_to_say(name: str) -> None:
    told = schedules.problem(name)
    assert repr(name) in told
    assert ("a whole number" if name.startswith("shuffled") else "say forward, reverse") in told


def test_a_schedule_that_is_not_there_is_named() -> None:
    assert schedules.problem("adversarial").startswith("there is no adversarial schedule yet: say forward")


def test_a_number_of_schedules_takes_the_named_ones_first() -> None:
    assert schedules.first(1) == ("forward",)
    assert schedules.first(2) == ("forward", "reverse")
    eight = schedules.first(8)
    assert len(eight) == len(set(eight)) == 8
    assert eight[-1].startswith("shuffled:")
    assert all(not schedules.problem(name) for name in schedules.first(schedules.MOST_SCHEDULES))


def test_a_run_survives_json() -> None:
    run = ScheduleRun("reverse", {"out": "ab"}, fault="trap: x")
    assert serialization.from_json(ScheduleRun, serialization.to_json(run)) == run

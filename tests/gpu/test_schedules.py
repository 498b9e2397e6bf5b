from __future__ import annotations

import pytest

from gpuregress.gpu import schedules

NAMES = ["forward", "reverse", "lockstep", "adversarial", "by-warp", "shuffled:0", "shuffled:123456789012345678"]


@pytest.mark.parametrize("name", [*NAMES, "blocks:1,0", "threads:7,3+copies:wait"])
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


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("blocks:1", "say forward"),
        ("blocks:1,0+", "say forward"),
        ("blocks:1,x", "say forward"),
        ("copies:late", "say forward"),
        ("blocks:1,0+blocks:0,1", "no order of the blocks has all of these switches"),
        ("warps:2,1,2", "no order of the warps"),
        ("threads:40,3", "threads 40 and 3 are of two warps"),
        ("copies:wait+copies:issue", "copies arrive at one time"),
    ],
)
def test_switches_that_no_order_has(name: str, told: str) -> None:
    assert told in schedules.problem(name)


def test_switches_are_spelled_and_read() -> None:
    name = "blocks:5,0+warps:2,1+threads:33,32+copies:issue"
    found = schedules.switches_in(name)
    assert found is not None
    assert schedules.named(found) == name
    assert schedules.switches_in("blocks:5,3,0") == schedules.switches_in("blocks:5,3+blocks:3,0")
    assert found[0].words == "block 5 before block 0"
    assert schedules.named([]) == schedules.BY_WARP
    assert schedules.switches_in(schedules.BY_WARP) == ()
    assert schedules.switches_in("reverse") is None


def test_a_number_of_schedules_takes_the_named_ones_first() -> None:
    assert schedules.first(1) == ("forward",)
    assert schedules.first(2) == ("forward", "reverse", "by-warp")
    eight = schedules.first(8)
    assert len(eight) == len(set(eight)) == 9
    assert "adversarial" in eight
    assert eight[-2].startswith("shuffled:")
    assert all(not schedules.problem(name) for name in schedules.first(schedules.MOST_SCHEDULES))

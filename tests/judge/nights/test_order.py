from __future__ import annotations

from gpuregress.judge.nights import ordered
from tests import fakes
from tests.judge.nights.nights import past


def test_failures_come_first_then_what_never_ran_then_what_waited_longest() -> None:
    cases = [fakes.case("double", name=name) for name in "abcdef"]
    last = {"a": past("pass", 21), "b": past("pass", 19), "d": past("differ", 20), "e": past("pass", 21)}
    assert [case.name for case in ordered(cases, last)] == ["d", "c", "f", "b", "a", "e"]
    assert ordered(cases, {}) == tuple(cases)
    wrong_clock = {"a": past("pass", 21, number=2), "b": past("pass", 30, number=1)}
    assert [case.name for case in ordered(cases[:2], wrong_clock)] == ["b", "a"]

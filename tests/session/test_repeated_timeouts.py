from __future__ import annotations

from gpuregress.foundation.records import Case, Fault, Limits, Outcome, Source
from gpuregress.gpu.records import replace
from gpuregress.session.repeated_timeouts import RepeatedTimeouts
from tests import fakes


def limited(name: str, *kernels: str, timeouts: int = 0) -> Case:
    return fakes.case(*kernels, name=name, limits=Limits(timeouts=timeouts))


def timeout(position: int | None = 0) -> Outcome:
    return Outcome("a", "timeout", Fault("timeout", "killed at its limit", (), 1, position))


def test_after_three_timeouts_of_a_kernel_its_other_cases_are_held_back_at_night() -> None:
    seen = RepeatedTimeouts("nightly")
    for name in ("a/1", "a/2"):
        seen.note(limited(name, "sleep"), timeout())
    assert seen.reason(limited("a/4", "sleep")) == ""
    seen.note(limited("a/3", "sleep"), timeout())
    reason = seen.reason(limited("a/4", "sleep"))
    assert reason == "not run: sleep timed out 3 times, in a/1, a/2, a/3 (limits: {timeouts: 3})"
    assert seen.reason(limited("b", "double")) == ""
    elsewhere = replace(limited("c", "sleep"), source=Source("/elsewhere/fake.cu"))
    assert seen.reason(elsewhere) == ""


def test_another_run_has_no_limit_but_the_jobs() -> None:
    seen = RepeatedTimeouts("run")
    for name in ("a/1", "a/2", "a/3", "a/4", "a/5"):
        seen.note(limited(name, "sleep"), timeout())
    assert seen.reason(limited("b", "sleep")) == ""
    assert "5 times, in a/1, a/2, a/3 and 2 more" in seen.reason(limited("b", "sleep", timeouts=2))


def test_the_kernel_is_that_of_the_launch_that_timed_out() -> None:
    seen = RepeatedTimeouts("run")
    seen.note(limited("a", "double", "sleep", timeouts=1), timeout(1))
    assert seen.reason(limited("b", "double", timeouts=1)) == ""
    assert seen.reason(limited("b", "sleep", timeouts=1)) != ""
    unknown = RepeatedTimeouts("run")
    unknown.note(limited("a", "double", "sleep"), timeout(None))
    assert unknown.reason(limited("b", "sleep", timeouts=1)) == ""
    unknown.note(limited("a", "sleep"), None)
    assert unknown.reason(limited("b", "sleep", timeouts=1)) != ""

from __future__ import annotations

from gpuregress.gpu.records import replace
from gpuregress.session import timing_history
from tests.store.history.test_steps import RESULT, counted, noisy, timed


def test_steps_are_told_with_day_and_commit() -> None:
    past = [replace(one, commit="8eb0c1f2a7", started="2026-11-20T02:00:00Z") for one in counted([10, 9830])]
    (line,) = timing_history.lines(past)
    assert line == "a on cpu: 983 times as many instructions since 20 Nov, 8eb0c1f (10 → 9,830)"


def test_a_commit_is_not_blamed_for_changes_of_the_work_tree() -> None:
    past = [replace(one, commit="8eb0c1f2a7", dirty=one.run != "0") for one in counted([10, 9830])]
    (line,) = timing_history.lines(past)
    assert ", 8eb0c1f+ (" in line


def test_times_of_a_gpu_and_the_false_alarms_of_all_of_them() -> None:
    results = [
        replace(one, started=f"2026-11-{int(one.run) + 1:02}T02:00:00Z", samples=one.samples * 4)
        for one in timed(noisy((1.0, 12), (0.5, 6)))
    ]
    step, alarms = timing_history.lines(results)
    assert step.startswith(("a on cuda: 1.9", "a on cuda: 2"))
    assert " times faster since 13 Nov, 000000c (1" in step
    assert alarms.startswith("A/A: 0 of 18 runs differ from themselves")


def test_without_times_there_is_nothing_to_tell() -> None:
    assert list(timing_history.lines([RESULT, replace(RESULT, run="S")])) == []
    assert list(timing_history.lines([])) == []

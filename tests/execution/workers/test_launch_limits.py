"""Limits of launches: a multiple of what they took before holds for CPU time, up to the case's limit of the clock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpuregress.execution.workers import launch_limits
from gpuregress.execution.workers.watchdog import Phase, Step, Watch
from gpuregress.foundation.records import Task
from gpuregress.gpu.records import replace
from gpuregress.gpu.schedules import WATCHED_SLOWDOWN
from tests import fakes


def task_of(tmp_path: Path, limit_s: float) -> Task:
    made = Task(fakes.case("double", timeout=10.0), fakes.program(), str(tmp_path / "log"), 1, str(tmp_path))
    return replace(made, launch_limit_s=limit_s)


@pytest.fixture
def launching(tmp_path: Path) -> Callable[..., Any]:
    def made(cpu_s: float, limit_s: float = 2.0, phase: Phase = Phase.LAUNCHING) -> Any:
        task, watch = task_of(tmp_path, limit_s), Watch(Phase.IDLE)
        watch.enter(phase, 100.0, launch_limits.limit_s(task, phase))
        return SimpleNamespace(task=task, watch=watch, cpu_before_s=7.0, cpu_s=lambda: 7.0 + cpu_s)

    return made


def step(worker: Any, now: float) -> Step:
    launch_limits.put_off(worker, now)
    return worker.watch.step(now)  # type: ignore[no-any-return]


def test_which_limit_holds(tmp_path: Path) -> None:
    own, cases = task_of(tmp_path, 2.0), task_of(tmp_path, 0.0)
    assert [launch_limits.limit_s(one, Phase.LAUNCHING) for one in (own, cases)] == [2.0, 10.0]
    assert [launch_limits.limit_s(own, phase) for phase in (Phase.REFERENCE, Phase.COMPUTING)] == [10.0, 10.0]
    assert launch_limits.limit_s(own, Phase.WATCHING) == WATCHED_SLOWDOWN * 2.0


def test_a_launch_that_had_its_cpu_time_is_ended(launching: Callable[..., Any]) -> None:
    worker = launching(cpu_s=1.0)
    assert step(worker, 101.9) is Step.WAIT
    assert step(worker, 102.0) is Step.TERMINATE


def test_a_launch_that_had_too_little_goes_on_up_to_the_cases_limit(launching: Callable[..., Any]) -> None:
    worker = launching(cpu_s=0.25)
    assert step(worker, 100.5) is Step.WAIT
    assert worker.watch.deadline == 102.0, "it is not over"
    assert step(worker, 102.0) is Step.WAIT
    assert worker.watch.deadline == 102.75, "it may have had the rest by then"
    assert step(worker, 109.9) is Step.WAIT
    assert worker.watch.deadline == 110.0
    assert step(worker, 110.0) is Step.TERMINATE
    worker = launching(cpu_s=0.999)
    assert step(worker, 102.0) is Step.WAIT
    assert worker.watch.deadline == 102.05


@pytest.mark.parametrize(("limit_s", "phase"), [(0.0, Phase.LAUNCHING), (2.0, Phase.COMPUTING), (2.0, Phase.REFERENCE)])
def test_the_cases_own_limit_is_one_of_the_clock(launching: Callable[..., Any], limit_s: float, phase: Phase) -> None:
    assert step(launching(0.0, limit_s, phase), 110.0) is Step.TERMINATE


def test_launches_that_are_watched_have_longer(launching: Callable[..., Any]) -> None:
    worker = launching(cpu_s=1.0, phase=Phase.WATCHING)
    assert step(worker, 100.0 + WATCHED_SLOWDOWN * 2.0) is Step.WAIT
    assert step(worker, 100.0 + WATCHED_SLOWDOWN * 10.0) is Step.TERMINATE

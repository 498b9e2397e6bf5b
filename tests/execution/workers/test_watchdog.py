from __future__ import annotations

import pytest

from gpuregress.execution.workers.watchdog import KILL_GRACE_S, TERMINATE_GRACE_S, TRYING_S, Phase, Step, Watch


def launching(timeout: float = 5.0) -> Watch:
    watch = Watch(Phase.IDLE)
    watch.enter(Phase.LAUNCHING, 100.0, timeout)
    return watch


def test_a_case_within_its_limit_is_left_alone() -> None:
    assert launching().step(104.9) is Step.WAIT


def test_a_late_case_is_terminated_then_killed_then_given_up() -> None:
    watch = launching()
    assert watch.step(105.0) is Step.TERMINATE
    assert watch.late is Phase.LAUNCHING
    assert watch.step(105.0 + TERMINATE_GRACE_S / 2) is Step.WAIT
    killed_at = 105.0 + TERMINATE_GRACE_S
    assert watch.step(killed_at) is Step.KILL
    assert watch.step(killed_at + KILL_GRACE_S / 2) is Step.WAIT
    assert watch.step(killed_at + KILL_GRACE_S) is Step.GIVE_UP
    assert watch.step(killed_at + 1000) is Step.WAIT


def test_the_limit_that_was_passed_is_remembered_while_the_worker_is_ended() -> None:
    watch = launching(5.0)
    watch.step(105.0)
    watch.step(105.0 + TERMINATE_GRACE_S)
    assert watch.limit == 5.0


def test_an_idle_worker_has_no_deadline() -> None:
    watch = launching()
    watch.enter(Phase.IDLE, 101.0)
    assert watch.deadline is None
    assert watch.step(1e9) is Step.WAIT


@pytest.mark.parametrize("phase", [Phase.STARTING, Phase.PREPARING, Phase.SAVING])
def test_a_cases_own_limit_covers_its_launches_only(phase: Phase) -> None:
    watch = Watch(Phase.IDLE)
    watch.enter(phase, 0.0, 0.001)
    assert watch.step(60.0) is Step.WAIT
    assert watch.step(1000.0) is Step.TERMINATE


@pytest.mark.parametrize(("timeout", "limit"), [(30.0, TRYING_S), (0.5, 0.5)])
def test_code_that_is_not_optimised_is_tried_for_a_moment(timeout: float, limit: float) -> None:
    watch = Watch(Phase.IDLE)
    watch.enter(Phase.TRYING, 100.0, timeout)
    assert watch.step(100.0 + limit / 2) is Step.WAIT
    assert watch.step(100.0 + limit) is Step.TERMINATE
    assert watch.late is Phase.TRYING


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.IDLE])
def test_every_phase_but_idleness_ends(phase: Phase) -> None:
    watch = Watch(Phase.IDLE)
    watch.enter(phase, 0.0, 5.0)
    assert watch.deadline is not None

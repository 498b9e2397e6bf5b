"""States of trials: only what the content decides is a kill, and only that is kept."""

from __future__ import annotations

from typing import get_args

import pytest

from gpuregress.foundation.errors import CompileError, CompilerStopped, GpuregressError, HarnessError, UnsupportedError
from gpuregress.foundation.records import Fault, Outcome, Status
from gpuregress.gpu.records import replace
from gpuregress.judge import verdict
from gpuregress.lab.mutating import states
from gpuregress.lab.mutating.states import TrialState
from tests import fakes


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (CompileError("k.cu(1): error"), "not valid"),
        (UnsupportedError("no such form"), "not valid"),
        (CompilerStopped("not compiled after 600 s"), "trouble"),
        (HarnessError("the disk is full"), "trouble"),
    ],
)
def test_a_program_that_is_not_there(error: GpuregressError, state: str) -> None:
    assert states.of_error(error) == state


@pytest.mark.parametrize(
    ("status", "kind", "state"),
    [
        ("differ", "", "killed"),
        ("fault", "trap", "killed"),
        ("fault", "crash", "trouble"),
        ("timeout", "timeout", "timed out"),
        ("error", "", "trouble"),
    ],
)
def test_a_case_that_does_not_pass(status: Status, kind: str, state: str) -> None:
    case = fakes.case("double")
    reached = replace(verdict.skipped(case, ""), status=status)
    fault = Fault(kind, "") if kind else None
    assert states.of_verdict(reached, Outcome(case.name, "done", fault)) == state


def test_every_state_has_its_list() -> None:
    assert set(states.LISTS) == set(get_args(TrialState))
    assert set(states.LISTS.values()) == set(get_args(states.Listed))
    assert set(states.NOTICED) | {*states.ALIVE, *states.SAME} | set(states.UNUSABLE) == set(get_args(TrialState))

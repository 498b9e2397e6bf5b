"""Other schedules in an audit."""

from __future__ import annotations

from typing import Any

import pytest

from gpuregress.operations.auditing import schedules
from gpuregress.records import BufferVerdict, Comparison, ScheduleRun
from tests.operations.auditing.records import JOBS, SOON, answer, summary, texts, verdict

PROJECT: Any = None


def test_a_result_that_depends_on_the_order_is_luck(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {"schedules": (ScheduleRun("reverse"),)}
    message = "the schedules forward and reverse give different results: out[3] is 1 and 2"
    other = Comparison("out", "schedule", "", same=False, identical=False, of=8, message=message)
    luck = BufferVerdict("out", "differ", message, comparisons=(other,))
    run = summary(
        verdict("a/1", observations=seen),
        verdict("a/2", "differ", observations=seen, buffers=(luck,)),
        verdict("b/1", "fault", "trap"),
    )
    asked = answer(monkeypatch, run)
    one, none = schedules.examine(PROJECT, JOBS, SOON).jobs
    assert len(asked[0]["schedules"]) == 8
    assert one.share == 0.5
    assert texts(one, "luck") == [f"a/2: out: {message}"]
    assert texts(one, "proven") == ["the same result under 8 schedules in 1 case"]
    assert (none.share, none.why) == (None, "b/1: trap")

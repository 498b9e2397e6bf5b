"""Other schedules in an audit."""

from __future__ import annotations

import pytest

from gpuregress.foundation.records import BufferVerdict, Comparison, FurtherRun
from gpuregress.lab.auditing import schedules
from tests.lab.auditing.records import FAULTING, JOBS, SOON, answer, nothing_written, summary, texts, verdict


def test_a_result_that_depends_on_the_order_is_luck(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {"runs": (FurtherRun("schedule", "reverse"),)}
    message = "the schedules forward and reverse give different results: out[3] is 1 and 2"
    other = Comparison("out", "schedule", "", same=False, identical=False, of=8, message=message)
    luck = BufferVerdict("out", "differ", message, comparisons=(other,))
    run = summary(
        verdict("a/1", observations=seen),
        verdict("a/2", "differ", observations=seen, buffers=(luck,)),
        verdict("b/1", "fault", "trap"),
        nothing_written("a/3", "pass", schedules=seen["schedules"]),
        nothing_written("a/4", "pass", schedules=seen["schedules"]),
    )
    asked = answer(monkeypatch, run)
    one, none = schedules.examine(SOON, JOBS).jobs
    assert len(asked[0]["schedules"]) == 8 + 1  # `by-warp`
    assert one.share == 0.25
    assert texts(one, "luck") == [f"a/2: out: {message}"]
    assert texts(one, "proven") == ["the same result under 8 schedules in 1 case"]
    assert texts(one, "unnoticed") == [f"a/{n}: nothing was written, under any schedule" for n in (3, 4)]
    assert (none.share, none.why) == (None, "b/1: trap")


def test_a_job_that_expects_a_fault_has_no_result_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, summary(verdict("a/1", observations={"runs": (FurtherRun("schedule", "reverse"),)})))
    one, other = schedules.examine(SOON, (JOBS[0], FAULTING)).jobs
    assert (one.share, one.applies) == (1.0, True)
    assert (other.share, other.applies, other.why) == (None, False, "it expects a fault")

from __future__ import annotations

from gpuregress.foundation.records import RunSummary, Verdict


def test_cases_are_counted_by_status() -> None:
    verdicts = tuple(Verdict("a", f"a/{status}", status) for status in ("pass", "differ", "pass"))
    summary = RunSummary("r", "/runs/r", "cpu", "2026-11-20T02:00:00Z", 1.0, verdicts)
    assert [summary.count(status) for status in ("pass", "differ", "fault")] == [2, 1, 0]
    assert not summary.interrupted


def test_an_interrupted_run_says_so() -> None:
    assert RunSummary("r", "/runs/r", "cpu", "", 1.0, (), state="interrupted").interrupted

"""Summaries of runs for the tests of the history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuregress.foundation.records import DeviceInfo, Outcome, PastResult, RunSummary, Status, Verdict
from gpuregress.gpu.records import replace
from gpuregress.store.history import Reader


def verdict(case: str, status: Status, device: str = "cpu", **fields: Any) -> Verdict:
    """The verdict of a case that ran on a device; `job/n=1` is of the job `job`."""
    outcome = Outcome(case, "done", device=DeviceInfo(device, f"model of {device}", "sm_90", "driver", 0))
    values = {"seconds": 0.5, "revision": "3f2a", "outcome": outcome, **fields}
    return Verdict(case.partition("/")[0], case, status, **values)


def night(number: int, statuses: Mapping[str, Status], **fields: Any) -> RunSummary:
    """The run `R<number>`, begun on that day of November."""
    verdicts = tuple(verdict(case, status) for case, status in statuses.items())
    summary = RunSummary(f"R{number:02}", "", "cpu", f"2026-11-{number:02}T02:00:00Z", 9.0, verdicts, host="here")
    return replace(summary, **fields)


def results(history: Reader, last: int) -> list[PastResult]:
    """The last results of each case, by case, the newest first."""
    return [result for case in sorted(history.case_names()) for result in history.trend(case, last)]

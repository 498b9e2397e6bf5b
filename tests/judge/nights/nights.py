"""Nights for tests: verdicts of tonight, and what earlier nights left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuregress.foundation.records import (
    BufferVerdict,
    Comparison,
    EarlierVerdict,
    Finding,
    Missing,
    RunSummary,
    Verdict,
)
from gpuregress.judge.nights import EarlierNights, cause_of
from gpuregress.judge.verdict import EXIT_CODES

TONIGHT = "2026-11-22T02:00:00Z"
COMMIT = "8eb0c1f2a7c34f5b9d10e2f3a4b5c6d7e8f90123"


def case(name: str, status: str = "pass", **changes: Any) -> Verdict:
    """A verdict; one that differs has all elements a tenth of what they should be."""
    given: dict[str, Any] = {"seconds": 0.012, "exit_code": EXIT_CODES[status]} | changes  # type: ignore[index]
    if status == "differ" and "buffers" not in given:
        message = "all 689 differing elements are 1/10 times what they should be"
        findings = (Finding("factor", message, summary="all are 1/10 of what they should be"),)
        compared = Comparison(
            "b", "baseline", "", same=False, identical=False, of=1000, differing=689, findings=findings
        )
        given["buffers"] = (BufferVerdict("b", "differ", comparisons=(compared,)),)
        given.setdefault("reason", "b: 689 of 1000 differ")
    made = Verdict(name.partition("/")[0], name, status, **given)  # type: ignore[arg-type]
    return Verdict(name.partition("/")[0], name, status, **{**given, "cause": cause_of(made)})  # type: ignore[arg-type]


def night(*verdicts: Verdict, missing: tuple[str, ...] = (), **changes: Any) -> RunSummary:
    """Tonight's summary."""
    code = max((one.exit_code for one in verdicts), default=0) or int(bool(missing))
    gone = tuple(Missing(name, (f"{name} vanished since the last nightly run",)) for name in missing)
    given: dict[str, Any] = {"missing": gone, "exit_code": code} | changes
    return RunSummary(
        "20261122T020000Z-0001", "/project/runs/20261122T020000Z-0001", "cpu", TONIGHT, 1.5, verdicts, **given
    )


def past(verdict: str, day: int, cause: str = "differ: factor", **changes: Any) -> EarlierVerdict:
    """The verdict of a night in November."""
    known = cause if verdict not in ("pass", "skip") else ""
    return EarlierVerdict(
        f"202611{day:02}T020000Z-0001",
        f"2026-11-{day:02}T02:00:00Z",
        verdict,
        known,
        **{"commit": COMMIT, "revision": "1.4"} | changes,
    )


def earlier(trends: Mapping[str, tuple[EarlierVerdict, ...]]) -> EarlierNights:
    """What is known of some cases, the newest night first."""
    last = {name: next(one for one in trend if one.verdict != "skip") for name, trend in trends.items()}
    return EarlierNights("20261121T020000Z-0001", last=last, trend=lambda name: trends.get(name, ()))

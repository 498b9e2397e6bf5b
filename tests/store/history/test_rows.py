"""Rows: a result is read as it was recorded."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from gpuregress.foundation.records import (
    BufferVerdict,
    Comparison,
    Extent,
    FurtherRun,
    InstrumentReports,
    LaunchTime,
    Observations,
    Outcome,
    PastResult,
    Timing,
    UlpFigures,
    Verdict,
)
from gpuregress.gpu.records import replace
from gpuregress.store.history import History
from tests.store.history.past import night, verdict

TIMING = Timing("events", 1, (1.0, 2.0, 4.0), 2.0, {}, 1)


def stored(path: Path, one: Verdict) -> PastResult:
    with History(path / "history.sqlite") as history:
        history.add(night(1, {}, verdicts=(one,), branch="main", dirty=True, compiler="nvrtc 13.5"))
        (result,) = history.trend(one.case)
        return result


def of_outcome(**fields: object) -> Verdict:
    one = verdict("j/n=1", "pass")
    assert one.outcome is not None
    return replace(one, outcome=replace(one.outcome, **fields))  # type: ignore[arg-type] # the test's


def test_a_result_has_all_that_is_known_of_it(tmp_path: Path) -> None:
    figures = UlpFigures(max_abs=0.5, max_rel=math.inf, misplaced_nan_or_inf=0, worst={}, max_ulp=3.0, ulp_histogram=())
    comparison = Comparison("y", "baseline", "", same=False, identical=False, of=2, figures=figures)
    outcome = Outcome(
        "j/n=1",
        "done",
        resources={"f": {"registers": 16}, "g": {"registers": 40, "shared": 1}},
        observations=Observations(timing=TIMING, instruments=InstrumentReports(instructions={"f": 3, "g": 4})),
    )
    one = verdict(
        "j/n=1",
        "differ",
        cause="every element",
        extent=Extent(1, 2, 0.5, "tail"),
        tolerance_share=1.5,
        outcome=outcome,
        reason="y: 1 of 2 differ",
        buffers=(BufferVerdict("y", "differ", comparisons=(comparison,)),),
    )
    result = stored(tmp_path, one)
    assert structs.asdict(result) == {
        "run": "R01",
        "kind": "run",
        "started": "2026-11-01T02:00:00Z",
        "device": "cpu",
        "case": "j/n=1",
        "verdict": "differ",
        "reason": "y: 1 of 2 differ",
        "revision": "3f2a",
        "seconds": 0.5,
        "job": "j",
        "host": "here",
        "commit": "",
        "branch": "main",
        "dirty": True,
        "compiler": "nvrtc 13.5",
        "model": "",
        "cause": "every element",
        "launch_seconds": 0.002,
        "samples": pytest.approx((0.001, 0.002, 0.004)),
        "instructions": 7,
        "registers": 40,
        "tolerance_share": 1.5,
        "max_abs": 0.5,
        "max_rel": math.inf,
        "max_ulp": 3.0,
        "buffer": "y",
        "differing": 1,
        "compared": 2,
        "place": "tail",
        "imported": False,
    }


def test_launches_of_repeats_count_once(tmp_path: Path) -> None:
    launches = tuple(LaunchTime(n, "f", 2.0) for n in range(6))
    once = of_outcome(
        launches=launches, observations=Observations(runs=(FurtherRun("repeat", "2"), FurtherRun("repeat", "3")))
    )
    assert stored(tmp_path, once).launch_seconds == pytest.approx(0.004)


def test_a_case_that_did_not_run_has_the_runs_device(tmp_path: Path) -> None:
    result = stored(tmp_path, Verdict("j", "j/n=1", "skip"))
    assert (result.device, result.launch_seconds, result.samples) == ("cpu", None, ())


def test_nan_is_no_number(tmp_path: Path) -> None:
    assert stored(tmp_path, verdict("a", "pass", tolerance_share=math.nan)).tolerance_share is None


@given(st.text(), st.floats(min_value=0, allow_nan=False), st.lists(st.floats(0, 1e6, width=32)))
def test_any_text_and_number_survives(
    tmp_path_factory: pytest.TempPathFactory, text: str, share: float, samples: list[float]
) -> None:
    timing = replace(TIMING, samples_ms=tuple(one * 1000 for one in samples))
    one = of_outcome(observations=Observations(timing=timing))
    one = replace(one, reason=text, tolerance_share=share)
    result = stored(tmp_path_factory.mktemp("history"), one)
    assert result.tolerance_share == share
    assert result.samples == pytest.approx(tuple(samples), rel=1e-6)
    assert text.isprintable() <= (result.reason == text)

"""Profile of a case: costs of one run, as a document."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.records import Costs, InstructionCost, InstrumentReports, Observations, Outcome, RunSummary
from gpuregress.gpu.records import replace
from gpuregress.jobs import plan
from gpuregress.lab import profile
from gpuregress.session import session
from gpuregress.session.run_request import RunRequest
from gpuregress.store.project import Project
from tests.report.samples import summary, verdict

COSTS = Costs((InstructionCost("k", "/p/k.cu", 3, 1, "ld", "load.global", {"sectors": 4}),))


def _profiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, costs: Costs | None) -> profile.ProfileResult:
    asked: list[tuple[list[str], RunRequest]] = []

    def run(_project: Project, cases: list[str], request: RunRequest, **_more: Any) -> RunSummary:
        asked.append((cases, request))
        outcome = Outcome("reduce/pass", "done", observations=Observations(instruments=InstrumentReports(costs=costs)))
        not_run = verdict("error", case="reduce/error", outcome=None)
        return replace(summary(), verdicts=(verdict("pass", outcome=outcome), not_run))

    monkeypatch.setattr(session, "run", run)
    monkeypatch.setattr(plan, "make", lambda *_, **__: types.SimpleNamespace(cases=()))
    done = profile.profile(Project(tmp_path, tmp_path, tmp_path, tmp_path), ["reduce"])
    assert asked == [(["reduce"], RunRequest(device="cpu", costs=True))]
    return done


def test_a_profile_has_totals_lines_and_instructions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done = _profiled(monkeypatch, tmp_path, COSTS)
    assert list(done.costs) == ["reduce/pass"]
    document = done.document()["cases"]["reduce/pass"]
    assert document["totals"] == {"sectors": 4}
    assert document["lines"] == [{"path": "/p/k.cu", "line": 3, "counts": {"sectors": 4}}]
    assert document["instructions"][0]["mnemonic"] == "ld"


def test_a_case_that_was_not_counted_has_no_costs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert not _profiled(monkeypatch, tmp_path, None).costs

"""Verdicts and examinations for the tests of an audit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.records import (
    Dump,
    InstrumentReports,
    Observations,
    Outcome,
    RunSummary,
    UnwrittenElements,
    Verdict,
    WriteSurvey,
)
from gpuregress.foundation.records.audits import AuditEvidence, JobExamination, PartResult
from gpuregress.gpu.records import replace
from gpuregress.lab.auditing import examination
from gpuregress.lab.auditing.examination import AuditContext, AuditedJob
from gpuregress.store.project import Project
from tests import fakes

JOBS = (AuditedJob("a"), AuditedJob("b"))
FAULTING = AuditedJob("b", (replace(fakes.case("double", name="b/1"), job="b", expect_fault="trap"),))
PROJECT = Project(Path("/p"), Path("/p/configs"), Path("/p/baselines"), Path("/p/runs"))
_REPORTED = {"findings", "exchanges", "unwatched", "coverage", "costs", "accuracy"}
SOON = AuditContext(PROJECT, Path("/nowhere"), 1e18)


def verdict(case: str, status: str = "pass", reason: str = "", **changes: Any) -> Verdict:
    """A verdict of the job before the slash; `observations` are those of its outcome."""
    seen = dict(changes.pop("observations", {}))
    reports = {name: seen.pop(name) for name in _REPORTED & seen.keys()}
    outcome = Outcome(case, "done", observations=Observations(**seen, instruments=InstrumentReports(**reports)))
    changes["status"] = status
    made = Verdict(case.partition("/")[0], case, "pass", reason, outcome=outcome, against=("baseline",))
    return replace(made, **changes)


def nothing_written(case: str, status: str, **observations: Any) -> Verdict:
    """A verdict on a case that left all of its one output as it was."""
    unwritten = {"out": UnwrittenElements(8, 8, ((0, 8),))}
    made = verdict(case, status, observations={**observations, "writes": WriteSurvey(unwritten=unwritten)})
    assert made.outcome is not None
    dumps = (Dump("out", "/out", "float32", (8,), "digest", "digest"),)
    return replace(made, outcome=replace(made.outcome, dumps=dumps))


def summary(*verdicts: Verdict, **changes: Any) -> RunSummary:
    """A run with these verdicts."""
    return replace(RunSummary("r", "/r", "cpu", "", 1.0, verdicts), **changes)


def answer(monkeypatch: pytest.MonkeyPatch, given: RunSummary) -> list[dict[str, Any]]:
    """Answer each run of a part with a summary; the further fields of its request."""
    asked: list[dict[str, Any]] = []

    def run(_context: object, _cases: object, **options: Any) -> RunSummary:
        asked.append(options)
        return given

    monkeypatch.setattr(examination, "run", run)
    return asked


def texts(one: JobExamination, kind: str) -> list[str]:
    """The evidence of one kind."""
    return [found.text for found in one.evidence if found.kind == kind]


def part(points: int, *jobs: JobExamination, name: str = "cases") -> PartResult:
    """A part with what it found."""
    return PartResult(name, points, "what it proves", jobs)


def found(job: str, share: float | None, *evidence: tuple[str, str], examined: float = 1.0, why: str = "") -> Any:
    """What a part found for a job."""
    told = tuple(AuditEvidence(kind, text) for kind, text in evidence)  # type: ignore[arg-type]
    return JobExamination(job, share, examined, "", why, told)

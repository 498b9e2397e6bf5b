"""Accuracy in an audit: the fastest case of each job, errors, cancellations."""

from __future__ import annotations

import pytest

from gpuregress.foundation.records import BufferAccuracy, Case, ResultAccuracy, RunSummary
from gpuregress.gpu.instruments import Cancellation
from gpuregress.gpu.records import replace
from gpuregress.lab.auditing import accuracy, examination
from gpuregress.lab.auditing.examination import AuditedJob, JobVerdicts
from tests import fakes
from tests.lab.auditing.records import FAULTING, SOON, summary, texts, verdict

CASES = tuple(replace(fakes.case("k", name=f"a/{n}"), job="a") for n in (1, 2))
JOB = AuditedJob("a", CASES)
BUFFER = BufferAccuracy("out", "float32", "float64", 8, 8, largest=2.5, median=0.5)


@pytest.fixture
def context() -> examination.AuditContext:
    clean = {"a": JobVerdicts((verdict("a/1", seconds=2.0), verdict("a/2", seconds=1.0)))}
    return replace(SOON, clean=clean)


def answered(monkeypatch: pytest.MonkeyPatch, found: ResultAccuracy | None) -> list[Case]:
    asked: list[Case] = []

    def run(_context: object, cases: list[Case]) -> RunSummary:
        asked.extend(cases)
        return summary(verdict("a/2", observations={"accuracy": found}))

    monkeypatch.setattr(examination, "run", run)
    return asked


def test_errors_and_cancellations(monkeypatch: pytest.MonkeyPatch, context: examination.AuditContext) -> None:
    lost = replace(BUFFER, not_finite=3)
    asked = answered(monkeypatch, ResultAccuracy((lost,), cancellations=(Cancellation("/p/k.cu", 7, 2, 17),)))
    one, other = accuracy.examine(context, (JOB, FAULTING)).jobs
    assert [(case.name, case.settings.instruments.accuracy) for case in asked] == [("a/2", True)], "the fastest"
    assert texts(one, "proven") == ["a/2: out: errors of at most 2.5 ulp, median 0.5"]
    assert texts(one, "luck") == [
        "a/2: out: 3 elements are finite on one side only, in float32 or in float64",
        "a/2: looks like catastrophic cancellation at k.cu:7: up to 17 bits lost",
    ]
    assert not other.applies


def test_without_floats_or_time(monkeypatch: pytest.MonkeyPatch, context: examination.AuditContext) -> None:
    answered(monkeypatch, None)
    assert not accuracy.examine(context, (JOB,)).jobs[0].applies
    left = replace(context, clean={})
    assert accuracy.examine(left, (JOB,)).jobs[0].why == "the budget was spent before its turn"
    failed = replace(context, clean={"a": JobVerdicts((verdict("a/1", "differ"), verdict("a/2")))})
    assert accuracy.examine(failed, (JOB,)).jobs[0].why == "a case of it fails as it is"

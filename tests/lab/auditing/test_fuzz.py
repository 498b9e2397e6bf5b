"""Inputs at the edges in an audit: failures by kind, inputs that could not be run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpuregress.foundation.records import RunSummary
from gpuregress.gpu.records import replace
from gpuregress.jobs.spec import load
from gpuregress.lab.auditing import examination, fuzz
from gpuregress.lab.auditing.examination import AuditedJob, JobVerdicts
from gpuregress.lab.fuzzing.candidates import Candidate
from gpuregress.lab.fuzzing.trials import PlannedInput, Tried
from gpuregress.lab.shrinking.failure import Failure
from tests import fakes
from tests.lab.auditing.records import FAULTING, SOON, summary, texts, verdict

JOB = AuditedJob("a", (fakes.case("k", name="a/1"),))


class FakeTrials:
    """Inputs n = 1, 2, …; those that are named fail."""

    failing: Sequence[str] = ()
    count = 3

    def plan(self, candidate: Candidate) -> PlannedInput | None:
        name = f"a-{candidate.parameters[0][1]}"
        return PlannedInput(candidate, {}, fakes.case("k", name=name))

    def judged(self, planned: PlannedInput, given: Any) -> Tried:
        if given is None:
            return Tried(planned, "not run")
        failed = Failure("differ", buffers=frozenset({"out"})) if planned.case.name in self.failing else None
        return Tried(planned, "failed" if failed else "passed", "out: 1 of 8 differ" if failed else "", failed)


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> examination.AuditContext:
    space = SimpleNamespace(edges=lambda: (Candidate(0, (("n", n),)) for n in range(1, FakeTrials.count + 1)))
    monkeypatch.setattr(fuzz, "Space", lambda *_arguments, **_options: space)
    monkeypatch.setattr(fuzz, "FuzzTrials", lambda *_arguments: FakeTrials())
    monkeypatch.setattr(load, "load_file", lambda _path: SimpleNamespace(document=SimpleNamespace(data={})))
    clean = {"a": JobVerdicts((verdict("a/1", "new"),)), "b": JobVerdicts((verdict("b/1", "differ"),))}
    return replace(SOON, clean=clean)


def answered(monkeypatch: pytest.MonkeyPatch, given: RunSummary) -> None:
    def run(_context: object, _cases: object, baselines: Path) -> RunSummary:
        assert baselines == Path("/nowhere/none"), "baselines hold for the job's own inputs alone"
        return given

    monkeypatch.setattr(examination, "run", run)


def test_failures_of_one_kind_are_one(monkeypatch: pytest.MonkeyPatch, context: examination.AuditContext) -> None:
    monkeypatch.setattr(FakeTrials, "failing", ("a-1", "a-3"))
    answered(monkeypatch, summary(*(verdict(f"a-{n}") for n in (1, 2, 3))))
    one, other = fuzz.examine(context, (JOB, FAULTING)).jobs
    assert (one.share, one.done) == (0.0, "3 inputs")
    assert texts(one, "unnoticed") == ["with n=1 (and 1 other inputs): out: 1 of 8 differ"]
    assert texts(one, "proven") == [
        "1 other input gives no fault and one result under 2 schedules; no reference judges the numbers"
    ]
    assert (other.applies, other.why) == (False, "it expects a fault")


def test_inputs_without_a_turn(monkeypatch: pytest.MonkeyPatch, context: examination.AuditContext) -> None:
    monkeypatch.setattr(FakeTrials, "count", 2)
    answered(monkeypatch, summary(verdict("a-1"), verdict("a-2"), unfinished=("a-2",)))
    one, other = fuzz.examine(context, (JOB, AuditedJob("b", JOB.cases))).jobs
    assert (one.share, one.examined, one.done) == (1.0, 0.5, "1 of 2 inputs")
    assert one.why == "the budget was spent before its turn"
    assert other.why == "a case of it fails as it is"
    answered(monkeypatch, summary(unfinished=("a-1", "a-2"), state="interrupted"))
    assert fuzz.examine(context, (JOB,)).jobs[0].why == "interrupted"
    answered(monkeypatch, summary(verdict("a-1"), unfinished=("a-1",)))
    assert fuzz.examine(context, (JOB,)).jobs[0].why == "the budget was spent before its turn"


def test_a_job_without_inputs(monkeypatch: pytest.MonkeyPatch, context: examination.AuditContext) -> None:
    monkeypatch.setattr(FakeTrials, "count", 0)
    assert not fuzz.examine(context, (JOB,)).jobs[0].applies

"""Mutants in an audit: the score, the sample, what cannot be tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpuregress.foundation.errors import GpuregressError, UsageError
from gpuregress.foundation.records import BufferAccuracy, Case, ResultAccuracy, RunSummary
from gpuregress.gpu.instruments import Cancellation
from gpuregress.gpu.records import replace
from gpuregress.jobs.spec import load
from gpuregress.lab.auditing import examination, search_parts
from gpuregress.lab.auditing.examination import AuditContext, AuditedJob, JobVerdicts
from gpuregress.lab.fuzzing.candidates import Candidate
from gpuregress.lab.fuzzing.findings import PlannedInput, Tried
from gpuregress.lab.mutating import subject, turns
from gpuregress.lab.mutating.campaign import MutationReport
from gpuregress.lab.mutating.subject import NothingNoticed
from gpuregress.lab.shrinking.trials import Failure
from tests import fakes
from tests.cli.runs.test_mutate import REPORT
from tests.lab.auditing.records import JOBS, SOON, summary, texts, verdict


def context(monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, Any], *, is_cut: bool = False) -> AuditContext:
    """Answer the mutants of each job with a report or an error; a job whose answer is None has no subject."""
    monkeypatch.setattr(search_parts, "Subject", str)
    monkeypatch.setattr(subject, "mutants", lambda job: ([], answered(answers[job], is_cut=is_cut)))
    monkeypatch.setattr(search_parts, "Campaign", lambda _job, _mutants, campaign: campaign)
    monkeypatch.setattr(turns, "run", lambda *_arguments: is_cut)
    subjects: Any = {
        job: answer if isinstance(answer, UsageError) and not isinstance(answer, NothingNoticed) else job
        for job, answer in answers.items()
        if answer
    }
    return replace(SOON, subjects=subjects)


def answered(answer: Any, *, is_cut: bool) -> Any:
    if isinstance(answer, MutationReport):
        report = replace(answer, interrupted=is_cut)
        return SimpleNamespace(report=lambda *_arguments: report, error=None, spent_s=1.0)
    if isinstance(answer, NothingNoticed):
        return SimpleNamespace(error=answer)
    raise answer


def test_survivors_with_their_diff() -> None:
    one = search_parts.judge_mutants("a", replace(REPORT, mutants=3))
    assert (one.share, one.examined, one.done, one.why, one.interval) == (0.5, 1.0, "3 of 3 mutants tried", "", None)
    assert texts(one, "unnoticed")[0].startswith("no case noticed: barrier-removed in kernels/scale.cu:7")
    assert one.evidence[1].details == ("@@ -1 +1 @@", "-f();", "+;", "threads meet")
    assert texts(one, "proven") == ["1 of 2 mutants are noticed"]


def test_a_sample_is_judged_as_a_sample() -> None:
    """Of nine mutants three were tried, and two of them count: two of the eight that may count."""
    one = search_parts.judge_mutants("a", REPORT)
    assert (one.share, one.examined, one.done, one.why) == (0.5, 2 / 8, "3 of 9 mutants tried", "")
    assert one.interval is not None
    assert texts(one, "proven") == [
        "1 of 2 sampled mutants are noticed; with 95 % confidence 9% to 91% of all 9",
    ]
    many = replace(REPORT, mutants=200, killed=REPORT.killed * 20)
    assert search_parts.judge_mutants("a", many).examined == 1.0


def test_a_sample_of_which_none_counts() -> None:
    none = replace(REPORT, killed=(), survived=(), timed_out=())
    assert search_parts.judge_mutants("a", none).applies, "others may count"
    assert not search_parts.judge_mutants("a", replace(none, mutants=3)).applies
    untried = search_parts.judge_mutants("a", replace(none, tried=0))
    assert (untried.share, untried.why) == (None, "the budget was spent before its turn")


def test_most_survivors_within_the_tolerance() -> None:
    tolerated = replace(REPORT.survived[0], reason="within the tolerance")
    one = search_parts.judge_mutants("a", replace(REPORT, survived=(tolerated,)))
    assert any("the tolerance lets 1 of 1 survivors live" in text for text in texts(one, "unnoticed"))
    half = search_parts.judge_mutants("a", replace(REPORT, survived=(tolerated, REPORT.survived[0])))
    assert not any("the tolerance lets" in text for text in texts(half, "unnoticed"))


def test_mutants_over_their_time_limit_are_noticed() -> None:
    late = replace(REPORT, mutants=3, timed_out=REPORT.killed * 2)
    assert search_parts.judge_mutants("a", late).share == 3 / 4


def test_jobs_that_cannot_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    given = context(monkeypatch, {"a": UsageError("the unchanged kernel must pass"), "b": REPORT})
    one, other = search_parts.examine_mutants(given, JOBS).jobs
    assert (one.share, one.why) == (None, "the unchanged kernel must pass")
    assert other.share == 0.5
    given = context(monkeypatch, {"a": None, "b": GpuregressError("no device code")})
    one, other = search_parts.examine_mutants(given, JOBS).jobs
    assert (one.why, other.why) == ("the budget was spent before its turn", "no device code")


def test_kernels_that_do_nothing_and_pass_have_no_points(monkeypatch: pytest.MonkeyPatch) -> None:
    given = context(monkeypatch, {"a": REPORT, "b": NothingNoticed("kernels that do nothing pass")})
    one = search_parts.examine_mutants(given, JOBS).jobs[1]
    assert (one.share, texts(one, "unnoticed")) == (0.0, ["kernels that do nothing pass"])


def test_an_interruption_keeps_what_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    done = search_parts.examine_mutants(context(monkeypatch, {"a": REPORT, "b": REPORT}, is_cut=True), JOBS)
    assert done.interrupted
    assert [(one.share, one.why) for one in done.jobs] == [(0.5, "interrupted"), (0.5, "interrupted")]


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
def inputs_context(monkeypatch: pytest.MonkeyPatch) -> examination.AuditContext:
    space = SimpleNamespace(edges=lambda: (Candidate(0, (("n", n),)) for n in range(1, FakeTrials.count + 1)))
    monkeypatch.setattr(search_parts, "Space", lambda *_arguments, **_options: space)
    monkeypatch.setattr(search_parts, "FuzzTrials", lambda *_arguments: FakeTrials())
    monkeypatch.setattr(load, "load_file", lambda _path: SimpleNamespace(document=SimpleNamespace(data={})))
    clean = {"a": JobVerdicts((verdict("a/1", "new"),)), "b": JobVerdicts((verdict("b/1", "differ"),))}
    return replace(SOON, clean=clean)


def answered_fuzz(monkeypatch: pytest.MonkeyPatch, given: RunSummary) -> None:
    def run(_context: object, _cases: object, baselines: Path) -> RunSummary:
        assert baselines == Path("/nowhere/none"), "baselines hold for the job's own inputs alone"
        return given

    monkeypatch.setattr(examination, "run", run)


def test_failures_of_one_kind_are_one(
    monkeypatch: pytest.MonkeyPatch, inputs_context: examination.AuditContext
) -> None:
    monkeypatch.setattr(FakeTrials, "failing", ("a-1", "a-3"))
    answered_fuzz(monkeypatch, summary(*(verdict(f"a-{n}") for n in (1, 2, 3))))
    (one,) = search_parts.examine_fuzz(inputs_context, (JOB,)).jobs
    assert (one.share, one.done) == (0.0, "3 inputs")
    assert texts(one, "unnoticed") == ["with n=1 (and 1 other inputs): out: 1 of 8 differ"]
    assert texts(one, "proven") == [
        "1 other input gives no fault and one result under 2 schedules; no reference judges the numbers"
    ]


def test_inputs_without_a_turn(monkeypatch: pytest.MonkeyPatch, inputs_context: examination.AuditContext) -> None:
    monkeypatch.setattr(FakeTrials, "count", 2)
    answered_fuzz(monkeypatch, summary(verdict("a-1"), verdict("a-2"), unfinished=("a-2",)))
    one, other = search_parts.examine_fuzz(inputs_context, (JOB, AuditedJob("b", JOB.cases))).jobs
    assert (one.share, one.examined, one.done) == (1.0, 0.5, "1 of 2 inputs")
    assert one.why == "the budget was spent before its turn"
    assert other.why == "a case of it fails as it is"
    answered_fuzz(monkeypatch, summary(unfinished=("a-1", "a-2"), state="interrupted"))
    assert search_parts.examine_fuzz(inputs_context, (JOB,)).jobs[0].why == "interrupted"
    answered_fuzz(monkeypatch, summary(verdict("a-1"), unfinished=("a-1",)))
    assert search_parts.examine_fuzz(inputs_context, (JOB,)).jobs[0].why == "the budget was spent before its turn"


def test_a_job_without_inputs(monkeypatch: pytest.MonkeyPatch, inputs_context: examination.AuditContext) -> None:
    monkeypatch.setattr(FakeTrials, "count", 0)
    assert not search_parts.examine_fuzz(inputs_context, (JOB,)).jobs[0].applies


CASES = tuple(replace(fakes.case("k", name=f"a/{n}"), job="a") for n in (1, 2))
JOB_ACCURACY = AuditedJob("a", CASES)
BUFFER = BufferAccuracy("out", "float32", "float64", 8, 8, largest=2.5, median=0.5)


@pytest.fixture
def watched_context() -> examination.AuditContext:
    clean = {"a": JobVerdicts((verdict("a/1", seconds=2.0), verdict("a/2", seconds=1.0)))}
    return replace(SOON, clean=clean)


def answered_accuracy(monkeypatch: pytest.MonkeyPatch, found: ResultAccuracy | None) -> list[Case]:
    asked: list[Case] = []

    def run(_context: object, cases: list[Case]) -> RunSummary:
        asked.extend(cases)
        return summary(verdict("a/2", observations={"accuracy": found}))

    monkeypatch.setattr(examination, "run", run)
    return asked


def test_errors_and_cancellations(monkeypatch: pytest.MonkeyPatch, watched_context: examination.AuditContext) -> None:
    lost = replace(BUFFER, not_finite=3)
    asked = answered_accuracy(monkeypatch, ResultAccuracy((lost,), cancellations=(Cancellation("/p/k.cu", 7, 2, 17),)))
    (one,) = search_parts.examine_accuracy(watched_context, (JOB_ACCURACY,)).jobs
    assert [(case.name, case.settings.instruments.accuracy) for case in asked] == [("a/2", True)], "the fastest"
    assert texts(one, "proven") == ["a/2: out: errors of at most 2.5 ulp, median 0.5"]
    assert texts(one, "luck") == [
        "a/2: out: 3 elements are finite on one side only, in float32 or in float64",
        "a/2: looks like catastrophic cancellation at k.cu:7: up to 17 bits lost",
    ]


def test_without_floats_or_time(monkeypatch: pytest.MonkeyPatch, watched_context: examination.AuditContext) -> None:
    answered_accuracy(monkeypatch, None)
    assert not search_parts.examine_accuracy(watched_context, (JOB_ACCURACY,)).jobs[0].applies
    left = replace(watched_context, clean={})
    assert search_parts.examine_accuracy(left, (JOB_ACCURACY,)).jobs[0].why == "the budget was spent before its turn"
    failed = replace(watched_context, clean={"a": JobVerdicts((verdict("a/1", "differ"), verdict("a/2")))})
    assert search_parts.examine_accuracy(failed, (JOB_ACCURACY,)).jobs[0].why == "a case of it fails as it is"

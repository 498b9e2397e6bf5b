"""Mutants in an audit: the score, the sample, what cannot be tried."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from gpuregress.foundation.errors import GpuregressError, UsageError
from gpuregress.gpu.records import replace
from gpuregress.lab.auditing import mutants
from gpuregress.lab.auditing.examination import AuditContext
from gpuregress.lab.mutating import turns
from gpuregress.lab.mutating.mutate import MutationReport
from gpuregress.lab.mutating.subject import NothingNoticed
from tests.cli.runs.test_mutate import REPORT
from tests.lab.auditing.records import JOBS, SOON, texts


def context(monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, Any], *, is_cut: bool = False) -> AuditContext:
    """Answer the mutants of each job with a report or an error; a job whose answer is None has no subject."""
    monkeypatch.setattr(mutants, "Subject", str)
    monkeypatch.setattr(turns, "of_subject", lambda job, *_more: answered(answers[job]))
    monkeypatch.setattr(turns, "run", lambda *_arguments, **_options: is_cut)
    monkeypatch.setattr(
        turns, "report", lambda one, _seed, *, interrupted: reported(one.report, interrupted=interrupted)
    )
    subjects: Any = {
        job: answer if isinstance(answer, UsageError) and not isinstance(answer, NothingNoticed) else job
        for job, answer in answers.items()
        if answer
    }
    return replace(SOON, subjects=subjects)


def reported(report: MutationReport, *, interrupted: bool) -> MutationReport:
    return replace(report, interrupted=interrupted)


def answered(answer: Any) -> Any:
    if isinstance(answer, MutationReport):
        return SimpleNamespace(report=answer, error=None)
    if isinstance(answer, NothingNoticed):
        return SimpleNamespace(error=answer)
    raise answer


def test_survivors_with_their_diff() -> None:
    one = mutants.judged("a", replace(REPORT, mutants=3))
    assert (one.share, one.examined, one.done, one.why, one.interval) == (0.5, 1.0, "3 of 3 mutants tried", "", None)
    assert texts(one, "unnoticed")[0].startswith("no case noticed: barrier-removed in kernels/scale.cu:7")
    assert one.evidence[1].details == ("@@ -1 +1 @@", "-f();", "+;", "threads meet")
    assert texts(one, "proven") == ["1 of 2 mutants are noticed"]


def test_a_sample_is_judged_as_a_sample() -> None:
    """Of nine mutants three were tried, and two of them count: two of the eight that may count."""
    one = mutants.judged("a", REPORT)
    assert (one.share, one.examined, one.done, one.why) == (0.5, 2 / 8, "3 of 9 mutants tried", "")
    assert one.interval is not None
    assert texts(one, "proven") == [
        "1 of 2 sampled mutants are noticed; with 95 % confidence 9% to 91% of all 9",
    ]
    many = replace(REPORT, mutants=200, killed=REPORT.killed * 20)
    assert mutants.judged("a", many).examined == 1.0


def test_a_sample_of_which_none_counts() -> None:
    none = replace(REPORT, killed=(), survived=(), timed_out=())
    assert mutants.judged("a", none).applies, "others may count"
    assert not mutants.judged("a", replace(none, mutants=3)).applies
    untried = mutants.judged("a", replace(none, tried=0))
    assert (untried.share, untried.why) == (None, "the budget was spent before its turn")


def test_most_survivors_within_the_tolerance() -> None:
    tolerated = replace(REPORT.survived[0], reason="within the tolerance")
    one = mutants.judged("a", replace(REPORT, survived=(tolerated,)))
    assert any("the tolerance lets 1 of 1 survivors live" in text for text in texts(one, "unnoticed"))
    half = mutants.judged("a", replace(REPORT, survived=(tolerated, REPORT.survived[0])))
    assert not any("the tolerance lets" in text for text in texts(half, "unnoticed"))


def test_mutants_over_their_time_limit_are_noticed() -> None:
    late = replace(REPORT, mutants=3, timed_out=REPORT.killed * 2)
    assert mutants.judged("a", late).share == 3 / 4


def test_jobs_that_cannot_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    given = context(monkeypatch, {"a": UsageError("the unchanged kernel must pass"), "b": REPORT})
    one, other = mutants.examine(given, JOBS).jobs
    assert (one.share, one.why) == (None, "the unchanged kernel must pass")
    assert other.share == 0.5
    given = context(monkeypatch, {"a": None, "b": GpuregressError("no device code")})
    one, other = mutants.examine(given, JOBS).jobs
    assert (one.why, other.why) == ("the budget was spent before its turn", "no device code")


def test_kernels_that_do_nothing_and_pass_have_no_points(monkeypatch: pytest.MonkeyPatch) -> None:
    given = context(monkeypatch, {"a": REPORT, "b": NothingNoticed("kernels that do nothing pass")})
    one = mutants.examine(given, JOBS).jobs[1]
    assert (one.share, texts(one, "unnoticed")) == (0.0, ["kernels that do nothing pass"])


def test_an_interruption_keeps_what_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    done = mutants.examine(context(monkeypatch, {"a": REPORT, "b": REPORT}, is_cut=True), JOBS)
    assert done.interrupted
    assert [(one.share, one.why) for one in done.jobs] == [(0.5, "interrupted"), (0.5, "interrupted")]

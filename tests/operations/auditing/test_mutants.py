"""Mutants in an audit: the score, the sample, the budget."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import pytest

from gpuregress.errors import Interrupted, UsageError
from gpuregress.operations.auditing import mutants
from gpuregress.operations.auditing.examination import Budget
from gpuregress.operations.mutating import mutate
from gpuregress.operations.mutating.mutate import MutateRequest, MutationReport
from tests.cli.runs.test_mutate import REPORT
from tests.operations.auditing.records import JOBS, SOON, texts

PROJECT: Any = None


def answered(monkeypatch: pytest.MonkeyPatch, *answers: MutationReport | Exception) -> list[MutateRequest]:
    asked: list[MutateRequest] = []

    def tried(_project: Any, request: MutateRequest, **_more: Any) -> MutationReport:
        answer = answers[len(asked)]
        asked.append(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(mutate, "mutate", tried)
    return asked


def test_survivors_with_their_diff_and_the_size_of_the_sample() -> None:
    one = mutants.judged("a", REPORT)
    assert (one.share, one.done, one.why) == (0.5, "3 of 9 mutants tried", "the budget did not allow more")
    assert one.examined == pytest.approx(3 / 9)
    assert texts(one, "unnoticed")[0].startswith("no case noticed: barrier-removed in kernels/scale.cu:7")
    assert one.evidence[1].details == ("@@ -1 +1 @@", "-f();", "+;", "threads meet")
    assert texts(one, "proven") == ["1 of 2 mutants are noticed"]
    assert mutants.judged("a", dataclasses.replace(REPORT, mutants=200, tried=10)).examined == 1.0
    none = mutants.judged("a", dataclasses.replace(REPORT, score=None))
    assert none.share is None


def test_a_job_that_does_not_pass_is_not_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answered(monkeypatch, UsageError("the unchanged kernel must pass"), REPORT)
    one, other = mutants.examine(PROJECT, JOBS, SOON).jobs
    assert (one.share, one.why) == (None, "the unchanged kernel must pass")
    assert other.share == 0.5
    assert [request.selector for request in asked] == ["/p/a.yaml", "/p/b.yaml"]


def test_the_end_of_the_time_and_of_the_users_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch)
    late = mutants.examine(PROJECT, JOBS, Budget(time.monotonic() - 1))
    assert {one.why for one in late.jobs} == {"the budget was spent before its turn"}
    answered(monkeypatch, Interrupted("interrupted"))
    done = mutants.examine(PROJECT, JOBS, SOON)
    assert (done.interrupted, [one.why for one in done.jobs]) == (True, ["interrupted", "interrupted"])
    answered(monkeypatch, dataclasses.replace(REPORT, interrupted=True))
    done = mutants.examine(PROJECT, JOBS, SOON)
    assert done.interrupted
    assert [one.share for one in done.jobs] == [0.5, None], "what is done stays"

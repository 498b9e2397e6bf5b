"""The cases of a job in an audit."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.records import BufferVerdict, CheckFinding, Comparison, Coverage, FileCoverage, FurtherRun
from gpuregress.gpu.records import replace
from gpuregress.lab.auditing import case_parts
from gpuregress.store.project import Project
from tests.lab.auditing.records import JOBS, SOON, answer, nothing_written, summary, texts, verdict


def test_what_passes_what_is_compared_with_nothing_what_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = (verdict("a/1"), verdict("a/2", "new", "no baseline"), verdict("a/3", "differ", "out: 3 of 8 differ"))
    asked = answer(monkeypatch, summary(*verdicts, verdict("a/4"), verdict("b/1", "skip", "needs a GPU")))
    done = case_parts.examine_cases(SOON, JOBS)
    one, other = done.jobs
    assert [one.case for one in done.clean["a"].examined] == ["a/1", "a/2", "a/3", "a/4"], "the other parts use them"
    assert asked == [{}]
    assert (one.share, one.done) == (0.5, "4 of 4 cases")
    assert texts(one, "proven") == ["2 cases pass, as its baseline"]
    assert texts(one, "unnoticed") == ["a/2: nothing is compared: no baseline"]
    assert texts(one, "wrong") == ["a/3: differ: out: 3 of 8 differ"]
    assert (other.share, other.why) == (None, "b/1: needs a GPU")


RACE = CheckFinding("race", "data race on sum[3]", ("thread 1 writes", "thread 2 reads"), "k.cu:9")


def test_a_finding_is_right_by_luck(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {"findings": (RACE,), "exchanges": ("scan: lanes exchange values without __syncwarp",)}
    run = summary(verdict("a/1"), verdict("a/2", "fault", observations=seen), verdict("b/1", "fault", "out of bounds"))
    asked = answer(monkeypatch, run)
    one, other = case_parts.examine_checks(SOON, JOBS).jobs
    assert asked == [{"checks": ("all",)}]
    assert (one.share, one.examined) == (0.5, 1.0)
    assert texts(one, "proven") == ["no finding of the dynamic checks in 1 case"]
    assert texts(one, "luck") == ["a/2: race: data race on sum[3]", "scan: lanes exchange values without __syncwarp"]
    assert one.evidence[1].details == RACE.details
    assert (other.share, other.why) == (None, "b/1: out of bounds"), "it ended before it could show a race"


def test_a_result_that_depends_on_the_order_is_luck(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {"runs": (FurtherRun("schedule", "reverse"),)}
    message = "the schedules forward and reverse give different results: out[3] is 1 and 2"
    other = Comparison("out", "schedule", "", same=False, identical=False, of=8, message=message)
    luck = BufferVerdict("out", "differ", message, comparisons=(other,))
    run = summary(
        verdict("a/1", observations=seen),
        verdict("a/2", "differ", observations=seen, buffers=(luck,)),
        verdict("b/1", "fault", "trap"),
        nothing_written("a/3", "pass", runs=seen["runs"]),
        nothing_written("a/4", "pass", runs=seen["runs"]),
    )
    asked = answer(monkeypatch, run)
    one, none = case_parts.examine_schedules(SOON, JOBS).jobs
    assert len(asked[0]["schedules"]) == 8 + 1  # `by-warp`
    assert one.share == 0.25
    assert texts(one, "luck") == [f"a/2: out: {message}"]
    assert texts(one, "proven") == ["the same result under 8 schedules in 1 case"]
    assert texts(one, "unnoticed") == [f"a/{n}: nothing was written, under any schedule" for n in (3, 4)]
    assert (none.share, none.why) == (None, "b/1: trap")


def test_lines_that_no_case_executes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("a;\nb;\n")
    counted = Coverage((FileCoverage(str(tmp_path / "k.cu"), ((1, 32), (2, 0))),))
    run = summary(
        verdict("a/1", observations={"coverage": counted}), verdict("b/1", observations={"coverage": Coverage()})
    )
    asked = answer(monkeypatch, run)
    project = Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")
    one, other = case_parts.examine_coverage(replace(SOON, project=project), JOBS).jobs
    assert asked == [{"coverage": True}]
    assert (one.share, one.done) == (0.5, "1 of 2 lines")
    assert texts(one, "unnoticed") == ["k.cu:2: never executed: b;"]
    assert (other.applies, other.why) == (False, "its programs have no source lines")


def test_a_job_of_which_nothing_was_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, summary(verdict("a/1"), verdict("b/1")))
    one = case_parts.examine_coverage(SOON, JOBS).jobs[0]
    assert (one.why, one.applies) == ("no case of it could be counted", True)

from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.records import KnownFailing, Missing, NightChanges, Problem, RunSummary, SourceLocation
from gpuregress.gpu.records import replace
from gpuregress.report.entries import entries, title
from tests.report.samples import summary, verdict

ROOT = Path("/p")


def run(**changes: object) -> RunSummary:
    return replace(summary(), **changes)  # type: ignore[arg-type]  # keyword by keyword


def test_each_verdict_has_its_level() -> None:
    levels = {one.status: one.level for one in entries(summary(), ROOT)}
    assert levels == {
        "pass": "passed",
        "differ": "failure",
        "new": "failure",
        "fault": "failure",
        "timeout": "failure",
        "error": "error",
        "skip": "skipped",
    }


def test_a_failure_that_does_not_fail_the_run_is_known() -> None:
    known = verdict("skip", reason="known until then", known=KnownFailing("2026-12-24", "why", "differ"))
    (one,) = entries(run(verdicts=(known,), exit_code=0), ROOT)
    assert (one.level, one.status, one.is_failure, one.message) == ("known", "differ", False, "known until then")


def test_the_title_of_a_night_tells_what_is_new() -> None:
    night = title(run(changes=NightChanges()))
    assert night.startswith("nothing new; the night failed (exit code 3); 7 cases in 1.50 s")


def test_files_are_named_relative_to_the_root() -> None:
    inside, outside = SourceLocation("/p/kernels/k.cu", 7), SourceLocation("/elsewhere/k.cu")
    cases = (verdict("fault", location=inside, exit_code=3), verdict("fault", location=outside, exit_code=3))
    first, second = entries(run(verdicts=cases), ROOT)
    assert (first.path, first.line, second.path, second.line) == ("kernels/k.cu", 7, "/elsewhere/k.cu", 0)


def test_a_missing_case_is_a_failure() -> None:
    *_, last = entries(run(missing=(Missing("gone/n=1", ("gone/n=1 vanished", "more")),)), ROOT)
    assert (last.name, last.status, last.level, last.message) == ("gone/n=1", "missing", "failure", "gone/n=1 vanished")


def test_a_failed_run_without_failing_cases_has_an_entry() -> None:
    early = run(verdicts=(), notes=("no case is left", "more"), exit_code=5)
    (one,) = entries(early, ROOT)
    assert (one.name, one.status, one.level, one.message) == ("the run", "run", "error", "no case is left")
    assert title(early) == "no case is left"
    stopped = entries(run(verdicts=(verdict("pass"),), state="interrupted", exit_code=130), ROOT)
    assert [one.level for one in stopped] == ["passed", "error"]


def test_wrong_jobs_have_an_entry_for_each_error() -> None:
    problems = (
        Problem("configs/a.yaml:2: x: wrong", SourceLocation("/p/configs/a.yaml", 2)),
        Problem("configs/b.yaml: empty", SourceLocation("/p/configs/b.yaml")),
    )
    found = entries(run(verdicts=(), problems=problems, exit_code=2), ROOT)
    assert [(one.name, one.path, one.line) for one in found] == [
        ("the run", "configs/a.yaml", 2),
        ("the run (2)", "configs/b.yaml", 0),
    ]


def test_control_characters_are_visible() -> None:
    hostile = verdict("fault", case="a\x1b[2J", reason="b\u202ec", exit_code=3)
    (one,) = entries(run(verdicts=(hostile,)), ROOT)
    assert (one.name, one.message) == ("a\\x1b[2J", "b\\u202ec")

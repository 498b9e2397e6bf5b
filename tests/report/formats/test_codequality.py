from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given, settings

from gpuregress.foundation.records import RunSummary
from gpuregress.gpu.records import replace
from gpuregress.report.entries import entries
from gpuregress.report.formats import codequality
from tests.report.formats.hostile import runs
from tests.report.samples import summary, verdict

ROOT = Path("/p")


def test_the_failures_are_issues() -> None:
    issues = json.loads(codequality.render(summary(), ROOT))
    assert [(one["check_name"], one["severity"]) for one in issues] == [
        ("gpuregress/differ", "major"),
        ("gpuregress/new", "major"),
        ("gpuregress/fault", "major"),
        ("gpuregress/timeout", "major"),
        ("gpuregress/error", "critical"),
    ]


def test_a_fingerprint_stays_while_numbers_change() -> None:
    def fingerprint(reason: str, **changes: object) -> str:
        failing = verdict("differ", reason=reason, exit_code=1, **changes)
        (issue,) = json.loads(codequality.render(replace(summary(), verdicts=(failing,)), ROOT))
        return str(issue["fingerprint"])

    assert fingerprint("sum: 3 of 8 differ") == fingerprint("sum: 4 of 8 differ")
    assert fingerprint("x") != fingerprint("x", case="reduce/other")


@settings(max_examples=40)
@given(runs())
def test_every_issue_has_what_gitlab_requires(run: RunSummary) -> None:
    issues = json.loads(codequality.render(run, ROOT))
    assert len(issues) == sum(one.level not in ("passed", "skipped") for one in entries(run, ROOT))
    for issue in issues:
        assert issue["description"]
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["location"]["path"]
        assert issue["location"]["lines"]["begin"] >= 1

"""Coverage in an audit."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.records import Coverage, FileCoverage
from gpuregress.gpu.records import replace
from gpuregress.lab.auditing import coverage
from gpuregress.store.project import Project
from tests.lab.auditing.records import FAULTING, JOBS, SOON, answer, summary, texts, verdict


def test_lines_that_no_case_executes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("a;\nb;\n")
    counted = Coverage((FileCoverage(str(tmp_path / "k.cu"), ((1, 32), (2, 0))),))
    run = summary(
        verdict("a/1", observations={"coverage": counted}), verdict("b/1", observations={"coverage": Coverage()})
    )
    asked = answer(monkeypatch, run)
    project = Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")
    one, other = coverage.examine(replace(SOON, project=project), JOBS).jobs
    assert asked == [{"coverage": True}]
    assert (one.share, one.done) == (0.5, "1 of 2 lines")
    assert texts(one, "unnoticed") == ["k.cu:2: never executed: b;"]
    assert (other.applies, other.why) == (False, "its programs do not tell their source lines")


def test_a_job_of_which_nothing_was_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, summary(verdict("a/1"), verdict("b/1")))
    one, other = coverage.examine(SOON, (JOBS[0], FAULTING)).jobs
    assert (one.why, one.applies) == ("no case of it could be counted", True)
    assert (other.why, other.applies) == ("it expects a fault", False)

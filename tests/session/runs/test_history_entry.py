from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.errors import NothingToDo
from gpuregress.project import Project
from gpuregress.records import RunSummary, Status, Verdict
from gpuregress.session.runs import history_entry


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")


def summary(name: str, **statuses: Status) -> RunSummary:
    verdicts = tuple(Verdict("j", f"j/{case}", status) for case, status in statuses.items())
    return RunSummary(name, "", "cpu", name, 1.0, verdicts)


def test_runs_and_results_come_the_oldest_first(project: Project) -> None:
    with pytest.raises(NothingToDo, match="no run"):
        history_entry.runs(project, 10)
    assert history_entry.record(project, summary("R1", a="pass", b="pass"), "run") == ()
    assert history_entry.record(project, summary("R2", a="differ"), "nightly") == ()
    assert [(run.run, run.kind) for run in history_entry.runs(project, 10)] == [("R1", "run"), ("R2", "nightly")]
    actual = history_entry.results(project, ["j/a"], 10)
    assert {case: [one.verdict for one in rows] for case, rows in actual.items()} == {"j/a": ["pass", "differ"]}
    assert (
        set(history_entry.results(project, ["j"], 10)) == set(history_entry.results(project, [], 10)) == {"j/a", "j/b"}
    )
    with pytest.raises(NothingToDo, match="'k'"):
        history_entry.results(project, ["k"], 10)


def test_a_history_that_cannot_be_written_stops_no_run(project: Project) -> None:
    (project.runs / history_entry.FILE).mkdir(parents=True)
    (note,) = history_entry.record(project, summary("R1"), "run")
    assert note.startswith("this run is not in the history: ")


def test_a_damaged_history_is_kept_aside_and_begun_anew(project: Project) -> None:
    project.runs.mkdir()
    (project.runs / history_entry.FILE).write_text("no database, but long enough to be read as one" * 100)
    (note,) = history_entry.record(project, summary("R1"), "run")
    assert "was damaged; it is kept as history.sqlite.damaged-1" in note
    assert [run.run for run in history_entry.runs(project, 10)] == ["R1"]

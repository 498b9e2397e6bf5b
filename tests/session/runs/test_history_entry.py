from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.errors import NothingToDo, StorageError
from gpuregress.project import Project
from gpuregress.records import RunSummary, Status, Verdict
from gpuregress.session.runs import history_entry


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")


def summary(name: str, **statuses: Status) -> RunSummary:
    verdicts = tuple(Verdict("j", f"j/{case}", status) for case, status in statuses.items())
    return RunSummary(name, "", "cpu", name, 1.0, verdicts)


def test_runs_are_recorded(project: Project) -> None:
    with pytest.raises(NothingToDo, match="no run"), history_entry.opened(project):
        pass
    assert history_entry.record(project, summary("R1", a="pass", b="pass"), "run") == ()
    assert history_entry.record(project, summary("R2", a="differ"), "nightly") == ()
    with history_entry.opened(project) as history:
        assert [(run.run, run.kind) for run in history.runs()] == [("R2", "nightly"), ("R1", "run")]


@pytest.mark.parametrize(("text", "message"), [("", "it is empty"), ("no database" * 1000, "was damaged")])
def test_a_damaged_history_answers_nothing(project: Project, text: str, message: str) -> None:
    project.runs.mkdir()
    (project.runs / history_entry.FILE).write_text(text)
    with pytest.raises(StorageError, match=message), history_entry.opened(project):
        pass


def test_a_history_that_cannot_be_written_stops_no_run(project: Project) -> None:
    (project.runs / history_entry.FILE).mkdir(parents=True)
    (note,) = history_entry.record(project, summary("R1"), "run")
    assert note.startswith("this run is not in the history: ")


def test_a_damaged_history_is_kept_aside_and_begun_anew(project: Project) -> None:
    project.runs.mkdir()
    (project.runs / history_entry.FILE).write_text("no database, but long enough to be read as one" * 100)
    (note,) = history_entry.record(project, summary("R1"), "run")
    assert "was damaged; it is kept as history.sqlite.damaged-1" in note
    with history_entry.opened(project) as history:
        assert [run.run for run in history.runs()] == ["R1"]

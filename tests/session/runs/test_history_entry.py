from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import NothingToDo, StorageError
from gpuregress.foundation.records import RunSummary, Status, Verdict
from gpuregress.session.runs import history_entry
from gpuregress.store.project import Project


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


def test_the_trends_of_a_page_are_the_last_results_of_each_case(project: Project) -> None:
    statuses: list[Status] = ["pass", "pass", "differ"]
    for number, status in enumerate(statuses):
        history_entry.record(project, summary(f"R{number}", a=status, b="pass"), "run")
    with history_entry.trends(project.runs, 2) as trend:
        assert [one.verdict for one in trend("j/a", "cpu")] == ["differ", "pass"]
        assert [one.run for one in trend("j/b", "cpu:0")] == ["R2", "R1"]
        assert trend("j/a", "cuda:0") == ()
        assert trend("j/gone", "cpu") == ()
    with history_entry.trends(project.runs, 2, until="R1") as trend:
        assert [one.run for one in trend("j/a", "cpu")] == ["R1", "R0"], "the page of R1 tells nothing of later runs"


@pytest.mark.parametrize("text", [None, "", "no database" * 1000])
def test_a_page_without_a_history_has_no_trends_and_leaves_a_damaged_one_alone(
    project: Project, text: str | None
) -> None:
    project.runs.mkdir()
    if text is not None:
        (project.runs / history_entry.FILE).write_text(text)
    before = sorted(project.runs.iterdir())
    with history_entry.trends(project.runs, 2) as trend:
        assert trend("j/a", "cpu") == ()
    assert sorted(project.runs.iterdir()) == before

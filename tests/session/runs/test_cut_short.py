from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpuregress.foundation.errors import BaselineError
from gpuregress.foundation.records import Verdict
from gpuregress.session.runs import cut_short, journal, run_folders
from gpuregress.session.runs.journal import JournalEntry, JournalWriter
from gpuregress.store.launch_log import LaunchLog
from gpuregress.store.project import Project

START = journal.JournalStart(1, "", "2026-11-20T02:00:00Z", "cpu", "run", "1", journal.process(), ("j/a", "j/b"))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")


def begun(project: Project) -> tuple[Path, JournalWriter]:
    """A run with a verdict on one of its two cases, and the other one in a launch."""
    folder, writer = run_folders.create(project.runs, START, datetime(2026, 11, 20, 2, tzinfo=UTC))
    log = LaunchLog(folder / run_folders.LAUNCH_LOG)
    log.begin(7, "cpu", "j/b", "k<<<>>>()", 0)
    log.close()
    writer.add(JournalEntry(Verdict("j", "j/a", "new")))
    return folder, writer


def test_a_run_on_a_cluster_does_not_know_the_launches_of_its_hosts(project: Project) -> None:
    folder, writer = run_folders.create(project.runs, START, datetime(2026, 11, 20, 2, tzinfo=UTC))
    with contextlib.closing(LaunchLog(folder / run_folders.LAUNCH_LOG)) as log:
        log.write_header({"cluster": "2 cores on 1 host of the cluster at tcp://node0:8786"})
    writer.close()
    assert "while its cases ran on a cluster, whose hosts kept the logs" in cut_short.describe(folder)


def test_a_run_that_goes_on_is_waited_for(project: Project) -> None:
    folder, writer = begun(project)
    assert "is not over (process " in cut_short.describe(folder)
    assert not list(cut_short.describe_all(project.runs))
    with pytest.raises(BaselineError, match="wait until it ends"):
        cut_short.decidable_run(project.runs)
    assert not list(cut_short.close_all(project))
    writer.close()


def test_a_run_that_was_cut_short_is_closed_once_and_never_the_default(project: Project) -> None:
    folder, writer = begun(project)
    writer.close()
    (folder / run_folders.SHARED / "contents").mkdir(parents=True)
    why = "killed, or its disk, machine or cluster failed"
    line = f"run {folder.name} was cut short ({why}) in launch 7 on cpu, j/b: k<<<>>>()"
    assert cut_short.describe(folder) == f"{line}; 1 of 2 cases had their verdicts"
    with pytest.raises(BaselineError, match=f"--run {folder.name} takes those"):
        cut_short.decidable_run(project.runs)
    assert cut_short.decidable_run(project.runs, folder.name) == folder
    (told,) = cut_short.close_all(project)
    assert told.startswith(line)
    assert (folder / run_folders.RESULTS).is_file()
    assert not (folder / run_folders.SHARED).exists()
    assert not list(cut_short.close_all(project))
    assert [text.startswith(line) for text in cut_short.describe_all(project.runs)] == [True]


def test_the_journal_of_the_run_that_asks_is_not_read(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 10,000 verdicts that would take seconds and more memory than the whole night."""
    folder, writer = begun(project)
    with monkeypatch.context() as changed:
        changed.setattr(journal, "read", lambda _folder: pytest.fail("read all of it"))
        assert not list(cut_short.close_all(project))
        assert not run_folders.is_abandoned(folder)
    writer.close()
    assert len(list(cut_short.close_all(project))) == 1

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import gpuregress.store.history.database as busy
from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import RunSummary, State, Status, Verdict
from gpuregress.store.history import History, Reader, verdicts
from tests.store.history.past import night, results


def summary(run: str, words: dict[str, Status], *, interrupted: bool = False) -> RunSummary:
    verdicts = tuple(Verdict("j", case, status, seconds=0.5) for case, status in words.items())
    state: State = "interrupted" if interrupted else "finished"
    return RunSummary(run, f"/r/{run}", "cpu", f"2026-11-20T0{run[-1]}:00:00Z", 9.0, verdicts, state=state)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "history.sqlite"


def test_the_trend_of_a_case(path: Path) -> None:
    with History(path) as history:
        for number, status in enumerate(["pass", "differ", "pass"], 1):
            history.add(summary(f"R{number}", {"a/n=1": status, "b": "pass"}))  # type: ignore[dict-item] # words all
    with History(path) as history:
        actual = [one for one in results(history, 2) if one.case == "a/n=1"]
        assert [(r.run, r.case, r.verdict, r.seconds) for r in actual] == [
            ("R3", "a/n=1", "pass", 0.5),
            ("R2", "a/n=1", "differ", 0.5),
        ]
        assert [r.case for r in results(history, 1)] == ["a/n=1", "b"]
        assert history.note == ""


def test_a_run_recorded_twice_counts_once(path: Path) -> None:
    with History(path) as history:
        history.add(summary("R1", {"a": "fault", "gone": "pass"}))
        history.add(summary("R1", {"a": "pass"}))
        assert [(r.case, r.verdict) for r in results(history, 10)] == [("a", "pass")]


def test_the_last_runs_and_how_many_cases_had_which_verdict(path: Path) -> None:
    with History(path) as history:
        history.add(summary("R1", {"a": "pass", "b": "pass", "c": "fault"}), "nightly")
        history.add(summary("R2", {"a": "pass"}, interrupted=True))
        assert [(run.run, run.kind, run.interrupted, run.counts) for run in history.runs()] == [
            ("R2", "run", True, {"pass": 1}),
            ("R1", "nightly", False, {"fault": 1, "pass": 2}),
        ]
        assert [run.run for run in history.runs(1)] == ["R2"]


def test_old_runs_are_forgotten(path: Path) -> None:
    with History(path) as history:
        for number in range(1, 6):
            history.add(summary(f"R{number}", {"a": "pass"}))
        history.forget(keep=2)
        assert [r.run for r in results(history, 10)] == ["R5", "R4"]


def test_texts_and_cases_of_forgotten_runs_are_removed_now_and_then(path: Path) -> None:
    with History(path) as history:
        for number in range(1, 51):
            history.add(night(number, {f"case{number}": "pass"}))
        history.forget(keep=2)
        assert set(history.case_names()) == {"case49", "case50"}
    with closing(sqlite3.connect(path)) as database:
        assert {row[0] for row in database.execute("SELECT name FROM cases")} == {"case49", "case50"}
        texts = {row[0] for row in database.execute("SELECT text FROM texts")}
        assert texts == {"pass", "cpu", "model of cpu", "3f2a", ""}


def test_nights_are_kept_beside_runs_and_results_are_bounded(path: Path) -> None:
    with History(path) as history:
        for number in range(1, 9):
            history.add(summary(f"R{number}", {"a": "pass", "b": "pass"}), "nightly" if number < 4 else "run")
        history.forget(keep=2)
        assert [run.run for run in history.all_runs()] == ["R8", "R7", "R3", "R2"]
        history.forget(keep=2, most_results=2)
        assert [run.run for run in history.all_runs()] == ["R8", "R3"]


def test_imported_runs_push_out_none_of_the_projects_own(path: Path) -> None:
    with History(path) as history:
        history.add(night(1, {"a": "differ"}), "nightly")
        for number in range(2, 6):
            history.add_new(night(number, {"a": "pass"}, host="there"), "nightly", is_imported=True)
        history.forget(keep=2)
        assert [run.run for run in history.all_runs()] == ["R05", "R04", "R01"]


@pytest.mark.parametrize("damage", ["text", "cut"])
def test_a_damaged_file_is_moved_aside(path: Path, damage: str) -> None:
    with History(path) as history:
        for number in range(1, 9):
            history.add(summary(f"R{number}", {f"case{k}": "pass" for k in range(200)}))
    path.write_bytes(b"not a database\n" * 100 if damage == "text" else path.read_bytes()[:8192])
    with History(path) as history:
        assert "was damaged; it is kept as history.sqlite.damaged-1" in history.note
        history.add(summary("R9", {"a": "pass"}))
        assert len(results(history, 10)) == 1
    assert path.with_name("history.sqlite.damaged-1").exists()


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (99, r"later gpuregress \(version 99\); upgrade"),
        (4, r"earlier gpuregress \(version 4, expected 5\); move it away to begin"),
    ],
)
def test_another_version_is_left_alone(path: Path, version: int, message: str) -> None:
    with History(path):
        pass
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {version}")
    for open_history in (History, Reader.open):
        with pytest.raises(StorageError, match=message):
            open_history(path)
    assert sorted(p.name for p in path.parent.iterdir() if "damaged" in p.name) == []


def test_a_folder_in_its_place(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StorageError, match="cannot use the history"):
        History(path)


def test_a_database_of_something_else_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE letters (text)")
    database.close()
    with pytest.raises(StorageError, match="something else"):
        History(path)


@pytest.mark.parametrize("kind", ["EXCLUSIVE", "IMMEDIATE"])
def test_a_locked_history_is_said(path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    assert busy.BUSY_S == 10.0
    monkeypatch.setattr(busy, "BUSY_S", 0.0)
    with History(path):
        pass
    database = sqlite3.connect(path, isolation_level=None)
    database.execute(f"BEGIN {kind}")
    with pytest.raises(StorageError, match="another process has locked the history"), History(path) as history:
        history.add(summary("R1", {"a": "pass"}))
    database.close()


def test_text_that_is_no_utf8_is_kept_visible(path: Path) -> None:
    with History(path) as history:
        history.add(summary("R1", {"\udcff\x1b": "error"}))
        assert [result.case for result in results(history, 10)] == [r"\xff\x1b"]


WRITER = """
import sys, pathlib
from gpuregress.store.history import History
from gpuregress.foundation.records import RunSummary, Verdict
for k in range(20):
    with History(pathlib.Path(sys.argv[1])) as history:
        run = f"{sys.argv[2]}-{k}"
        history.add(RunSummary(run, "", "cpu", run, 1.0, (Verdict("j", "a", "pass"),)))
"""


def test_several_processes_write_at_once(path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(n)]) for n in range(3)]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0]
    with History(path) as history:
        assert len(results(history, 100)) == 60


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE results SET verdict = 1",
        "UPDATE texts SET text = 'pass' WHERE text = 'differ'",
        "UPDATE runs SET exit_code = 9",
    ],
)
def test_a_changed_row_is_refused(path: Path, change: str) -> None:
    with History(path) as history:
        history.add(summary("R1", {"a": "differ"}))
    assert verdicts(path, ["R1"]) == {"R1": {"a": "differ"}}
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(change)
    with History(path) as history, pytest.raises(StorageError, match=r"history\.sqlite: edited or damaged.* of run R1"):
        results(history, 1)
    assert verdicts(path, ["R1"]) == {}

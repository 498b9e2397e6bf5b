"""Migration: files that the statements of earlier versions wrote."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import xxhash

from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import Extent
from gpuregress.store.history import History, schema, seals
from gpuregress.store.history.schema import RUN_COLUMNS
from tests.store.history.past import night, results, verdict

VERSION_1 = """
CREATE TABLE runs (
    run TEXT PRIMARY KEY, kind TEXT NOT NULL, started TEXT NOT NULL, device TEXT NOT NULL,
    seconds REAL NOT NULL, exit_code INTEGER NOT NULL, interrupted INTEGER NOT NULL
) STRICT;
CREATE TABLE results (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, case_name TEXT NOT NULL, verdict TEXT NOT NULL,
    reason TEXT NOT NULL, revision TEXT NOT NULL, seconds REAL NOT NULL, PRIMARY KEY (run, case_name)
) STRICT, WITHOUT ROWID;
CREATE INDEX results_by_case ON results (case_name, run);
PRAGMA user_version = 1;
"""
VERSION_2 = """
CREATE TABLE runs (
    run TEXT PRIMARY KEY, kind TEXT NOT NULL, started TEXT NOT NULL, device TEXT NOT NULL,
    seconds REAL NOT NULL, exit_code INTEGER NOT NULL, interrupted INTEGER NOT NULL, seal TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE TABLE results (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, case_name TEXT NOT NULL, verdict TEXT NOT NULL,
    reason TEXT NOT NULL, revision TEXT NOT NULL, seconds REAL NOT NULL, seal TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (run, case_name)
) STRICT, WITHOUT ROWID;
CREATE INDEX results_by_case ON results (case_name, run);
PRAGMA user_version = 2;
"""
RUNS = [
    ("R1", "nightly", "2026-11-20T01:00:00Z", "cpu", 9.5, 1, 0),
    ("R2", "run", "2026-11-20T02:00:00Z", "cpu", 1.0, 4, 1),
]
RESULTS = [
    ("R1", "j/n=1", "differ", "y: 1 of 2 differ", "3f2a", 0.5),
    ("R1", "j/n=2", "pass", "", "3f2a", 0.25),
    ("R2", "j/n=1", "fault", "out of bounds", "4f2a", 0.125),
]


def old_seal(values: tuple[object, ...]) -> str:
    return xxhash.xxh3_128_hexdigest(repr(values).encode())


@pytest.fixture(params=[1, 2])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A file of an earlier version."""
    path = tmp_path / "history.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(VERSION_1 if request.param == 1 else VERSION_2)
        for run in RUNS:
            count = sum(one[0] == run[0] for one in RESULTS)
            seal = () if request.param == 1 else (old_seal((*run, count)),)
            database.execute(f"INSERT INTO runs VALUES ({', '.join('?' * (7 + len(seal)))})", (*run, *seal))
        for result in RESULTS:
            seal = () if request.param == 1 else (old_seal(result),)
            database.execute(f"INSERT INTO results VALUES ({', '.join('?' * (6 + len(seal)))})", (*result, *seal))
    return path


def test_runs_and_results_are_kept(path: Path) -> None:
    for _ in range(2):  # migrated, then opened again
        with History(path) as history:
            assert history.note == ""
            assert [(one.run, one.kind, one.started, one.exit_code, one.interrupted) for one in history.runs()] == [
                ("R2", "run", "2026-11-20T02:00:00Z", 4, True),
                ("R1", "nightly", "2026-11-20T01:00:00Z", 1, False),
            ]
            found = {(one.run, one.case): one for one in results(history, 9)}
            assert found.keys() == {(row[0], row[1]) for row in RESULTS}
            for run, case, verdict, reason, revision, seconds in RESULTS:
                one = found[run, case]
                assert (one.verdict, one.reason, one.revision, one.seconds) == (verdict, reason, revision, seconds)
                assert (one.job, one.device, one.host, one.commit, one.samples) == ("j", "cpu", "", "", ())
    assert {row[0] for row in tables(path)} == {"texts", "cases", "runs", "results"}


def tables(path: Path) -> list[tuple[str]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()


def version_3(path: Path) -> None:
    """Make a file of version 3: runs had no digest of their results."""
    with History(path) as history:
        for number in (1, 2):
            history.add(night(number, {"a": "differ", "b": "pass"}), "nightly")
    with closing(sqlite3.connect(path)) as database, database:
        for run_id, *values in database.execute(f"SELECT id, {', '.join(RUN_COLUMNS[:-1])} FROM runs").fetchall():
            database.execute("UPDATE runs SET seal = ? WHERE id = ?", (seals.seal(values), run_id))
        database.execute("ALTER TABLE runs DROP COLUMN digest")
        database.execute("PRAGMA user_version = 3")


def test_runs_of_version_3_get_a_digest(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    version_3(path)
    with History(path) as history:
        history.add(night(3, {"a": "pass"}))
        shorts = [{one.case: one.verdict for one in history.short_results(run)} for run in history.runs()]
        assert shorts == [{"a": "pass"}, {"a": "differ", "b": "pass"}, {"a": "differ", "b": "pass"}]


def test_a_run_of_version_3_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    version_3(path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE runs SET exit_code = 9 WHERE run = 'R02'")
    with History(path) as history, pytest.raises(StorageError, match="edited or damaged, in its record of run R02"):
        history.runs()


def test_results_of_version_4_have_no_extent(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with History(path) as history:
        history.add(night(1, {"a": "differ"}), "nightly")
    with closing(sqlite3.connect(path)) as database, database:
        for column in schema.ADDED:
            database.execute(f"ALTER TABLE results DROP COLUMN {column}")
        database.execute("PRAGMA user_version = 4")
    with History(path) as history:
        history.add(night(2, {"a": "differ"}, verdicts=(verdict("a", "differ", extent=Extent(1, 2, None, "tail")),)))
        assert [one.extent for one in results(history, 9)] == [Extent(1, 2, None, "tail"), None]
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE results SET differing = NULL, compared = NULL, place = NULL")
    with History(path) as history, pytest.raises(StorageError, match="edited or damaged"):
        results(history, 9)


@pytest.mark.parametrize("change", ["UPDATE results SET verdict = 'pass'", "UPDATE runs SET exit_code = 9"])
def test_a_row_that_was_changed_before_is_refused_after(path: Path, change: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        sealed = database.execute("PRAGMA user_version").fetchone()[0] == 2
        database.execute(change)
    with History(path) as history:
        if not sealed:
            results(history, 1)
            return
        with pytest.raises(StorageError, match="edited or damaged"):
            results(history, 1)


def test_a_file_that_cannot_be_written_is_migrated_in_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()
    read_only(monkeypatch)
    with History(path) as history:
        assert len(results(history, 9)) == 3
    assert path.read_bytes() == before


def read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open files as a read-only file system does: root may write any file."""
    connect = sqlite3.connect

    def connect_read_only(path: object, **options: object) -> sqlite3.Connection:
        if path == ":memory:" or options.get("uri"):
            return connect(path, **options)  # type: ignore[call-overload, no-any-return]
        return connect(f"{Path(str(path)).absolute().as_uri()}?mode=ro", **{**options, "uri": True})  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(sqlite3, "connect", connect_read_only)


OPENER = """
import pathlib, sys
from gpuregress.store.history import History
with History(pathlib.Path(sys.argv[1])) as history:
    assert [run.run for run in history.runs()] == ["R2", "R1"], history.note
"""


def test_several_processes_migrate_at_once(path: Path) -> None:
    openers = [subprocess.Popen([sys.executable, "-c", OPENER, str(path)]) for _ in range(3)]
    assert [opener.wait(timeout=60) for opener in openers] == [0, 0, 0]

"""The SQLite file; damage and locks are tested with the store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gpuregress.foundation.errors import StorageError
from gpuregress.store.history import History, database
from tests.store.history.past import night, results


def test_a_file_opened_for_reading_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with History(path) as history:
        history.add(night(1, {"a": "pass"}))
    with closing(database.open_read_only(path)) as opened, pytest.raises(sqlite3.OperationalError, match="readonly"):
        opened.execute("DELETE FROM runs")
    with closing(sqlite3.connect(path)) as changed:
        changed.execute("PRAGMA user_version = 99")
    with pytest.raises(StorageError, match="later gpuregress"):
        database.open_read_only(path)


def test_damage_in_a_large_file_is_found_when_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "CHECKED_BYTES", 0)
    path = tmp_path / "history.sqlite"
    with History(path) as history:
        history.add(night(1, {f"case{n}": "pass" for n in range(500)}))
    content = bytearray(path.read_bytes())
    content[8192:] = b"x" * (len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(StorageError, match=r"history\.sqlite: damaged .*; move it away"), History(path) as history:
        results(history, 1)


def test_a_changed_name_of_a_case_is_found_when_a_small_file_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with History(path) as history:
        history.add(night(1, {"case_b": "pass"}))
    content = path.read_bytes()
    path.write_bytes(content.replace(b"case_b", b"case_c", 1))  # in the table or in its index
    with History(path) as history:
        assert "damaged" in history.note


def test_errors_are_for_people(tmp_path: Path) -> None:
    busy = sqlite3.OperationalError("database is locked")
    busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
    assert "another process has locked" in str(database.explain(tmp_path, busy))
    assert "check the folder's permissions" in str(database.explain(tmp_path, sqlite3.OperationalError("disk I/O")))


def test_a_damaged_file_gets_the_next_free_name(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / "history.sqlite").write_text("damaged")
        assert database.move_aside(tmp_path / "history.sqlite").name == f"history.sqlite.damaged-{number}"

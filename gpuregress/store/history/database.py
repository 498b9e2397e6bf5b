"""SQLite file of the history: its tables, opening, and the check for damage."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.storage import disk_errors
from gpuregress.store.history.schema import TABLES, VERSION, execute, version_of

BUSY_S = 10.0
"""The time that a writer waits for another one; 10,000 results take half a second."""
CHECKED_BYTES = 16 << 20
"""Files up to this size are checked whole when they are opened; in others the digests of rows show damage."""


def open_file(path: Path) -> sqlite3.Connection:
    """Open the file, made if it is not there; one that cannot be written, as on a read-only file system, is read.

    Raises:
        StorageError: its tables are of another version of gpuregress, or of another program.
        sqlite3.DatabaseError: it cannot be opened, or is damaged.
    """
    database = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
    try:
        _prepare(database, path)
    except sqlite3.OperationalError as error:
        database.close()
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
            raise
        return open_read_only(path)
    except BaseException:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    tables = int(database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    version = version_of(database)  # after it: another process may be beginning
    if version == 0 and tables:
        raise StorageError(f"{path} is a database of something else; move it away")
    if version != 0:
        _check_version(path, version)
    database.execute("PRAGMA journal_mode = TRUNCATE")  # WAL would not work on a network file system
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute("PRAGMA foreign_keys = ON")
    if version == 0:
        _make_tables(database)
    is_small = path.stat().st_size <= CHECKED_BYTES
    if is_small and database.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
        raise sqlite3.DatabaseError("damaged")


def _make_tables(database: sqlite3.Connection) -> None:
    database.execute("BEGIN IMMEDIATE")  # another process may be doing the same
    with database:
        if version_of(database) == 0:
            execute(database, TABLES)
            database.execute(f"PRAGMA user_version = {VERSION}")


def open_read_only(path: Path) -> sqlite3.Connection:
    """Open an existing file for reading; one without tables, which another process begins, has no runs.

    Raises:
        StorageError: its tables are of another version of gpuregress.
        sqlite3.DatabaseError: it cannot be opened, or is damaged.
    """
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", timeout=BUSY_S, uri=True, isolation_level=None)
    try:
        version = version_of(database)
        if version != 0:
            _check_version(path, version)
            return database
    except BaseException:
        database.close()
        raise
    database.close()
    memory = sqlite3.connect(":memory:", isolation_level=None)
    _make_tables(memory)
    return memory


def _check_version(path: Path, version: int) -> None:
    if version > VERSION:
        raise StorageError(f"{path} is of a later gpuregress (version {version}); upgrade, or move it away")
    if version < VERSION:
        raise StorageError(
            f"{path} is of an earlier gpuregress (version {version}, expected {VERSION}); move it away to begin a "
            "new history (`gpuregress history import` reads the runs that are still there)"
        )


def move_aside(path: Path) -> Path:
    """Give a damaged file another name, and return that."""
    for number in range(1, 1000):
        aside = path.with_name(f"{path.name}.damaged-{number}")
        if not aside.exists():
            break
    with disk_errors(path, "move"):
        path.rename(aside)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    return aside


def explain(path: Path, error: sqlite3.Error) -> StorageError:
    """Turn an error of SQLite into one for the user."""
    if getattr(error, "sqlite_errorcode", 0) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StorageError(f"another process has locked the history in {path} for more than {BUSY_S:.0f} s")
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StorageError(f"{path}: damaged ({error}); move it away to begin a new history")
    return StorageError(f"cannot use the history in {path}: {error}; check the folder's permissions and free space")

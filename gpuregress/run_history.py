"""History of all runs in one SQLite file: the trend of every case's verdicts."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from gpuregress.errors import StorageError
from gpuregress.escapes import visible
from gpuregress.records import RunSummary
from gpuregress.storage import digest_text, disk_errors

VERSION = 2
BUSY_S = 2.0
"""The time that a writer waits for another one."""

Kind = Literal["run", "nightly"]

_TABLES = """
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
"""
_FROM_VERSION_1 = """
ALTER TABLE runs ADD COLUMN seal TEXT NOT NULL DEFAULT '';
ALTER TABLE results ADD COLUMN seal TEXT NOT NULL DEFAULT '';
"""


@dataclass(frozen=True, slots=True)
class PastResult:
    """One case in one past run.

    Attributes:
        run: the run's name.
        kind: `run` or `nightly`.
        started: ISO 8601, UTC.
        device: where.
        case: the case's name.
        verdict: its status.
        reason: one line.
        revision: the kernel source's.
        seconds: wall time.
    """

    run: str
    kind: str
    started: str
    device: str
    case: str
    verdict: str
    reason: str
    revision: str
    seconds: float


@dataclass(frozen=True, slots=True)
class PastRun:
    """One past run.

    Attributes:
        run: its name.
        kind: `run` or `nightly`.
        started: ISO 8601, UTC.
        device: where.
        seconds: wall time.
        exit_code: the run's.
        interrupted: whether ^C stopped it.
        counts: status → number of cases.
    """

    run: str
    kind: str
    started: str
    device: str
    seconds: float
    exit_code: int
    interrupted: bool
    counts: dict[str, int]


class History:
    """The history, as a context manager.

    A file that is no history, or a damaged one, is moved aside and a new one begun; `note` says so.

    Args:
        path: the SQLite file, made if it is not there.

    Raises:
        StorageError: it cannot be made or opened, or was written by a later gpuregress.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.note = ""
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._database = _open(path)
        except sqlite3.OperationalError as error:  # no permission, no space, locked: not the file's fault
            raise _explain(path, error) from error
        except sqlite3.DatabaseError:
            aside = _move_aside(path)
            self.note = f"{path} was damaged; it is kept as {aside.name}, and a new history begins"
            self._database = _open(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def add(self, summary: RunSummary, kind: Kind = "run") -> None:
        """Record a run; an earlier record of that name is replaced.

        Raises:
            StorageError: no space, or another process holds the file for too long.
        """
        with self._transaction() as database:
            database.execute("DELETE FROM runs WHERE run = ?", (summary.run,))
            figures = float(summary.seconds), summary.exit_code, int(summary.interrupted)
            row = summary.run, kind, summary.started, visible(summary.device), *figures
            count = len({visible(v.case) for v in summary.verdicts})
            database.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*row, _seal((*row, count))))
            rows = [
                (summary.run, visible(v.case), v.status, visible(v.reason), v.revision, float(v.seconds))
                for v in summary.verdicts
            ]
            database.executemany(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?)", [(*row, _seal(row)) for row in rows]
            )

    def results(self, last: int) -> tuple[PastResult, ...]:
        """The last results of each case, by case, the newest first.

        Args:
            last: the number of results of each.
        """
        rows = self._query(
            """SELECT run, kind, started, device, case_name, verdict, reason, revision, took, mark FROM (
                 SELECT *, results.seconds AS took, results.seal AS mark,
                   row_number() OVER (PARTITION BY case_name ORDER BY started DESC, runs.rowid DESC) AS recency
                 FROM results JOIN runs USING (run)
               ) WHERE recency <= ? ORDER BY case_name, recency""",
            (last,),
        )
        self._check_runs()
        for row in rows:
            self._check((row[0], *row[4:9]), row[9])
        return tuple(PastResult(*row[:9]) for row in rows)

    def runs(self, last: int = 10) -> tuple[PastRun, ...]:
        """The last runs, the newest first.

        Args:
            last: the number of runs.
        """
        rows = self._query(
            """SELECT run, kind, started, device, seconds, exit_code, interrupted FROM runs
               ORDER BY started DESC, rowid DESC LIMIT ?""",
            (last,),
        )
        self._check_runs()
        return tuple(PastRun(*(*row[:6], bool(row[6]), self._counts(row[0]))) for row in rows)

    def _check_runs(self) -> None:
        """Refuse a history in which a run was changed, or has lost a result or itself."""
        rows = self._query(
            """SELECT run, kind, started, device, seconds, exit_code, interrupted,
                 (SELECT count(*) FROM results WHERE results.run = runs.run), seal FROM runs"""
        )
        for row in rows:
            self._check(row[:8], row[8])
        for (run,) in self._query("SELECT run FROM results WHERE run NOT IN (SELECT run FROM runs) LIMIT 1"):
            self._check((run,), "of a run that is gone")

    def _check(self, row: Sequence[Any], seal: str) -> None:
        """Refuse a row that was changed since it was written."""
        if not _is_sealed(row, seal):
            raise StorageError(
                f"{self.path}: edited or damaged, in its record of run {row[0]}; move it away to begin a new history "
                "(the runs themselves are not affected)"
            )

    def _counts(self, run: str) -> dict[str, int]:
        return dict(self._query("SELECT verdict, count(*) FROM results WHERE run = ? GROUP BY verdict", (run,)))

    def forget(self, keep: int) -> None:
        """Remove all but the newest runs.

        Args:
            keep: the number of runs that stay.
        """
        with self._transaction() as database:
            newest = "SELECT run FROM runs ORDER BY started DESC, rowid DESC LIMIT ?"
            database.execute(f"DELETE FROM runs WHERE run NOT IN ({newest})", (keep,))  # noqa: S608 - a constant

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._database.execute("BEGIN IMMEDIATE")
            with self._database:
                yield self._database
        except sqlite3.Error as error:
            raise _explain(self.path, error) from error

    def _query(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._database.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise _explain(self.path, error) from error


def verdicts(path: Path, runs: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
    """The verdicts of some runs: run → case → verdict; a run that cannot be read now is left out.

    Args:
        path: the SQLite file; nothing is made where there is none.
        runs: their names.
    """
    statuses: dict[str, dict[str, str]] = {}
    if path.is_file():
        with (
            contextlib.suppress(sqlite3.Error),
            contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", timeout=BUSY_S, uri=True)) as database,
        ):
            for run in runs:
                rows = database.execute(_OF_RUN, (run,)).fetchall()
                if rows and all(_is_sealed(row[:6], row[6]) for row in rows):
                    statuses[run] = {row[1]: row[2] for row in rows}
    return statuses


_OF_RUN = "SELECT run, case_name, verdict, reason, revision, seconds, seal FROM results WHERE run = ?"


def _seal(row: Sequence[Any]) -> str:
    """A digest of a row, for SQLite has none."""
    return digest_text(repr(tuple(row)).encode())


def _is_sealed(row: Sequence[Any], seal: str) -> bool:
    """Whether a row is as it was written; rows of version 1 have no seal."""
    return seal in ("", _seal(row))


def _open(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
    try:
        _prepare(database, path)
    except BaseException:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    tables = int(database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    version = int(database.execute("PRAGMA user_version").fetchone()[0])  # after it: another process may be beginning
    if version > VERSION:
        raise StorageError(f"{path} is of a later gpuregress (version {version}); upgrade, or move it away")
    database.execute("PRAGMA journal_mode = TRUNCATE")  # WAL would not work on a network file system
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute("PRAGMA foreign_keys = ON")
    if version == 0 and tables:
        raise StorageError(f"{path} is a database of something else; move it away")
    if version < VERSION:
        _make_tables(database)
    if database.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise sqlite3.DatabaseError("damaged")


def _make_tables(database: sqlite3.Connection) -> None:
    database.execute("BEGIN IMMEDIATE")  # another process may be doing the same
    with database:
        before = database.execute("PRAGMA user_version").fetchone()[0]
        if before < VERSION:
            for statement in filter(str.strip, (_FROM_VERSION_1 if before else _TABLES).split(";")):
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {VERSION}")


def _move_aside(path: Path) -> Path:
    for number in range(1, 1000):
        aside = path.with_name(f"{path.name}.damaged-{number}")
        if not aside.exists():
            break
    with disk_errors(path, "move"):
        path.rename(aside)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    return aside


def _explain(path: Path, error: sqlite3.Error) -> StorageError:
    if getattr(error, "sqlite_errorcode", 0) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StorageError(f"another process has locked the history in {path} for more than {BUSY_S:.0f} s")
    return StorageError(f"cannot use the history in {path}: {error}; check the folder's permissions and free space")

"""Store of the history: runs are added and forgotten, and read."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import RunKind, RunSummary
from gpuregress.foundation.storage import disk_errors
from gpuregress.store.history import database as file
from gpuregress.store.history import rows, series
from gpuregress.store.history.reader import Reader
from gpuregress.store.history.schema import TEXT_COLUMNS

_MOST_RESULTS = 2_000_000
"""Results that the history remembers, about 200 MB."""

_SWEEP = 50
"""The number of runs after which texts and cases that no result has are removed."""
_TEXTS = f"SELECT DISTINCT {', '.join(TEXT_COLUMNS)} FROM results"  # noqa: S608 - constants


class History(Reader):
    """The history, as a context manager.

    A file that is no history, or a damaged one, is moved aside and a new one begun; `note` says so.

    Args:
        path: the SQLite file, made if it is not there.

    Raises:
        StorageError: it cannot be made or opened, or was written by another version of gpuregress.
    """

    def __init__(self, path: Path) -> None:
        note = ""
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            database = file.open_file(path)
        except sqlite3.OperationalError as error:  # no permission, no space, locked: not the file's fault
            raise file.explain(path, error) from error
        except sqlite3.DatabaseError:
            aside = file.move_aside(path)
            note = f"{path} was damaged; it is kept as {aside.name}, and a new history begins"
            database = file.open_file(path)
        super().__init__(path, database)
        self.note = note

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def add(self, summary: RunSummary, kind: RunKind = "run", *, is_imported: bool = False) -> None:
        """Record a run; an earlier record of that name and host is replaced.

        Args:
            summary: the run.
            kind: `run` or `nightly`.
            is_imported: whether another project folder or host ran it.

        Raises:
            StorageError: no space, or another process holds the file for too long.
        """
        results = rows.result_rows(summary)
        values = rows.run_values(summary, kind, results, is_imported=is_imported)
        with self._transaction() as database:
            database.execute("DELETE FROM runs WHERE run = ? AND host = ?", values[:2])
            _insert(database, values, results)

    def add_new(self, summary: RunSummary, kind: RunKind, *, is_imported: bool) -> bool:
        """Record a run unless the history has it.

        Args:
            summary: the run.
            kind: `run` or `nightly`.
            is_imported: whether another project folder or host ran it.

        Returns:
            Whether it was recorded.

        Raises:
            StorageError: the history has another run of that name and host; and the errors of `add`.
        """
        results = rows.result_rows(summary)
        values = rows.run_values(summary, kind, results, is_imported=is_imported)
        with self._transaction() as database:
            query = "SELECT started FROM runs WHERE run = ? AND host = ?"
            found = database.execute(query, values[:2]).fetchone()
            if found is None:
                _insert(database, values, results)
                return True
        if found[0] != summary.started:
            raise StorageError(f"{self.path} has another run {summary.run} of host {summary.host}, begun {found[0]}")
        return False

    def forget(self, keep: int, most_results: int = _MOST_RESULTS) -> None:
        """Remove all but the newest runs and the newest nights; imported ones push out none of the project's own.

        Args:
            keep: the number of runs that stay, of nights, and of imported runs and nights.
            most_results: the number of results that stay; the newest run and the newest night stay in any case.
        """
        with self._transaction() as database:
            kept: dict[tuple[str, int], int] = {}
            results = 0
            gone = []
            runs = database.execute("SELECT id, started, kind, imported, cases FROM runs").fetchall()
            moments = series.moments((run_id, started, bool(imported)) for run_id, started, _, imported, _ in runs)
            runs.sort(key=lambda run: (moments[run[0]], run[0]), reverse=True)
            for run_id, _, kind, is_imported, count in runs:
                key = kind, is_imported
                kept[key] = kept.get(key, 0) + 1
                results += count
                if kept[key] > keep or (kept[key] > 1 and results > most_results):
                    gone.append((run_id,))
            database.executemany("DELETE FROM runs WHERE id = ?", gone)
            if gone and runs[0][0] % _SWEEP == 0:  # it reads all rows
                _remove_unused(database)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._database.execute("BEGIN IMMEDIATE")
            with self._database:
                yield self._database
        except sqlite3.Error as error:
            raise file.explain(self.path, error) from error


def _remove_unused(database: sqlite3.Connection) -> None:
    """Remove the texts and cases that no result has."""
    used = {number for row in database.execute(_TEXTS) for number in row}
    unused = [row for row in database.execute("SELECT id FROM texts") if row[0] not in used]
    database.executemany("DELETE FROM texts WHERE id = ?", unused)
    database.execute("DELETE FROM cases WHERE id NOT IN (SELECT case_id FROM results)")


def _insert(database: sqlite3.Connection, values: tuple[Any, ...], results: Sequence[rows.ResultRow]) -> None:
    writer = rows.RowWriter(database)
    run, host = values[:2]
    writer.add_results(writer.add_run(values), run, host, results)


def verdicts(path: Path, runs: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
    """The verdicts of some runs of this project: run → case → verdict; a run that cannot be read now is left out.

    A case that ran on several devices has the verdict of one on which it did not pass, if there is one.

    Args:
        path: the SQLite file; nothing is made where there is none.
        runs: their names.
    """
    found: dict[str, dict[str, str]] = {}
    if not path.is_file():
        return found
    with (
        contextlib.suppress(sqlite3.Error, StorageError),
        contextlib.closing(Reader.open(path)) as reader,
    ):
        wanted = set(runs)
        for run in reader.runs(None):
            if run.run in wanted and not run.imported:
                with contextlib.suppress(StorageError):
                    results = sorted(reader.short_results(run), key=lambda one: one.verdict == "pass", reverse=True)
                    found[run.run] = {one.case: one.verdict for one in results}
    return found

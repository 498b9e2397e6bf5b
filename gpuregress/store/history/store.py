"""Store of the history: runs are added and forgotten, and read."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.escapes import visible
from gpuregress.foundation.records import PastResult, PastRun, RunKind, RunSummary, ShortResult
from gpuregress.foundation.storage import disk_errors
from gpuregress.gpu.records import replace
from gpuregress.store.history import database as file
from gpuregress.store.history import rows, series
from gpuregress.store.history.database import NUMBER_COLUMNS, RUN_COLUMNS, TEXT_COLUMNS
from gpuregress.store.history.periods import seconds_between

_RUNS = f"SELECT id, {', '.join(RUN_COLUMNS)}, seal FROM runs"  # noqa: S608 - constants
_RESULTS = (
    f"SELECT run_id, name, job, {', '.join(f'results.{one}' for one in (*TEXT_COLUMNS, *NUMBER_COLUMNS, 'seal'))} "  # noqa: S608 - constants
    "FROM results JOIN cases ON cases.id = case_id"
)
_CASE = "(SELECT id FROM cases WHERE name = ?)"
_KEYS = f"SELECT run_id, case_id, device FROM results WHERE case_id = {_CASE}"  # noqa: S608 - constants
_SHORT = (
    "SELECT name, device, verdict, revision, results.seconds FROM results JOIN cases ON cases.id = case_id "
    "WHERE run_id = ?"
)


class Reader:
    """The questions to a history.

    Args:
        path: the file, for messages.
        database: open, with tables of this version.
    """

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self.path = path
        self._database = database
        self._texts: dict[int, str] = {}
        self._known_runs: tuple[object, list[tuple[int, PastRun]]] = (None, [])
        self._moments: dict[int, str] = {}

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open an existing history for reading; nothing is made, changed or moved aside.

        Raises:
            StorageError: it is of another version of gpuregress.
            sqlite3.DatabaseError: it cannot be opened, or is damaged.
        """
        return cls(path, file.open_read_only(path))

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def trend(
        self, case: str, last: int | None = 30, device: str = "", *, is_own: bool = False, until: str = ""
    ) -> tuple[PastResult, ...]:
        """The last results of one case, the newest first.

        Args:
            case: its name.
            last: the number of results; None: all.
            device: only those on devices of this kind, `cpu` or `cuda`; `cuda:1` is of the kind `cuda`.
            is_own: without imported runs: other hosts say nothing of a series of this project.
            until: the start of the last run that counts; "" for all.
        """
        runs = dict(self._runs())
        recency = {run_id: number for number, run_id in enumerate(runs)}
        kind = series.device_kind(device)
        keys = self._query(_KEYS, (visible(case),))  # from the index alone: few of the rows may be asked for
        keys = [key for key in keys if not kind or series.device_kind(self._text(key[2])) == kind]
        if is_own or until:
            for run_id, run in runs.items():
                if run.started == until and not run.imported:
                    until = self._moments[run_id]
                    break
            keys = [key for key in keys if key[0] not in runs or self._counts(key[0], runs, is_own=is_own, until=until)]
        keys.sort(key=lambda key: recency.get(key[0], -1))
        results: list[PastResult] = []
        for key in keys[:last]:
            results += self._read(f"{_RESULTS} WHERE run_id = ? AND case_id = ? AND device = ?", key, runs)
        return tuple(results)

    def runs(self, last: int | None = 10) -> tuple[PastRun, ...]:
        """The last runs, the newest first, with the numbers of their results.

        Args:
            last: the number of runs; None: all.
        """
        return tuple(self._with_counts(run_id, run) for run_id, run in self._runs()[:last])

    def all_runs(self) -> tuple[PastRun, ...]:
        """All runs, the newest first, without the numbers of their results."""
        return tuple(run for _, run in self._runs())

    def moments(self) -> tuple[str, ...]:
        """The moment of each of `all_runs` in the order of the history: its start, unless the clock was wrong then."""
        return tuple(self._moments[run_id] for run_id, _ in self._runs())

    def case_names(self) -> tuple[str, ...]:
        """The names of all cases that runs had."""
        found = self._query("SELECT name FROM cases WHERE id IN (SELECT case_id FROM results)")
        return tuple(name for (name,) in found)

    def result(self, run: PastRun, case: str, device: str = "") -> PastResult:
        """The result of a case in a run that had it.

        Args:
            run: the run.
            case: the case's name.
            device: its kind; see `trend`.
        """
        results = self._results_where(run, f"case_id = {_CASE}", case)
        kind = series.device_kind(device)
        return next(result for result in results if not kind or series.device_kind(result.device) == kind)

    def results_of(self, run: PastRun) -> tuple[PastResult, ...]:
        """The results of one run, by case."""
        return tuple(self._results_where(run, "1"))

    def _results_where(self, run: PastRun, condition: str, *values: object) -> Iterator[PastResult]:
        """The results of a run that meet a condition in SQL."""
        for run_id, known in self._runs():
            if (known.run, known.host) == (run.run, run.host):
                query = f"{_RESULTS} WHERE run_id = ? AND {condition}"
                yield from self._read(query, (run_id, *values), {run_id: known})

    def short_results(self, run: PastRun) -> tuple[ShortResult, ...]:
        """The results of one run in short, in any order: much faster than `results_of`."""
        found, text = [], self._text
        for run_id, digest in self._query(
            "SELECT id, digest FROM runs WHERE run = ? AND host = ?", (run.run, run.host)
        ):
            for case, device, verdict, revision, seconds in self._query(_SHORT, (run_id,)):
                found.append(ShortResult(case, text(device), text(verdict), text(revision), seconds))
            self._check(run.run, is_intact=rows.digest(found) == digest)
        return tuple(found)

    def previous_night(self, before_run: str) -> PastRun | None:
        """The last nightly run before another run of this host that was not interrupted; None without one.

        Args:
            before_run: the name of a run; one that is not in the history is newer than all.
        """
        own = [(run_id, run) for run_id, run in self._runs() if not run.imported]
        names = [run.run for _, run in own]
        if before_run in names:
            own = own[names.index(before_run) + 1 :]
        for run_id, run in own:
            if run.kind == "nightly" and not run.interrupted:
                return self._with_counts(run_id, run)
        return None

    def clock_note(self, run: str) -> str:
        """A line where the clock went back between two nights of this project; "" where it did not.

        Args:
            run: the name of the later one; of a run that is no night there is nothing to say.
        """
        nights = [night for _, night in self._runs() if night.kind == "nightly" and not night.imported]
        for later, earlier in itertools.pairwise(nights):
            if later.run == run and seconds_between(later.started, earlier.started) > later.seconds:
                return (
                    f"the clock of this host went back: the night before, run {earlier.run}, is dated "
                    f"{earlier.started}; nights are compared in the order in which they were written"
                )
        return ""

    # --- rows ---------------------------------------------------------------------------------------------------------

    def _runs(self) -> list[tuple[int, PastRun]]:
        """Id and record of the runs, the newest first, without the numbers of their results."""
        ((version,),) = self._query("PRAGMA data_version")  # another process may have added a run
        state = version, self._database.total_changes
        if self._known_runs[0] != state:
            runs = []
            for run_id, *values, mark in self._query(_RUNS):
                self._check(values[0], is_intact=rows.seal(values) == mark)
                runs.append((run_id, rows.past_run(values, {})))
            self._moments = moments = series.moments((run_id, run.started, run.imported) for run_id, run in runs)
            runs.sort(key=lambda entry: (moments[entry[0]], entry[0]), reverse=True)
            self._known_runs = state, runs
        return self._known_runs[1]

    def _counts(self, run_id: int, runs: Mapping[int, PastRun], *, is_own: bool, until: str) -> bool:
        """Tell whether the results of a run are part of a trend; see `trend`."""
        return not (is_own and runs[run_id].imported) and not (until and self._moments[run_id] > until)

    def _with_counts(self, run_id: int, run: PastRun) -> PastRun:
        counts = dict(
            self._query(
                "SELECT text, count(*) FROM results JOIN texts ON texts.id = verdict WHERE run_id = ? GROUP BY verdict",
                (run_id,),
            )
        )
        ((cases,),) = self._query("SELECT cases FROM runs WHERE id = ?", (run_id,))
        self._check(run.run, is_intact=sum(counts.values()) == cases)
        return replace(run, counts=counts)

    def _read(self, query: str, values: tuple[object, ...], runs: Mapping[int, PastRun]) -> Iterator[PastResult]:
        for run_id, *others in self._query(query, values):
            if run_id not in runs:
                self._check(f"number {run_id}", is_intact=False)
            result, intact = rows.past_result(runs[run_id], others, self._text)
            self._check(result.run, is_intact=intact)
            yield result

    def _text(self, number: int) -> str:
        text = self._texts.get(number)
        if text is None:
            text = ""
            for (known,) in self._query("SELECT text FROM texts WHERE id = ?", (number,)):
                text = known
            self._texts[number] = text
        return text

    def _check(self, run: str, *, is_intact: bool) -> None:
        """Refuse a row that was changed since it was written, and a run that has lost one."""
        if not is_intact:
            raise StorageError(
                f"{self.path}: edited or damaged, in its record of run {run}; move it away to begin a new history "
                "(the runs themselves are not affected)"
            )

    def _query(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._database.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise file.explain(self.path, error) from error


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
                    found[run.run] = {result.case: result.verdict for result in results}
    return found

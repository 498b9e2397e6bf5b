"""Reader of the history: the questions that reports ask of past runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.escapes import visible
from gpuregress.foundation.records import PastResult, PastRun, ShortResult
from gpuregress.gpu.records import replace
from gpuregress.store.history import database as file
from gpuregress.store.history import rows, series
from gpuregress.store.history.periods import seconds_between
from gpuregress.store.history.schema import NUMBER_COLUMNS, RUN_COLUMNS, TEXT_COLUMNS

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
            own = (self._moments[run_id] for run_id, run in runs.items() if run.started == until and not run.imported)
            until = next(own, until)
            keys = [key for key in keys if key[0] not in runs or self._counts(key[0], runs, is_own=is_own, until=until)]
        keys.sort(key=lambda key: recency.get(key[0], -1))
        found = (
            self._read(f"{_RESULTS} WHERE run_id = ? AND case_id = ? AND device = ?", key, runs) for key in keys[:last]
        )
        return tuple(result for results in found for result in results)

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
        found = {run_id: one for run_id, one in self._runs() if (one.run, one.host) == (run.run, run.host)}
        read = (
            self._read(f"{_RESULTS} WHERE run_id = ? AND case_id = {_CASE}", (run_id, case), found) for run_id in found
        )
        kind = series.device_kind(device)
        return next(one for results in read for one in results if not kind or series.device_kind(one.device) == kind)

    def results_of(self, run: PastRun) -> tuple[PastResult, ...]:
        """The results of one run, by case."""
        found = {run_id: one for run_id, one in self._runs() if (one.run, one.host) == (run.run, run.host)}
        return tuple(
            result for run_id in found for result in self._read(f"{_RESULTS} WHERE run_id = ?", (run_id,), found)
        )

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
        runs = self._runs()
        names = [run.run for _, run in runs if not run.imported]
        if before_run in names:
            at = next(n for n, (_, run) in enumerate(runs) if run.run == before_run and not run.imported)
            runs = runs[at + 1 :]
        nights = (entry for entry in runs if entry[1].kind == "nightly" and not entry[1].imported)
        return next((self._with_counts(*entry) for entry in nights if not entry[1].interrupted), None)

    def clock_note(self, run: str) -> str:
        """A line where the clock went back between two nights of this project; "" where it did not.

        Args:
            run: the name of the later one; of a run that is no night there is nothing to say.
        """
        nights = [one for _, one in self._runs() if one.kind == "nightly" and not one.imported]
        at = next((place for place, one in enumerate(nights) if one.run == run), len(nights))
        for earlier in nights[at + 1 : at + 2]:
            if seconds_between(nights[at].started, earlier.started) > nights[at].seconds:
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
            self._moments = moments = series.moments((number, one.started, one.imported) for number, one in runs)
            runs.sort(key=lambda one: (moments[one[0]], one[0]), reverse=True)
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
            found = self._query("SELECT text FROM texts WHERE id = ?", (number,))
            text = self._texts[number] = found[0][0] if found else ""
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

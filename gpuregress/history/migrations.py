"""Migration of the history from earlier versions of its tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from gpuregress.history import rows, seals
from gpuregress.history.rows import ResultRow
from gpuregress.history.schema import TABLES, VERSION, execute, version_of

_SET_ASIDE = """
DROP INDEX results_by_case;
ALTER TABLE runs RENAME TO old_runs;
ALTER TABLE results RENAME TO old_results;
"""
_DROP = """
DROP TABLE old_results;
DROP TABLE old_runs;
"""


def bring_up_to_date(database: sqlite3.Connection) -> None:
    """Make the tables, or migrate those of an earlier version, in one transaction."""
    database.execute("BEGIN IMMEDIATE")  # another process may be doing the same
    with database:
        before = version_of(database)
        if before == VERSION:
            return
        if before:
            execute(database, _SET_ASIDE)
        execute(database, TABLES)
        if before:
            _migrate(database, before)
            execute(database, _DROP)
        database.execute(f"PRAGMA user_version = {VERSION}")


def _migrate(database: sqlite3.Connection, version: int) -> None:
    """Copy the runs of version 1 or 2; a row that was changed since stays one that is refused."""
    seal = "seal" if version > 1 else "''"
    counts = dict(database.execute("SELECT run, count(*) FROM old_results GROUP BY run"))
    old = f"SELECT run, kind, started, device, seconds, exit_code, interrupted, {seal} FROM old_runs ORDER BY rowid"  # noqa: S608 - a constant
    writer = rows.RowWriter(database)
    for *values, seal_ in database.execute(old).fetchall():
        run, kind, started, device, seconds, exit_code, interrupted = values
        count = counts.get(run, 0)
        row = (run, "", kind, started, device, "", "", 0, "", seconds, exit_code, interrupted, 0, count)
        run_id = writer.add_run(row, is_intact=seals.is_old(seal_, (*values, count)))
        writer.add_results(run_id, run, "", _old_results(database, run, device, seal))


def _old_results(database: sqlite3.Connection, run: str, device: str, seal: str) -> Iterator[ResultRow]:
    old = f"SELECT run, case_name, verdict, reason, revision, seconds, {seal} FROM old_results WHERE run = ?"  # noqa: S608 - constants
    for *values, seal_ in database.execute(old, (run,)).fetchall():
        _, case, verdict, reason, revision, seconds = values
        texts = (device, verdict, reason, revision, "", "", "")
        intact = seals.is_old(seal_, values)
        yield ResultRow(case, case.partition("/")[0], texts, (seconds, *rows.NO_NUMBERS[1:]), is_intact=intact)

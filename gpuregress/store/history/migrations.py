"""Migration of the history from earlier versions of its tables.

Versions 1 and 2 had no host, commit, branch and compiler of a run, and version 1 no seals. Version 3 had no digest of a
run's results, and version 4 no extent of a difference.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from gpuregress.foundation.records import ShortResult
from gpuregress.store.history import rows, seals
from gpuregress.store.history.rows import ResultRow
from gpuregress.store.history.schema import ADDED, RUN_COLUMNS, TABLES, VERSION, execute, version_of

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
        if before in (3, 4):
            if before == 3:
                _add_digests(database)
            _add_extents(database)
        elif before:
            execute(database, _SET_ASIDE)
            execute(database, TABLES)
            _migrate(database, before)
            execute(database, _DROP)
        else:
            execute(database, TABLES)
        database.execute(f"PRAGMA user_version = {VERSION}")


def _migrate(database: sqlite3.Connection, version: int) -> None:
    """Copy the runs of version 1 or 2; a row that was changed since stays one that is refused."""
    seal = "seal" if version > 1 else "''"
    counts = dict(database.execute("SELECT run, count(*) FROM old_results GROUP BY run"))
    old = f"SELECT run, kind, started, device, seconds, exit_code, interrupted, {seal} FROM old_runs ORDER BY rowid"  # noqa: S608 - a constant
    writer = rows.RowWriter(database)
    for *values, seal_ in database.execute(old).fetchall():
        run, kind, started, device, seconds, exit_code, interrupted = values
        results, count = list(_old_results(database, run, device, seal)), counts.get(run, 0)
        identity = (run, "", kind, started, device, "", "", 0, "", seconds, exit_code, interrupted, 0)
        row = (*identity, count, rows.digest(one.short for one in results))
        run_id = writer.add_run(row, is_intact=seals.is_old(seal_, (*values, count)))
        writer.add_results(run_id, run, "", results)


def _old_results(database: sqlite3.Connection, run: str, device: str, seal: str) -> Iterator[ResultRow]:
    old = f"SELECT run, case_name, verdict, reason, revision, seconds, {seal} FROM old_results WHERE run = ?"  # noqa: S608 - constants
    for *values, seal_ in database.execute(old, (run,)).fetchall():
        _, case, verdict, reason, revision, seconds = values
        texts = (device, verdict, reason, revision, "", "", "")
        intact = seals.is_old(seal_, values)
        yield ResultRow(case, case.partition("/")[0], texts, (seconds, *rows.NO_NUMBERS[1:]), is_intact=intact)


def _add_extents(database: sqlite3.Connection) -> None:
    """Add the columns of version 5; the seals of older rows are of the others alone."""
    present = {column for _, column, *_ in database.execute("PRAGMA table_info(results)")}
    for column, kind in ADDED.items():
        if column not in present:
            database.execute(f"ALTER TABLE results ADD COLUMN {column} {kind}")


def _add_digests(database: sqlite3.Connection) -> None:
    """Add to the runs of version 3 the digest of their results; a run that was changed since stays refused."""
    database.execute("ALTER TABLE runs ADD COLUMN digest INTEGER NOT NULL DEFAULT 0")
    columns = ", ".join(RUN_COLUMNS[:-1])
    query = (
        "SELECT name, device.text, verdict.text, revision.text, results.seconds FROM results JOIN cases ON cases.id = "
        "case_id JOIN texts device ON device.id = results.device JOIN texts verdict ON verdict.id = results.verdict "
        "JOIN texts revision ON revision.id = results.revision WHERE run_id = ?"
    )
    for run_id, *values, mark in database.execute(f"SELECT id, {columns}, seal FROM runs").fetchall():  # noqa: S608 - constants
        digest = rows.digest(ShortResult(*row) for row in database.execute(query, (run_id,)))
        sealed = seals.seal((*values, digest)) ^ (seals.seal(values) != mark)
        database.execute("UPDATE runs SET digest = ?, seal = ? WHERE id = ?", (digest, sealed, run_id))

"""Tables of the history: runs, their results, and a dictionary of the texts that results share.

A night of 10,000 cases adds as many rows, so a row holds numbers: texts that rows share are in a dictionary. The rows
of a run lie together, which makes a night one sequential write; an index finds those of a case.
"""

from __future__ import annotations

import sqlite3

VERSION = 5

RUN_COLUMNS = (
    "run",
    "host",
    "kind",
    "started",
    "device",
    "commit_hash",
    "branch",
    "dirty",
    "compiler",
    "seconds",
    "exit_code",
    "interrupted",
    "imported",
    "cases",
    "digest",
)
"""The values of a run, in the order in which its seal takes them. `digest` is that of its short results."""

TEXT_COLUMNS = ("device", "verdict", "reason", "revision", "cause", "model", "buffer")
"""Of a result: ids of its texts."""

NUMBER_COLUMNS = (
    "seconds",
    "launch_seconds",
    "samples",
    "instructions",
    "registers",
    "tolerance_share",
    "max_abs",
    "max_rel",
    "max_ulp",
    "differing",
    "compared",
    "place",
)
"""Of a result: its numbers; the samples are little-endian float32. `place` is a kind of pattern, or NULL."""

EXTENT_COLUMNS = 3
"""The number of the last of these that are the extent of a difference."""

TABLES = """
CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE cases (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, job TEXT NOT NULL) STRICT;
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, run TEXT NOT NULL, host TEXT NOT NULL, kind TEXT NOT NULL, started TEXT NOT NULL,
    device TEXT NOT NULL, commit_hash TEXT NOT NULL, branch TEXT NOT NULL, dirty INTEGER NOT NULL,
    compiler TEXT NOT NULL, seconds REAL NOT NULL, exit_code INTEGER NOT NULL, interrupted INTEGER NOT NULL,
    imported INTEGER NOT NULL, cases INTEGER NOT NULL, digest INTEGER NOT NULL, seal INTEGER NOT NULL,
    UNIQUE (run, host)
) STRICT;
CREATE TABLE results (
    run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, case_id INTEGER NOT NULL REFERENCES cases,
    device INTEGER NOT NULL, verdict INTEGER NOT NULL, reason INTEGER NOT NULL, revision INTEGER NOT NULL,
    cause INTEGER NOT NULL, model INTEGER NOT NULL, buffer INTEGER NOT NULL,
    seconds REAL NOT NULL, launch_seconds REAL, samples BLOB, instructions INTEGER, registers INTEGER,
    tolerance_share REAL, max_abs REAL, max_rel REAL, max_ulp REAL, seal INTEGER NOT NULL,
    differing INTEGER, compared INTEGER, place TEXT,
    PRIMARY KEY (run_id, case_id, device)
) STRICT, WITHOUT ROWID;
CREATE INDEX results_by_case ON results (case_id, run_id);
"""


def version_of(database: sqlite3.Connection) -> int:
    """Read the version of the tables; 0 where there are none."""
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def execute(database: sqlite3.Connection, statements: str) -> None:
    """Execute statements without values, one by one, so that the transaction stays open."""
    for statement in filter(str.strip, statements.split(";")):
        database.execute(statement)

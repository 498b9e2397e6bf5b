from __future__ import annotations

import sqlite3
from contextlib import closing

from gpuregress.store.history import schema


def test_the_tables_have_the_columns_that_rows_fill() -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        assert schema.version_of(database) == 0
        schema.execute(database, schema.TABLES)
        columns = {
            table: [row[1] for row in database.execute(f"PRAGMA table_info({table})")] for table in ("runs", "results")
        }
    assert columns["runs"] == ["id", *schema.RUN_COLUMNS, "seal"]
    texts_and_numbers = {*schema.TEXT_COLUMNS, *schema.NUMBER_COLUMNS}
    assert set(columns["results"]) == {"run_id", "case_id", *texts_and_numbers, "seal"}

"""Rows of the history: from the summary of a run, and back to records."""

from __future__ import annotations

import array
import math
import operator
import sqlite3
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gpuregress.foundation.escapes import visible
from gpuregress.foundation.records import (
    Comparison,
    ErrorFigures,
    Outcome,
    PastResult,
    PastRun,
    RunKind,
    RunSummary,
    ShortResult,
    UlpFigures,
    Verdict,
)
from gpuregress.foundation.storage import digest_text
from gpuregress.gpu.records import Record
from gpuregress.store.history.database import EXTENT_COLUMNS, NUMBER_COLUMNS, RUN_COLUMNS, TEXT_COLUMNS


def _insert(table: str, columns: Sequence[str]) -> str:
    marks = ", ".join("?" * len(columns))
    return f"INTO {table} ({', '.join(columns)}) VALUES ({marks})"


_INSERT_RUN = f"INSERT {_insert('runs', (*RUN_COLUMNS, 'seal'))}"
_RESULT_COLUMNS = ("run_id", "case_id", *TEXT_COLUMNS, *NUMBER_COLUMNS, "seal")
_INSERT_RESULT = f"INSERT OR REPLACE {_insert('results', _RESULT_COLUMNS)}"


class ResultRow(Record):
    """The values of one result.

    Attributes:
        case: its name.
        job: its job's.
        texts: in the order of `schema.TEXT_COLUMNS`.
        numbers: in the order of `schema.NUMBER_COLUMNS`.
    """

    case: str
    job: str
    texts: tuple[str, ...]
    numbers: tuple[Any, ...]

    @property
    def short(self) -> ShortResult:
        """The values that a run's digest is of."""
        device, verdict, _, revision = self.texts[:4]
        return ShortResult(self.case, device, verdict, revision, self.numbers[0])


def seal(values: Sequence[Any]) -> int:
    """Compute the digest of a row, which shows a change: half of the xxh3-128 of its values, as SQLite's integer."""
    half = bytes.fromhex(digest_text(repr(tuple(values)).encode())[:16])
    return int.from_bytes(half, "big", signed=True)


def digest(results: Iterable[ShortResult]) -> int:
    """Compute the digest of a run's short results, in any order."""
    return seal(sorted(map(tuple, results)))


class RowWriter:
    """Writer of rows; remembers the ids of texts and cases.

    Args:
        database: in a transaction.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._texts: dict[str, int] = {}
        self._cases: dict[str, int] = {}

    def add_run(self, values: Sequence[Any]) -> int:
        """Add a run, its values in the order of `RUN_COLUMNS`, and return its id."""
        cursor = self._database.execute(_INSERT_RUN, (*values, seal(values)))
        return int(cursor.lastrowid or 0)

    def add_results(self, run_id: int, run: str, host: str, rows: Iterable[ResultRow]) -> None:
        """Add the results of a run, in the order of their key: their pages are written once."""
        values = [self._result(run_id, run, host, row) for row in rows]
        self._database.executemany(_INSERT_RESULT, sorted(values, key=operator.itemgetter(0, 1, 2)))

    def _result(self, run_id: int, run: str, host: str, row: ResultRow) -> tuple[Any, ...]:
        sealed = _sealed(run, host, row.case, row.job, row.texts, row.numbers)
        ids = (self._text(text) for text in row.texts)
        return (run_id, self._case(row), *ids, *row.numbers, seal(sealed))

    def _text(self, text: str) -> int:
        if text not in self._texts:
            self._texts[text] = self._id("texts", ("text",), (text,))
        return self._texts[text]

    def _case(self, row: ResultRow) -> int:
        if row.case not in self._cases:
            self._cases[row.case] = self._id("cases", ("name", "job"), (row.case, row.job))
        return self._cases[row.case]

    def _id(self, table: str, columns: Sequence[str], values: tuple[str, ...]) -> int:
        """The id of the row whose first column has the first value; it is added where there is none."""
        query = f"SELECT id FROM {table} WHERE {columns[0]} = ?"  # noqa: S608 - constants
        row = self._database.execute(query, values[:1]).fetchone()
        if row is not None:
            return int(row[0])
        cursor = self._database.execute(f"INSERT {_insert(table, columns)}", values)
        return int(cursor.lastrowid or 0)


def _sealed(run: str, host: str, case: str, job: str, texts: Sequence[str], numbers: Sequence[Any]) -> tuple[Any, ...]:
    """The values that the seal of a result is of; the extent of a difference only where there is one."""
    if all(number is None for number in numbers[-EXTENT_COLUMNS:]):
        numbers = numbers[:-EXTENT_COLUMNS]
    return (run, host, case, job, *texts, *numbers)


# --- from a summary ---------------------------------------------------------------------------------------------------


def run_values(
    summary: RunSummary, kind: RunKind, results: Sequence[ResultRow], *, is_imported: bool
) -> tuple[Any, ...]:
    """Return the values of a run, in the order of `schema.RUN_COLUMNS`.

    Args:
        summary: the run.
        kind: `run` or `nightly`.
        results: its results.
        is_imported: whether another project folder or host ran it.
    """
    return (
        summary.run,
        visible(summary.host),
        kind,
        summary.started,
        visible(summary.device),
        summary.commit,
        visible(summary.branch),
        int(summary.dirty),
        visible(summary.compiler),
        float(summary.seconds),
        summary.exit_code,
        int(summary.interrupted),
        int(is_imported),
        len(results),
        digest(row.short for row in results),
    )


def result_rows(summary: RunSummary) -> list[ResultRow]:
    """Return the results of a run; of two of one case on one device, the last."""
    rows = (_result_row(verdict, summary.device) for verdict in summary.verdicts)
    return list({(row.case, row.texts[0]): row for row in rows}.values())


def _result_row(verdict: Verdict, device: str) -> ResultRow:
    model, buffer = "", ""
    launch_seconds, samples, instructions, registers = None, None, None, None
    max_abs, max_rel, max_ulp = None, None, None
    extent: tuple[Any, ...] = (None, None, None)
    outcome, worst = verdict.outcome, _worst(verdict)
    if outcome is not None:
        launch_seconds, samples = _launch_seconds(outcome), _samples(outcome)
        if outcome.observations.instruments.instructions:
            instructions = sum(outcome.observations.instruments.instructions.values())
        registers = max((used.get("registers", 0) for used in outcome.resources.values()), default=0) or None
        if outcome.device is not None:
            device, model = outcome.device.name, outcome.device.model
    if worst is not None:
        buffer = worst.buffer
        if isinstance(worst.figures, ErrorFigures):
            max_abs, max_rel = worst.figures.max_abs, worst.figures.max_rel
        if isinstance(worst.figures, UlpFigures):
            max_ulp = worst.figures.max_ulp
    if verdict.extent is not None:
        extent = (verdict.extent.differing, verdict.extent.of, verdict.extent.place)
    texts = (device, verdict.status, verdict.reason, verdict.revision, verdict.cause, model, buffer)
    numbers = (
        float(verdict.seconds),
        _number(launch_seconds),
        samples,
        instructions,
        registers,
        _number(verdict.tolerance_share),
        _number(max_abs),
        _number(max_rel),
        _number(max_ulp),
        *extent,
    )
    return ResultRow(visible(verdict.case), visible(verdict.job), tuple(map(visible, texts)), numbers)


def _worst(verdict: Verdict) -> Comparison | None:
    """The first comparison that failed; else the first with errors."""
    for comparison in verdict.failing:
        return comparison
    for buffer in verdict.buffers:
        for comparison in buffer.comparisons:
            if isinstance(comparison.figures, ErrorFigures) and not comparison.identical:
                return comparison
    return None


def _number(value: float | None) -> float | None:
    """SQLite has no NaN."""
    if value is None or math.isnan(value):
        return None
    return float(value)


def _launch_seconds(outcome: Outcome) -> float | None:
    """The median sample, else the time of all launches of one run of the case."""
    if outcome.observations.timing is not None:
        return outcome.observations.timing.median_ms / 1000
    if outcome.state != "done" or not outcome.launches:
        return None
    repeats = len(outcome.observations.along("repeat"))
    return sum(launch.elapsed_ms for launch in outcome.launches) / 1000 / (1 + repeats)


def _samples(outcome: Outcome) -> bytes | None:
    """The samples in seconds, as little-endian float32."""
    timing = outcome.observations.timing
    if timing is None or not timing.samples_ms:
        return None
    numbers = array.array("f", [sample / 1000 for sample in timing.samples_ms])
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _unpacked(samples: bytes | None) -> tuple[float, ...]:
    numbers = array.array("f", samples or b"")
    if sys.byteorder == "big":
        numbers.byteswap()
    return tuple(numbers)


# --- to records -------------------------------------------------------------------------------------------------------


def past_run(values: Sequence[Any], counts: dict[str, int]) -> PastRun:
    """Return the record of a run.

    Args:
        values: in the order of `schema.RUN_COLUMNS`.
        counts: status → number of results.
    """
    row = dict(zip(RUN_COLUMNS, values, strict=True))
    flags: dict[str, Any] = {name: bool(row.pop(name)) for name in ("interrupted", "dirty", "imported")}
    commit = row.pop("commit_hash")
    del row["cases"], row["digest"]
    return PastRun(**row, **flags, commit=commit, counts=counts)


def past_result(run: PastRun, values: Sequence[Any], text: Callable[[int], str]) -> tuple[PastResult, bool]:
    """Return the record of a result, and whether it is as it was written.

    Args:
        run: the result's.
        values: case, job, then `schema.TEXT_COLUMNS`, `schema.NUMBER_COLUMNS` and the seal.
        text: id → text.
    """
    case, job, *others = values
    texts = list(map(text, others[: len(TEXT_COLUMNS)]))
    numbers = others[len(TEXT_COLUMNS) : -1]
    intact = seal(_sealed(run.run, run.host, case, job, texts, numbers)) == others[-1]
    row = dict(zip((*TEXT_COLUMNS, *NUMBER_COLUMNS), (*texts, *numbers), strict=True))
    row["samples"] = _unpacked(row["samples"])
    row["place"] = row["place"] or ""
    for name in ("run", "kind", "started", "host", "commit", "branch", "dirty", "compiler", "imported"):
        row[name] = getattr(run, name)
    return PastResult(case=case, job=job, **row), intact

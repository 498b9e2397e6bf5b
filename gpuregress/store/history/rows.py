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
    Verdict,
)
from gpuregress.foundation.storage import digest_text
from gpuregress.gpu.records import Record
from gpuregress.store.history.database import EXTENT_COLUMNS, NUMBER_COLUMNS, RUN_COLUMNS, TEXT_COLUMNS

_INSERT_RUN = (
    f"INSERT INTO runs ({', '.join((*RUN_COLUMNS, 'seal'))}) "  # noqa: S608 - constants
    f"VALUES ({', '.join('?' for _ in (*RUN_COLUMNS, 'seal'))})"
)
_INSERT_RESULT = (
    "INSERT OR REPLACE INTO results "  # noqa: S608 - constants
    f"(run_id, case_id, {', '.join((*TEXT_COLUMNS, *NUMBER_COLUMNS))}, seal) "
    f"VALUES ({', '.join('?' for _ in ('run', 'case', *TEXT_COLUMNS, *NUMBER_COLUMNS, 'seal'))})"
)


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
    half = int(digest_text(repr(tuple(values)).encode())[:16], 16)
    return half - (1 << 64) if half >> 63 else half


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
            self._texts[text] = self._id("texts", "text", (text,))
        return self._texts[text]

    def _case(self, row: ResultRow) -> int:
        if row.case not in self._cases:
            self._cases[row.case] = self._id("cases", "name, job", (row.case, row.job))
        return self._cases[row.case]

    def _id(self, table: str, columns: str, values: tuple[str, ...]) -> int:
        found = self._database.execute(
            f"SELECT id FROM {table} WHERE {columns.partition(',')[0]} = ?",  # noqa: S608 - constants
            values[:1],
        ).fetchone()
        if found is not None:
            return int(found[0])
        marks = ", ".join("?" for _ in values)
        cursor = self._database.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", values)  # noqa: S608 - constants
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
    outcome = verdict.outcome
    facts = outcome.device if outcome is not None else None
    worst = _worst(verdict)
    figures = worst.figures if worst is not None else None
    errors = figures if isinstance(figures, ErrorFigures) else None
    extent = verdict.extent
    texts = (
        facts.name if facts is not None else device,
        verdict.status,
        verdict.reason,
        verdict.revision,
        verdict.cause,
        facts.model if facts is not None else "",
        worst.buffer if worst is not None else "",
    )
    numbers = (
        float(verdict.seconds),
        _number(_launch_seconds(outcome)),
        _packed(_samples(outcome)),
        _instructions(outcome),
        _registers(outcome),
        _number(verdict.tolerance_share),
        _number(errors.max_abs if errors is not None else None),
        _number(errors.max_rel if errors is not None else None),
        _number(getattr(errors, "max_ulp", None)),
        *((extent.differing, extent.of, extent.place) if extent is not None else (None, None, None)),
    )
    return ResultRow(visible(verdict.case), visible(verdict.job), tuple(map(visible, texts)), numbers)


def _worst(verdict: Verdict) -> Comparison | None:
    """The first comparison that failed; else the first with errors."""
    comparisons = [one for buffer in verdict.buffers for one in buffer.comparisons]
    failed = [one for one in comparisons if not one.same]
    measured = [one for one in comparisons if isinstance(one.figures, ErrorFigures) and not one.identical]
    return next(iter((*failed, *measured)), None)


def _number(value: float | None) -> float | None:
    """SQLite has no NaN."""
    return None if value is None or math.isnan(value) else float(value)


def _launch_seconds(outcome: Outcome | None) -> float | None:
    """The median sample, else the time of all launches of one run of the case."""
    if outcome is None:
        return None
    if outcome.observations.timing is not None:
        return outcome.observations.timing.median_ms / 1000
    if outcome.state != "done" or not outcome.launches:
        return None
    repeats = len(outcome.observations.along("repeat"))
    return sum(one.elapsed_ms for one in outcome.launches) / 1000 / (1 + repeats)


def _samples(outcome: Outcome | None) -> tuple[float, ...]:
    timing = outcome.observations.timing if outcome is not None else None
    return tuple(one / 1000 for one in timing.samples_ms) if timing is not None else ()


def _instructions(outcome: Outcome | None) -> int | None:
    counts = outcome.observations.instruments.instructions if outcome is not None else {}
    return sum(counts.values()) if counts else None


def _registers(outcome: Outcome | None) -> int | None:
    resources = outcome.resources.values() if outcome is not None else ()
    return max((one["registers"] for one in resources if one.get("registers")), default=None)  # 0: none were counted


def _packed(samples: Sequence[float]) -> bytes | None:
    if not samples:
        return None
    numbers = array.array("f", samples)
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
    run, host, kind, started, device, commit, branch, dirty, compiler, seconds, code, *states = values
    interrupted, imported = states[:2]
    identity = {"host": host, "commit": commit, "branch": branch, "dirty": bool(dirty), "compiler": compiler}
    return PastRun(
        run, kind, started, device, seconds, code, bool(interrupted), counts, imported=bool(imported), **identity
    )


def past_result(run: PastRun, values: Sequence[Any], text: Callable[[int], str]) -> tuple[PastResult, bool]:
    """Return the record of a result, and whether it is as it was written.

    Args:
        run: the result's.
        values: case, job, then `schema.TEXT_COLUMNS`, `schema.NUMBER_COLUMNS` and the seal.
        text: id → text.
    """
    case, job, *others = values
    device, verdict, reason, revision, cause, model, buffer = texts = [text(one) for one in others[: len(TEXT_COLUMNS)]]
    numbers = others[len(TEXT_COLUMNS) : -1]
    seconds, launch_seconds, samples, instructions, registers, share, max_abs, max_rel, max_ulp, *extent = numbers
    intact = seal(_sealed(run.run, run.host, case, job, texts, numbers)) == others[-1]
    differing, compared, place = extent
    return PastResult(
        run=run.run,
        kind=run.kind,
        started=run.started,
        device=device,
        case=case,
        verdict=verdict,
        reason=reason,
        revision=revision,
        seconds=seconds,
        job=job,
        host=run.host,
        commit=run.commit,
        branch=run.branch,
        dirty=run.dirty,
        compiler=run.compiler,
        model=model,
        cause=cause,
        launch_seconds=launch_seconds,
        samples=_unpacked(samples),
        instructions=instructions,
        registers=registers,
        tolerance_share=share,
        max_abs=max_abs,
        max_rel=max_rel,
        max_ulp=max_ulp,
        buffer=buffer,
        differing=differing,
        compared=compared,
        place=place or "",
        imported=run.imported,
    ), intact

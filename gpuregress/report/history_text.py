"""History as text: tables for a terminal, CSV and JSON rows."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.records import STATUSES, PastResult, PastRun, ShortResult
from gpuregress.report.case_lines import percentage
from gpuregress.report.layout import table

LETTERS = {"pass": ".", "differ": "d", "new": "n", "fault": "F", "timeout": "T", "error": "E", "skip": "s"}
LEGEND = "oldest first; . pass, d differ, n new, F fault, T timeout, E error, s skipped, blank: not run"
CSV_COLUMNS = (
    "run",
    "kind",
    "started",
    "host",
    "commit",
    "branch",
    "dirty",
    "compiler",
    "job",
    "case",
    "device",
    "model",
    "verdict",
    "cause",
    "reason",
    "revision",
    "seconds",
    "launch_seconds",
    "samples",
    "instructions",
    "registers",
    "tolerance_share",
    "max_abs",
    "max_rel",
    "max_ulp",
    "buffer",
    "differing",
    "compared",
    "place",
)
"""Columns of a CSV file: new ones come at the end."""
_FEWEST_LETTERS = 10
_DROPPED = ("revision", "tolerance", "device", "seconds", "host", "exit")
"""Columns that a narrow terminal does without, the first one first."""


# --- JSON and CSV -----------------------------------------------------------------------------------------------------


def run_row(run: PastRun) -> dict[str, Any]:
    """A run for JSON."""
    return {
        "run": run.run,
        "kind": run.kind,
        "device": run.device,
        "seconds": round(run.seconds, 2),
        "exit": run.exit_code,
        "cases": counts(run),
        "started": run.started,
        "interrupted": run.interrupted,
        "host": run.host,
        "commit": run.commit,
        "branch": run.branch,
        "dirty": run.dirty,
        "compiler": run.compiler,
        "imported": run.imported,
    }


def result_row(result: PastResult) -> dict[str, Any]:
    """A result for JSON: all that the history has of it."""
    row = asdict(result)
    row["seconds"] = round(result.seconds, 4)
    row["samples"] = list(map(_rounded, result.samples))
    return row


def csv_line(values: Iterable[object]) -> str:
    """A line of CSV (RFC 4180), without its end."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(values)
    return line.getvalue()


def csv_values(result: PastResult) -> Iterator[str]:
    """The values of a result, in the order of `CSV_COLUMNS`; the samples are separated by semicolons."""
    for name in CSV_COLUMNS:
        value = getattr(result, name)
        if value is None:
            yield ""
        elif isinstance(value, tuple):
            yield ";".join(str(_rounded(sample)) for sample in value)
        elif isinstance(value, bool):
            yield str(value).lower()
        elif isinstance(value, str):
            yield one_line(value)
        else:
            yield str(value)


def _rounded(sample: float) -> float:
    """A float32 with the digits that it has."""
    return float(f"{sample:.7g}")


# --- tables -----------------------------------------------------------------------------------------------------------


def counts(run: PastRun) -> str:
    """`2 pass, 1 differ`."""
    return ", ".join(f"{run.counts[status]} {status}" for status in STATUSES if status in run.counts)


def run_table(runs: Sequence[PastRun], width: int | None) -> Iterator[str]:
    """A table of runs, the oldest first; host and commit where they tell runs apart.

    Args:
        runs: the oldest first.
        width: of the terminal, to which the table is fitted; None: lines of any length.
    """
    columns = _columns(runs, "run", "kind", "device")
    columns["seconds"] = [str(round(run.seconds, 2)) for run in runs]
    columns["exit"] = [str(run.exit_code) for run in runs]
    if len({run.host for run in runs}) > 1:
        columns |= _columns(runs, "host")
    if any(run.commit for run in runs):
        columns["commit"] = [run.short_commit for run in runs]
    columns["cases"] = list(map(counts, runs))
    return _fitted(columns, width)


def trend_table(
    trends: Sequence[tuple[str, str, str, Mapping[int, ShortResult]]], runs: int, width: int | None
) -> Iterator[str]:
    """A table of cases: letters, oldest first, then the last and the median time, and the last revision.

    Args:
        trends: case, kind of device, host if imported, and the result at each position that has one; 0 is the newest.
        runs: the number of positions.
        width: of the terminal; what does not fit is left out: revision, median, device, then the oldest letters.
    """
    columns: dict[str, list[str]] = {
        name: [] for name in ("case", "device", "host", "verdicts", "seconds", "median", "revision")
    }
    for case, device, host, results in trends:
        newest = results[min(results)]
        letters = "".join(_letter(results.get(position)) for position in reversed(range(runs)))
        median = statistics.median(result.seconds for result in results.values())
        cells = (case, device, host, letters, f"{newest.seconds:.3f}", f"{median:.3f}", newest.revision)
        for values, cell in zip(columns.values(), cells, strict=True):
            values.append(cell)
    _remove_uniform(columns, "device", "host")
    excess = _width(columns) + len("[]") - width if width is not None else 0
    for name in ("revision", "median", "device"):
        if excess > 0 and name in columns:
            excess -= _width({name: columns.pop(name)}) + 2
    first, mark = 0, ""
    if excess > 0:
        first = max(0, runs - max(_FEWEST_LETTERS, runs - excess - 1))
    if first > 0:
        mark = "…"
    columns["verdicts"] = [f"[{mark}{letters[first:]}]" for letters in columns["verdicts"]]
    return _fitted(columns, None)


def _letter(result: ShortResult | None) -> str:
    if result is None:
        return " "
    return LETTERS.get(result.verdict, "?")


def result_table(results: Sequence[PastResult], width: int | None) -> Iterator[str]:
    """A table of one case's results; device and host where they differ, the revision where no commit is known.

    Args:
        results: the oldest first.
        width: of the terminal, to which the table is fitted.
    """
    columns = _columns(results, "run", "device", "host", "verdict")
    _remove_uniform(columns, "device", "host")
    columns["seconds"] = [f"{result.seconds:.3f}" for result in results]
    shares = [result.tolerance_share for result in results]
    if any(share is not None for share in shares):
        columns["tolerance"] = ["" if share is None else percentage(share) for share in shares]
    if any(result.commit for result in results):
        columns["commit"] = [result.short_commit for result in results]
    if not all(result.commit for result in results):
        columns |= _columns(results, "revision")
    return _fitted(columns | _columns(results, "reason"), width)


def failing_table(failing: Sequence[tuple[PastResult, PastRun, int]], width: int | None) -> Iterator[str]:
    """A table of failing cases: since which run, in how many runs, why.

    Args:
        failing: the newest result, the run in which the failures began, their number.
        width: of the terminal, to which the table is fitted.
    """
    results, first_runs, numbers = zip(*failing, strict=True)
    columns = _columns(results, "case", "device", "host", "verdict")
    _remove_uniform(columns, "device", "host")
    columns["since"] = [run.started[:10] for run in first_runs]
    if any(run.commit for run in first_runs):
        columns["commit"] = [run.short_commit for run in first_runs]
    columns["runs"] = list(map(str, numbers))
    return _fitted(columns | _columns(results, "reason"), width)


def _columns(records: Sequence[object], *names: str) -> dict[str, list[str]]:
    """A column for each of some attributes."""
    return {name: [str(getattr(record, name)) for record in records] for name in names}


def _remove_uniform(columns: dict[str, list[str]], *names: str) -> None:
    """Remove those of some columns that have the same text in all rows."""
    for name in names:
        if len(set(columns[name])) == 1:
            del columns[name]


def _width(columns: Mapping[str, Sequence[str]]) -> int:
    width = 2 * (len(columns) - 1)
    for name, values in columns.items():
        width += max(map(len, (name, *values)))
    return width


def _fitted(columns: Mapping[str, Sequence[str]], width: int | None) -> Iterator[str]:
    """The lines of a table, fitted to the terminal."""
    return table(tuple(columns), zip(*columns.values(), strict=True), width, _DROPPED)

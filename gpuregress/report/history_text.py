"""History as text: tables for a terminal, CSV and JSON rows."""

from __future__ import annotations

import csv
import io
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
_SHORT_HASH = 7
_FEWEST_LETTERS = 10


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
        width: of the terminal; None: lines of any length.
    """
    rows = [
        {
            "run": run.run,
            "kind": run.kind,
            "device": run.device,
            "seconds": str(round(run.seconds, 2)),
            "exit": str(run.exit_code),
            "host": run.host,
            "commit": commit(run.commit, dirty=run.dirty),
            "cases": counts(run),
        }
        for run in runs
    ]
    columns = _columns(rows, optional=("host",))
    if not any(run.commit for run in runs):
        del columns["commit"]
    return _cut(columns, width)


def trend_table(
    trends: Sequence[tuple[str, str, str, Mapping[int, ShortResult]]], runs: int, width: int | None
) -> Iterator[str]:
    """A table of cases: letters, oldest first, then the last and the median time, and the last revision.

    Args:
        trends: case, kind of device, host if imported, and the result at each position that has one; 0 is the newest.
        runs: the number of positions.
        width: of the terminal; what does not fit is left out: revision, median, device, then the oldest letters.
    """
    import statistics  # noqa: PLC0415 - only this table needs it

    rows = []
    for case, device, host, results in trends:
        newest = results[min(results)]
        median = statistics.median(result.seconds for result in results.values())
        rows.append(
            {
                "case": case,
                "device": device,
                "host": host,
                "verdicts": "".join(_letter(results.get(position)) for position in reversed(range(runs))),
                "seconds": f"{newest.seconds:.3f}",
                "median": f"{median:.3f}",
                "revision": newest.revision,
            }
        )
    columns = _columns(rows, optional=("device", "host"))
    excess = 0
    if width is not None:
        excess = _width(columns) + len("[]") - width
    for name in ("revision", "median", "device"):
        if excess > 0 and name in columns:
            excess -= _width({name: columns.pop(name)}) + 2
    first, mark = 0, ""
    if excess > 0:
        first = runs - max(_FEWEST_LETTERS, runs - excess - 1)
    if first > 0:
        mark = "…"
    columns["verdicts"] = [f"[{mark}{letters[first:]}]" for letters in columns["verdicts"]]
    return _cut(columns, None)


def _letter(result: ShortResult | None) -> str:
    if result is None:
        return " "
    return LETTERS.get(result.verdict, "?")


def result_table(results: Sequence[PastResult], width: int | None) -> Iterator[str]:
    """A table of one case's results; device and host where they differ, the revision where no commit is known.

    Args:
        results: the oldest first.
        width: of the terminal; reasons are cut there.
    """
    rows = []
    for result in results:
        tolerance = ""
        if result.tolerance_share is not None:
            tolerance = percentage(result.tolerance_share)
        rows.append(
            {
                "run": result.run,
                "device": result.device,
                "host": result.host,
                "verdict": result.verdict,
                "seconds": f"{result.seconds:.3f}",
                "tolerance": tolerance,
                "commit": commit(result.commit, dirty=result.dirty),
                "revision": result.revision,
                "reason": result.reason,
            }
        )
    columns = _columns(rows, optional=("device", "host"))
    if not any(columns["tolerance"]):
        del columns["tolerance"]
    if not any(result.commit for result in results):
        del columns["commit"]
    elif all(result.commit for result in results):
        del columns["revision"]
    return _cut(columns, width)


def failing_table(failing: Sequence[tuple[PastResult, PastRun, int]], width: int | None) -> Iterator[str]:
    """A table of failing cases: since which run, in how many runs, why.

    Args:
        failing: the newest result, the run in which the failures began, their number.
        width: of the terminal; reasons are cut there.
    """
    rows = []
    for newest, first, count in failing:
        rows.append(
            {
                "case": newest.case,
                "device": newest.device,
                "host": newest.host,
                "verdict": newest.verdict,
                "since": first.started[:10],
                "commit": commit(first.commit, dirty=first.dirty),
                "runs": str(count),
                "reason": newest.reason,
            }
        )
    columns = _columns(rows, optional=("device", "host"))
    if not any(columns["commit"]):
        del columns["commit"]
    return _cut(columns, width)


def commit(hash_: str, *, dirty: bool) -> str:
    """A short commit hash, with a `+` where the work tree had changes."""
    return hash_[:_SHORT_HASH] + ("+" if dirty else "")


def _columns(rows: Sequence[Mapping[str, str]], optional: Sequence[str]) -> dict[str, list[str]]:
    """The columns of a table, without the optional ones that have the same text in all rows."""
    columns = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        if name not in optional or len(set(values)) > 1:
            columns[name] = values
    return columns


def _width(columns: Mapping[str, Sequence[str]]) -> int:
    width = 2 * (len(columns) - 1)
    for name, values in columns.items():
        width += max(map(len, (name, *values)))
    return width


def _cut(columns: Mapping[str, Sequence[str]], width: int | None) -> Iterator[str]:
    """The lines of a table; those longer than the terminal are cut at their end."""
    rows = zip(*columns.values(), strict=True)
    for line in table(tuple(columns), rows):
        if width is None or len(line) <= width:
            yield line
        else:
            yield f"{line[: width - 1].rstrip()}…"

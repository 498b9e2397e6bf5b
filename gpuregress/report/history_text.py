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
from gpuregress.report.terminal import table

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
    plain = asdict(result)
    return plain | {"seconds": round(result.seconds, 4), "samples": [_rounded(one) for one in result.samples]}


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
            yield ";".join(str(_rounded(one)) for one in value)
        elif isinstance(value, bool):
            yield str(value).lower()
        else:
            yield one_line(value) if isinstance(value, str) else str(value)


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
    columns = {
        "run": [run.run for run in runs],
        "kind": [run.kind for run in runs],
        "device": [run.device for run in runs],
        "seconds": [str(round(run.seconds, 2)) for run in runs],
        "exit": [str(run.exit_code) for run in runs],
    }
    if len({run.host for run in runs}) > 1:
        columns["host"] = [run.host for run in runs]
    if any(run.commit for run in runs):
        columns["commit"] = [commit(run.commit, dirty=run.dirty) for run in runs]
    return _cut(columns | {"cases": [counts(run) for run in runs]}, width)


def trend_table(
    trends: Sequence[tuple[str, str, str, Mapping[int, ShortResult]]], runs: int, width: int | None
) -> Iterator[str]:
    """A table of cases: letters, oldest first, then the last and the median time, and the last revision.

    Args:
        trends: case, kind of device, host if imported, and the result at each position that has one; 0 is the newest.
        runs: the number of positions.
        width: of the terminal; what does not fit is left out: revision, median, device, then the oldest letters.
    """
    columns = {
        "case": [case for case, _, _, _ in trends],
        "device": [device for _, device, _, _ in trends],
        "host": [host for _, _, host, _ in trends],
        "verdicts": ["".join(_letter(of.get(at)) for at in reversed(range(runs))) for *_, of in trends],
        "seconds": [f"{of[min(of)].seconds:.3f}" for *_, of in trends],
        "median": [f"{statistics.median(one.seconds for one in of.values()):.3f}" for *_, of in trends],
        "revision": [of[min(of)].revision for *_, of in trends],
    }
    for name in ("device", "host"):
        if len(set(columns[name])) == 1:
            del columns[name]
    over = (_width(columns) + 2 - width) if width is not None else 0
    for name in ("revision", "median", "device"):
        if over > 0 and name in columns:
            over -= _width({name: columns.pop(name)}) + 2
    shown = max(_FEWEST_LETTERS, runs - over - 1) if over > 0 else runs
    before = "…" if shown < runs else ""
    columns["verdicts"] = [f"[{before}{letters[runs - shown :]}]" for letters in columns["verdicts"]]
    return _cut(columns, None)


def _letter(result: ShortResult | None) -> str:
    return LETTERS.get(result.verdict, "?") if result is not None else " "


def result_table(results: Sequence[PastResult], width: int | None) -> Iterator[str]:
    """A table of one case's results; device and host where they differ, the revision where no commit is known.

    Args:
        results: the oldest first.
        width: of the terminal; reasons are cut there.
    """
    columns = {"run": [one.run for one in results]}
    for name in ("device", "host"):
        values = [str(getattr(one, name)) for one in results]
        columns |= {name: values} if len(set(values)) > 1 else {}
    columns["verdict"] = [one.verdict for one in results]
    columns["seconds"] = [f"{one.seconds:.3f}" for one in results]
    if any(one.tolerance_share is not None for one in results):
        shares = [one.tolerance_share for one in results]
        columns["tolerance"] = ["" if share is None else percentage(share) for share in shares]
    if any(one.commit for one in results):
        columns["commit"] = [commit(one.commit, dirty=one.dirty) for one in results]
    if not all(one.commit for one in results):
        columns["revision"] = [one.revision for one in results]
    return _cut(columns | {"reason": [one.reason for one in results]}, width)


def failing_table(failing: Sequence[tuple[PastResult, PastRun, int]], width: int | None) -> Iterator[str]:
    """A table of failing cases: since which run, in how many runs, why.

    Args:
        failing: the newest result, the run in which the failures began, their number.
        width: of the terminal; reasons are cut there.
    """
    columns = {
        "case": [newest.case for newest, _, _ in failing],
        "device": [newest.device for newest, _, _ in failing],
        "host": [newest.host for newest, _, _ in failing],
        "verdict": [newest.verdict for newest, _, _ in failing],
        "since": [since.started[:10] for _, since, _ in failing],
        "commit": [commit(since.commit, dirty=since.dirty) for _, since, _ in failing],
        "runs": [str(count) for _, _, count in failing],
    }
    for name in ("device", "host", "commit"):
        if len(set(columns[name])) == 1 and (name != "commit" or not columns[name][0]):
            del columns[name]
    return _cut(columns | {"reason": [newest.reason for newest, _, _ in failing]}, width)


def commit(hash_: str, *, dirty: bool) -> str:
    """A short commit hash, with a `+` where the work tree had changes."""
    return hash_[:_SHORT_HASH] + ("+" if dirty else "")


def _width(columns: Mapping[str, Sequence[str]]) -> int:
    return sum(max(map(len, (name, *values))) for name, values in columns.items()) + 2 * (len(columns) - 1)


def _cut(columns: Mapping[str, Sequence[str]], width: int | None) -> Iterator[str]:
    """The lines of a table; those longer than the terminal are cut at their end."""
    rows = zip(*columns.values(), strict=True)
    for line in table(tuple(columns), rows):
        yield line if width is None or len(line) <= width else f"{line[: width - 1].rstrip()}…"

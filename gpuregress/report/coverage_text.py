"""Coverage of a run as text: how much of each file was executed, and what never was."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.records import Coverage, FileCoverage, RunSummary
from gpuregress.report import coverage_report

_MOST_GAPS = 40
_WIDEST_SOURCE = 60


def lines(summary: RunSummary, root: Path, *, verbose: bool = False) -> Iterator[str]:
    """The table of what no case executed; nothing where nothing was counted.

    Args:
        summary: the run.
        root: the project's; paths below it are shown relative to it.
        verbose: all of it.
    """
    whole = coverage_report.of_run(summary)
    if whole is None:
        return
    yield ""
    yield from _totals(whole, summary, root)
    found = coverage_report.gaps(whole)
    if not found:
        has_lines = any(one.lines for one in whole.files)
        yield "coverage: nothing is left out" if has_lines else "coverage: the code has no source lines of the project"
        return
    shown = found if verbose else found[:_MOST_GAPS]
    texts = {gap.path: coverage_report.source_lines(gap.path) for gap in shown}
    rows = [(f"{_shown(gap.path, root)}:{gap.line}", gap.text, _source(texts[gap.path], gap.line)) for gap in shown]
    yield ""
    yield from _table([("line", "no case", "source"), *rows])
    if len(found) > len(shown):
        yield f"… and {len(found) - len(shown)} more in {_shown(summary.folder, root)}/{coverage_report.FILE}"


def _totals(whole: Coverage, summary: RunSummary, root: Path) -> Iterator[str]:
    jobs = coverage_report.of_jobs(summary)
    rows = [(_shown(one.path, root), *_counts([one])) for one in whole.files]
    if len(jobs) > 1:
        rows += [(f"job {job}", *_counts(one.files)) for job, one in jobs.items()]
        rows.append(("all", *_counts(whole.files)))
    yield from _table([("coverage", "lines", "branches", "loop counts", "bounds"), *rows])


def _counts(files: Iterable[FileCoverage]) -> tuple[str, ...]:
    return tuple(str(total) if total.of else "" for total in coverage_report.totals(files).values())


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _source(text: list[str], line: int) -> str:
    code = one_line(text[line - 1].strip()) if 0 < line <= len(text) else ""
    return code if len(code) <= _WIDEST_SOURCE else code[: _WIDEST_SOURCE - 1] + "…"


def _shown(path: str, root: Path) -> str:
    return os.path.relpath(path, root) if Path(path).is_relative_to(root) else path

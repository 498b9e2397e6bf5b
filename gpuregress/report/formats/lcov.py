"""Coverage as a trace file of lcov, which genhtml, editors and code hosts read. geninfo(1), "FILES"."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpuregress.foundation.escapes import inert, one_line
from gpuregress.foundation.records import FileCoverage, RunSummary
from gpuregress.report import coverage_report
from gpuregress.report.layout import shown


def render(summary: RunSummary, root: Path) -> str:
    """The coverage of a run; the run's notes as comments where nothing was counted.

    Args:
        summary: the run.
        root: the repository's folder; files below it are named relative to it.
    """
    coverage = coverage_report.of_run(summary)
    lines: list[str] = []
    if coverage is None or not coverage.files:
        lines += [f"# {inert(one_line(note))}" for note in summary.notes]
    else:
        for file in coverage.files:
            lines += _record(file, root)
    return "".join(f"{line}\n" for line in lines)


def _record(file: FileCoverage, root: Path) -> Iterator[str]:
    path = shown(file.path, root).replace("\n", " ")
    yield "TN:gpuregress"
    yield f"SF:{path}"
    counts: list[int] = []
    blocks: dict[tuple[Any, ...], int] = {}
    for branch in file.branches:
        block = blocks.setdefault((branch.line, branch.column, branch.kind, branch.condition), len(blocks))
        for side, count in enumerate(branch.sides):
            # "-" is for a branch that was never reached
            yield f"BRDA:{branch.line},{block},{side},{count if any(branch.sides) else '-'}"
        counts += branch.sides
    if counts:
        yield f"BRF:{len(counts)}"
        yield f"BRH:{sum(count > 0 for count in counts)}"
    for line, count in file.lines:
        yield f"DA:{line},{count}"
    yield f"LF:{len(file.lines)}"
    yield f"LH:{sum(count > 0 for _, count in file.lines)}"
    yield "end_of_record"

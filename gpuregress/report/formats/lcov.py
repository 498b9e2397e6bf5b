"""Coverage as a trace file of lcov, which genhtml, editors and code hosts read. geninfo(1), "FILES"."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from gpuregress.foundation.escapes import inert, one_line
from gpuregress.foundation.records import FileCoverage, RunSummary
from gpuregress.report import coverage_report


def render(summary: RunSummary, root: Path) -> str:
    """The coverage of a run; the run's notes as comments where nothing was counted.

    Args:
        summary: the run.
        root: the repository's folder; files below it are named relative to it.
    """
    whole = coverage_report.of_run(summary)
    files = whole.files if whole is not None else ()
    comments = () if files else [f"# {inert(one_line(note))}" for note in summary.notes]
    return "".join(f"{line}\n" for line in (*comments, *(line for one in files for line in _record(one, root))))


def _record(one: FileCoverage, root: Path) -> Iterator[str]:
    path = os.path.relpath(one.path, root) if Path(one.path).is_relative_to(root) else one.path
    yield "TN:gpuregress"
    yield f"SF:{path.replace(chr(10), ' ')}"
    sides = [
        (branch.line, (branch.column, branch.kind, branch.condition), side, count, any(branch.sides))
        for branch in one.branches
        for side, count in enumerate(branch.sides)
    ]
    blocks = {key: number for number, key in enumerate(dict.fromkeys((line, name) for line, name, *_ in sides))}
    for line, name, side, count, reached in sides:
        yield f"BRDA:{line},{blocks[line, name]},{side},{count if reached else '-'}"
    if sides:
        yield f"BRF:{len(sides)}"
        yield f"BRH:{sum(count > 0 for *_, count, _ in sides)}"
    for line, count in one.lines:
        yield f"DA:{line},{count}"
    yield f"LF:{len(one.lines)}"
    yield f"LH:{sum(count > 0 for _, count in one.lines)}"
    yield "end_of_record"

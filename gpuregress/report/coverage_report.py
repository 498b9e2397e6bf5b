"""Coverage of a run, merged over its cases and for each job: what was never executed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.records import Coverage, FileCoverage, LoopCount, RunSummary
from gpuregress.foundation.records.audits import AuditEvidence
from gpuregress.foundation.records.json_form import to_json
from gpuregress.gpu.instruments import merged_coverage
from gpuregress.gpu.records import Record

FILE = "coverage.json"
"""In a run's folder."""
VERSION = 1
_KINDS = ("line", "branch", "loop", "bound")
_SIDES = {
    ("branch", False): ("both sides of the branch",) * 2,
    ("branch", True): ("both sides of all {} branches",) * 2,
    ("guard", False): ("the guarded instruction executed", "the guarded instruction left out"),
    ("guard", True): ("the instructions with all {} guards executed", "the instructions with all {} guards left out"),
}
"""Kind of a branch, and whether its line has several → its sides in words, behind "never"."""


class Gap(Record):
    """Something that no case executed.

    Attributes:
        path: of the source file.
        line: counted from 1.
        kind: `line`, `branch`, `loop` or `bound`.
        text: what never happened, in words.
    """

    path: str
    line: int
    kind: str
    text: str


class Total(Record):
    """How many of something were executed."""

    seen: int
    of: int

    def __str__(self) -> str:
        """`19 of 20`."""
        return f"{self.seen} of {self.of}"


def of_run(summary: RunSummary) -> Coverage | None:
    """The coverage of all cases of a run; None where none was counted."""
    found = [coverage for _, coverage in _of_cases(summary)]
    return merged_coverage(found) if found else None


def of_jobs(summary: RunSummary) -> dict[str, Coverage]:
    """Job → the coverage of its cases."""
    found: dict[str, list[Coverage]] = {}
    for job, coverage in _of_cases(summary):
        found.setdefault(job, []).append(coverage)
    return {job: merged_coverage(parts) for job, parts in found.items()}


def _of_cases(summary: RunSummary) -> Iterator[tuple[str, Coverage]]:
    for verdict in summary.verdicts:
        coverage = verdict.outcome.observations.instruments.coverage if verdict.outcome is not None else None
        if coverage is not None:
            yield verdict.job, coverage


def document(summary: RunSummary) -> dict[str, Any] | None:
    """The run's coverage as plain JSON values; None where none was counted."""
    whole = of_run(summary)
    if whole is None:
        return None
    jobs = {
        job: {"files": to_json(one.files), "never": [to_json_gap(gap) for gap in gaps(one)]}
        for job, one in of_jobs(summary).items()
    }
    return {
        "version": VERSION,
        "run": summary.run,
        "files": to_json(whole.files),
        "never": [to_json_gap(gap) for gap in gaps(whole)],
        "totals": {name: {"seen": one.seen, "of": one.of} for name, one in totals(whole.files).items()},
        "jobs": jobs,
    }


def to_json_gap(gap: Gap) -> dict[str, Any]:
    """A gap as plain JSON values."""
    return {"path": gap.path, "line": gap.line, "kind": gap.kind, "text": gap.text}


class Point(Record):
    """Something that a case can execute: a line, one side of a branch, a number of iterations, a value of an index.

    Attributes:
        line: counted from 1.
        kind: `line`, `branch`, `loop` or `bound`.
        text: in words, behind "never".
        count: how often it was executed.
    """

    line: int
    kind: str
    text: str
    count: int


def points(one: FileCoverage) -> Iterator[Point]:
    """All that cases can execute in a file.

    What the compiler makes of a loop has branches and bounds of its own: on the line of a loop only its iterations
    are told, the branches inside of it, and its further ways out. A branch that was never reached is told by its
    line, or by the branch that it depends on.
    """
    missed = {line for line, count in one.lines if count == 0}
    loops = {loop.line for loop in one.loops}
    for line, count in one.lines:
        yield Point(line, "line", "executed", count)
    branches = [
        branch
        for branch in one.branches
        if branch.kind != "case"
        and branch.line not in missed
        and any(branch.sides)
        and (branch.line not in loops or branch.is_inside)
    ]
    numbers = Counter((branch.line, branch.kind) for branch in branches)
    for branch in branches:
        number = numbers[branch.line, branch.kind]
        taken, other = _SIDES[branch.kind, number > 1]
        yield Point(branch.line, "branch", taken.format(number), branch.taken)
        yield Point(branch.line, "branch", other.format(number), branch.other)
    for loop in one.loops:
        if loop.line not in missed:
            yield from (Point(loop.line, "loop", text, count) for text, count in iteration_counts(loop))
    for bound in one.bounds:
        if bound.line not in missed and bound.line not in loops:
            yield from (Point(bound.line, "bound", text, count) for text, count in bound.edges)


def totals(files: Iterable[FileCoverage]) -> dict[str, Total]:
    """`lines`, `branches` (sides of them), `loops` (numbers of iterations), `bounds` (values) → what was executed."""
    found = [point for one in files for point in points(one)]
    kinds = {"lines": "line", "branches": "branch", "loops": "loop", "bounds": "bound"}
    counts = {name: [point.count for point in found if point.kind == kind] for name, kind in kinds.items()}
    return {name: Total(sum(count > 0 for count in all_), len(all_)) for name, all_ in counts.items()}


def gaps(coverage: Coverage) -> list[Gap]:
    """What was never executed, by file and line; alternatives of one thing are one gap."""
    found: dict[tuple[str, int, str], list[str]] = {}
    for one in coverage.files:
        for point in sorted(points(one), key=lambda point: (point.line, _KINDS.index(point.kind))):
            if point.count == 0:
                found.setdefault((one.path, point.line, point.kind), []).append(point.text)
    return [Gap(*place, "never " + " or ".join(dict.fromkeys(texts))) for place, texts in found.items()]


def iteration_counts(loop: LoopCount) -> list[tuple[str, int]]:
    """How often a loop ran 0 times, once, more often, as far as that can be seen."""
    if loop.is_unrolled:
        return [("an iteration", loop.once + loop.many)]
    zero = [] if loop.zero is None else [("0 iterations", loop.zero)]
    if not loop.once and not loop.many:
        return [*zero, ("an iteration", 0)]
    return [*zero, ("1 iteration", loop.once), ("more than 1 iteration", loop.many)]


def source_lines(path: str) -> list[str]:
    """The text of a source file; nothing where it cannot be read any more."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def totals_text(coverage: Coverage) -> str:
    """Return the totals in one line: `19 of 20 lines, 3 of 4 branches`."""
    return ", ".join(f"{total} {name}" for name, total in totals(coverage.files).items() if total.of)


def evidence(coverage: Coverage, root: Path) -> Iterator[AuditEvidence]:
    """Yield what the cases of a job execute, and what none of them does, as evidence of an audit.

    Args:
        coverage: of the job's cases.
        root: of the project, to which the names of files are relative.
    """
    yield AuditEvidence("proven", f"executed: {totals_text(coverage)}")
    for gap in gaps(coverage):
        text = f"{os.path.relpath(gap.path, root)}:{gap.line}: {gap.text}"
        source = source_lines(gap.path)
        if 0 < gap.line <= len(source) and (line := source[gap.line - 1].strip()):
            text += f": {line}"
        yield AuditEvidence("unnoticed", text)


_MOST_GAPS = 40
_WIDEST_SOURCE = 60


def lines(summary: RunSummary, root: Path, *, verbose: bool = False) -> Iterator[str]:
    """The table of what no case executed; nothing where nothing was counted.

    Args:
        summary: the run.
        root: the project's; paths below it are shown relative to it.
        verbose: all of it.
    """
    whole = of_run(summary)
    if whole is None:
        return
    yield ""
    yield from _totals(whole, summary, root)
    found = gaps(whole)
    if not found:
        has_lines = any(one.lines for one in whole.files)
        yield "coverage: nothing is left out" if has_lines else "coverage: the code has no source lines of the project"
        return
    shown = found if verbose else found[:_MOST_GAPS]
    texts = {gap.path: source_lines(gap.path) for gap in shown}
    rows = [(f"{_shown(gap.path, root)}:{gap.line}", gap.text, _source(texts[gap.path], gap.line)) for gap in shown]
    yield ""
    yield from _table([("line", "no case", "source"), *rows])
    if len(found) > len(shown):
        yield f"… and {len(found) - len(shown)} more in {_shown(summary.folder, root)}/{FILE}"


def _totals(whole: Coverage, summary: RunSummary, root: Path) -> Iterator[str]:
    jobs = of_jobs(summary)
    rows = [(_shown(one.path, root), *_counts([one])) for one in whole.files]
    if len(jobs) > 1:
        rows += [(f"job {job}", *_counts(one.files)) for job, one in jobs.items()]
        rows.append(("all", *_counts(whole.files)))
    yield from _table([("coverage", "lines", "branches", "loop counts", "bounds"), *rows])


def _counts(files: Iterable[FileCoverage]) -> tuple[str, ...]:
    return tuple(str(total) if total.of else "" for total in totals(files).values())


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _source(text: list[str], line: int) -> str:
    code = one_line(text[line - 1].strip()) if 0 < line <= len(text) else ""
    return code if len(code) <= _WIDEST_SOURCE else code[: _WIDEST_SOURCE - 1] + "…"


def _shown(path: str, root: Path) -> str:
    return os.path.relpath(path, root) if Path(path).is_relative_to(root) else path

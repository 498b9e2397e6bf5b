"""Coverage of a run, merged over its cases and for each job: what was never executed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.json_form import to_json
from gpuregress.foundation.records import Coverage, FileCoverage, LoopCount, RunSummary
from gpuregress.foundation.records.audits import AuditEvidence
from gpuregress.gpu.instruments import merged_coverage
from gpuregress.gpu.records import Record
from gpuregress.report.layout import shown, table

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
"""Kind of a branch, and whether its line has several → its sides in words, after "never"."""


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
    counted = [coverage for _, coverage in _of_cases(summary)]
    if not counted:
        return None
    return merged_coverage(counted)


def of_jobs(summary: RunSummary) -> dict[str, Coverage]:
    """Job → the coverage of its cases."""
    found: dict[str, list[Coverage]] = {}
    for job, coverage in _of_cases(summary):
        found.setdefault(job, []).append(coverage)
    return {job: merged_coverage(parts) for job, parts in found.items()}


def _of_cases(summary: RunSummary) -> Iterator[tuple[str, Coverage]]:
    for verdict in summary.verdicts:
        if verdict.outcome is not None and verdict.outcome.observations.instruments.coverage is not None:
            yield verdict.job, verdict.outcome.observations.instruments.coverage


def document(summary: RunSummary) -> dict[str, Any] | None:
    """The run's coverage as plain JSON values; None where none was counted."""
    whole = of_run(summary)
    if whole is None:
        return None
    jobs = {}
    for job, coverage in of_jobs(summary).items():
        jobs[job] = {"files": to_json(coverage.files), "never": to_json(gaps(coverage))}
    return {
        "version": VERSION,
        "run": summary.run,
        "files": to_json(whole.files),
        "never": to_json(gaps(whole)),
        "totals": to_json(totals(whole.files)),
        "jobs": jobs,
    }


class Point(Record):
    """Something that a case can execute: a line, one side of a branch, a number of iterations, a value of an index.

    Attributes:
        line: counted from 1.
        kind: `line`, `branch`, `loop` or `bound`.
        text: in words, after "never".
        count: how often it was executed.
    """

    line: int
    kind: str
    text: str
    count: int


def points(file: FileCoverage) -> Iterator[Point]:
    """All that cases can execute in a file.

    What the compiler makes of a loop has branches and bounds of its own: on the line of a loop only its iterations
    are listed, the branches inside of it, and its further exits. A branch that was never reached is listed by its
    line, or by the branch that it depends on.
    """
    missed = {line for line, count in file.lines if count == 0}
    loops = {loop.line for loop in file.loops}
    for line, count in file.lines:
        yield Point(line, "line", "executed", count)
    branches = []
    for branch in file.branches:
        is_reached = branch.line not in missed and any(branch.sides)
        if branch.kind != "case" and is_reached and (branch.is_inside or branch.line not in loops):
            branches.append(branch)
    numbers = Counter((branch.line, branch.kind) for branch in branches)
    for branch in branches:
        number = numbers[branch.line, branch.kind]
        taken, other = _SIDES[branch.kind, number > 1]
        yield Point(branch.line, "branch", taken.format(number), branch.taken)
        yield Point(branch.line, "branch", other.format(number), branch.other)
    for loop in file.loops:
        if loop.line not in missed:
            for text, count in iteration_counts(loop):
                yield Point(loop.line, "loop", text, count)
    for bound in file.bounds:
        if bound.line not in missed and bound.line not in loops:
            for text, count in bound.edges:
                yield Point(bound.line, "bound", text, count)


def totals(files: Iterable[FileCoverage]) -> dict[str, Total]:
    """`lines`, `branches` (sides of them), `loops` (numbers of iterations), `bounds` (values) → what was executed."""
    seen: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    for file in files:
        for point in points(file):
            counted[point.kind] += 1
            if point.count > 0:
                seen[point.kind] += 1
    names = ("lines", "branches", "loops", "bounds")
    return {name: Total(seen[kind], counted[kind]) for name, kind in zip(names, _KINDS, strict=True)}


def gaps(coverage: Coverage) -> list[Gap]:
    """What was never executed, by file and line; alternatives of one thing are one gap."""
    missed: dict[tuple[str, int, str], list[str]] = {}
    for file in coverage.files:
        for point in sorted(points(file), key=lambda point: (point.line, _KINDS.index(point.kind))):
            if point.count == 0:
                missed.setdefault((file.path, point.line, point.kind), []).append(point.text)
    return [Gap(*place, "never " + " or ".join(dict.fromkeys(texts))) for place, texts in missed.items()]


def iteration_counts(loop: LoopCount) -> list[tuple[str, int]]:
    """How often a loop ran 0 times, once, more often, as far as that can be seen."""
    if loop.is_unrolled:
        return [("an iteration", loop.once + loop.many)]
    counts = []
    if loop.zero is not None:
        counts.append(("0 iterations", loop.zero))
    if not loop.once and not loop.many:
        return [*counts, ("an iteration", 0)]
    return [*counts, ("1 iteration", loop.once), ("more than 1 iteration", loop.many)]


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
    missed = gaps(whole)
    if not missed:
        if any(file.lines for file in whole.files):
            yield "coverage: nothing is left out"
        else:
            yield "coverage: the code has no source lines of the project"
        return
    most = len(missed) if verbose else _MOST_GAPS
    texts: dict[str, list[str]] = {}
    rows = []
    for gap in missed[:most]:
        if gap.path not in texts:
            texts[gap.path] = source_lines(gap.path)
        rows.append((f"{shown(gap.path, root)}:{gap.line}", gap.text, _source(texts[gap.path], gap.line)))
    yield ""
    yield from table(("line", "no case", "source"), rows)
    if len(missed) > most:
        yield f"… and {len(missed) - most} more in {shown(summary.folder, root)}/{FILE}"


def _totals(whole: Coverage, summary: RunSummary, root: Path) -> Iterator[str]:
    jobs = of_jobs(summary)
    rows = [_row(shown(file.path, root), [file]) for file in whole.files]
    if len(jobs) > 1:
        rows += [_row(f"job {job}", coverage.files) for job, coverage in jobs.items()]
        rows.append(_row("all", whole.files))
    yield from table(("coverage", "lines", "branches", "loop counts", "bounds"), rows)


def _row(name: str, files: Iterable[FileCoverage]) -> list[str]:
    return [name, *(str(total) if total.of else "" for total in totals(files).values())]


def _source(text: list[str], line: int) -> str:
    if not 0 < line <= len(text):
        return ""
    code = one_line(text[line - 1].strip())
    if len(code) > _WIDEST_SOURCE:
        return code[: _WIDEST_SOURCE - 1] + "…"
    return code

"""Entries of a report: level, message and location of each case, the same in every format.

Missing cases have entries of their own. So has a run that failed although no case did: one that was interrupted, has
not finished, or had nothing to run. A report of a failed run therefore never looks green.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from gpuregress.foundation.escapes import entry, inert, visible
from gpuregress.foundation.records import Missing, RunSummary, SourceLocation, Status, Verdict
from gpuregress.gpu.records import Record
from gpuregress.report import morning, terminal

Level = Literal["passed", "failure", "error", "known", "skipped"]
THE_RUN = "the run"
_LEVELS: dict[Status, Level] = {
    "pass": "passed",
    "differ": "failure",
    "new": "failure",
    "fault": "failure",
    "timeout": "failure",
    "error": "error",
    "skip": "skipped",
}


class ReportEntry(Record):
    """One line of a report.

    Attributes:
        name: of the case; `the run` for the whole run. As all text here, without control characters, and inert.
        group: its job; `missing cases`, `gpuregress`.
        level: `known` is a failure that does not fail the run.
        status: the verdict, `missing`, or `run`.
        message: one line.
        details: further lines.
        path: the file to blame, relative to the root where it is below it; "" where none is.
        line: counted from 1; 0 for the whole file.
        calls: (path, line) of the calls that the line is inlined into, innermost first.
        seconds: wall time.
        output: what the kernels printed.
    """

    name: str
    group: str
    level: Level
    status: str
    message: str = ""
    details: tuple[str, ...] = ()
    path: str = ""
    line: int = 0
    seconds: float = 0.0
    output: str = ""
    calls: tuple[tuple[str, int], ...] = ()

    @property
    def is_failure(self) -> bool:
        """Whether it fails the run."""
        return self.level in ("failure", "error")


def entries(summary: RunSummary, root: Path) -> tuple[ReportEntry, ...]:
    """The entries of a run: its cases in the order of the plan, the missing ones, the run itself where it failed.

    Args:
        summary: the run.
        root: paths below it are shown relative to it.
    """
    cases = tuple(_of_case(verdict, root) for verdict in summary.verdicts)
    missing = tuple(_of_missing(one) for one in summary.missing)
    found = (*cases, *missing)
    if summary.interrupted or (summary.exit_code and not any(one.is_failure for one in found)):
        return (*found, *_of_run(summary, root))
    return found


def _of_case(verdict: Verdict, root: Path) -> ReportEntry:
    known = verdict.known
    level = "known" if known is not None else _LEVELS[verdict.status]
    status = known.status if known is not None else verdict.status
    details = () if level in ("passed", "skipped") else tuple(map(entry, terminal.details(verdict, root)))
    path, line = _shown(verdict.location, root)
    return ReportEntry(
        inert(visible(verdict.case)),
        inert(visible(verdict.job)),
        level,
        status,
        _first_line(verdict.reason or ("" if level == "passed" else verdict.status)),
        details,
        path,
        line,
        verdict.seconds,
        inert(visible(verdict.outcome.output)) if verdict.outcome is not None else "",
        tuple(_shown(call, root) for call in verdict.location.calls) if verdict.location is not None else (),
    )


def _of_missing(one: Missing) -> ReportEntry:
    lines = tuple(map(entry, one.lines))
    name, message = inert(visible(one.case)), _first_line("\n".join(lines))
    return ReportEntry(name, "missing cases", "failure", "missing", message, lines)


def _of_run(summary: RunSummary, root: Path) -> tuple[ReportEntry, ...]:
    """The failure of a whole run: one entry for each error that has a location, else one with its notes."""
    message = _first_line("\n".join(summary.notes)) or f"no case was run: exit code {summary.exit_code}"
    details = tuple(map(entry, summary.notes))
    if not summary.problems:
        return (ReportEntry(THE_RUN, "gpuregress", "error", "run", message, details),)
    names = [THE_RUN, *(f"{THE_RUN} ({number})" for number in range(2, len(summary.problems) + 1))]
    return tuple(
        ReportEntry(name, "gpuregress", "error", "run", _relative(one.message, root), (), *_shown(one.location, root))
        for name, one in zip(names, summary.problems, strict=True)
    )


def _first_line(text: str) -> str:
    return inert(visible(text).strip().partition("\n")[0].replace("\t", " "))


def _shown(location: SourceLocation | None, root: Path) -> tuple[str, int]:
    if location is None:
        return "", 0
    path = Path(location.file)
    shown = path.relative_to(root).as_posix() if path.is_relative_to(root) else location.file
    return inert(visible(shown)), location.line


def _relative(message: str, root: Path) -> str:
    return _first_line(message.removeprefix(f"{root}/"))


def title(summary: RunSummary) -> str:
    """`3 cases in 1.2 s on cpu: 1 pass, 2 differ (run …)`; of a night what is new before that.

    Of a run without cases it is the first note.
    """
    if not summary.verdicts and not summary.missing and summary.exit_code:
        return _first_line("\n".join(summary.notes)) or f"exit code {summary.exit_code}"
    counts = _first_line(terminal.counts(summary))
    return f"{_first_line(morning.headline(summary))}; {counts}" if summary.changes is not None else counts

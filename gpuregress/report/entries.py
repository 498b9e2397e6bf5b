"""Entries of a report: level, message and location of each case, the same in every format.

Missing cases have entries of their own. So has a run that failed although no case did: one that was interrupted, has
not finished, or had nothing to run. A report of a failed run therefore never looks green.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from gpuregress.foundation.escapes import entry, inert, visible
from gpuregress.foundation.records import Missing, RunSummary, SourceLocation, Status, Verdict
from gpuregress.gpu.records import Record, replace
from gpuregress.report import morning, terminal
from gpuregress.report.layout import shown

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

    @property
    def is_news(self) -> bool:
        """Whether it is a failure, known or not."""
        return self.level not in ("passed", "skipped")

    @property
    def further_details(self) -> list[str]:
        """The details that its message does not say."""
        return [line for line in self.details if line != self.message]


def entries(summary: RunSummary, root: Path) -> tuple[ReportEntry, ...]:
    """The entries of a run: its cases in the order of the plan, the missing ones, the run itself where it failed.

    Args:
        summary: the run.
        root: paths below it are shown relative to it.
    """
    found = [_of_case(verdict, root) for verdict in summary.verdicts]
    found += map(_of_missing, summary.missing)
    judged = {verdict.case for verdict in summary.verdicts}
    found += [_of_unfinished(name) for name in summary.unfinished if name not in judged]
    if summary.state != "finished" or (summary.exit_code and not any(one.is_failure for one in found)):
        found += _of_run(summary, root)
    return tuple(found)


def _of_case(verdict: Verdict, root: Path) -> ReportEntry:
    level, status = _LEVELS[verdict.status], str(verdict.status)
    if verdict.known is not None:
        level, status = "known", verdict.known.status
    message, output = verdict.reason, ""
    details: tuple[str, ...] = ()
    if level != "passed":
        message = message or verdict.status
    if level not in ("passed", "skipped"):
        details = tuple(map(entry, terminal.details(verdict, root)))
    if verdict.outcome is not None:
        output = inert(visible(verdict.outcome.output))
    location = verdict.location or SourceLocation("")
    path, line = _shown(location, root)
    return ReportEntry(
        name=inert(visible(verdict.case)),
        group=inert(visible(verdict.job)),
        level=level,
        status=status,
        message=_first_line(message),
        details=details,
        path=path,
        line=line,
        seconds=verdict.seconds,
        output=output,
        calls=tuple(_shown(call, root) for call in location.calls),
    )


def _of_missing(missing: Missing) -> ReportEntry:
    lines = tuple(map(entry, missing.lines))
    return ReportEntry(
        name=inert(visible(missing.case)),
        group="missing cases",
        level="failure",
        status="missing",
        message=_first_line("\n".join(lines)),
        details=lines,
    )


def _of_unfinished(case: str) -> ReportEntry:
    message = "no result: its run is not over, did not come to its end, or is missing"
    name = inert(visible(case))
    return ReportEntry(name=name, group="missing cases", level="error", status="missing", message=message)


def _of_run(summary: RunSummary, root: Path) -> tuple[ReportEntry, ...]:
    """The failure of a whole run: one entry for each error that has a location, else one with its notes."""
    whole = ReportEntry(name=THE_RUN, group="gpuregress", level="error", status="run")
    if not summary.problems:
        message = _first_line("\n".join(summary.notes)) or f"no case was run: exit code {summary.exit_code}"
        return (replace(whole, message=message, details=tuple(map(entry, summary.notes))),)
    found = []
    for number, problem in enumerate(summary.problems, 1):
        name = THE_RUN if number == 1 else f"{THE_RUN} ({number})"
        message = _first_line(problem.message.removeprefix(f"{root}/"))
        path, line = _shown(problem.location or SourceLocation(""), root)
        found.append(replace(whole, name=name, message=message, path=path, line=line))
    return tuple(found)


def _first_line(text: str) -> str:
    return inert(visible(text).strip().partition("\n")[0].replace("\t", " "))


def _shown(location: SourceLocation, root: Path) -> tuple[str, int]:
    return inert(visible(shown(location.file, root))), location.line


def title(summary: RunSummary) -> str:
    """`3 cases in 1.2 s on cpu: 1 pass, 2 differ (run …)`; of a night what is new before that.

    Of a run without cases it is the first note.
    """
    if not summary.verdicts and not summary.missing and summary.exit_code:
        return _first_line("\n".join(summary.notes)) or f"exit code {summary.exit_code}"
    counts = _first_line(terminal.counts(summary))
    if summary.changes is None:
        return counts
    return f"{_first_line(morning.headline(summary))}; {counts}"

"""Terminal report: a line for each case, the differences, and the commands that accept them."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gpuregress.foundation.escapes import entry, one_line
from gpuregress.foundation.records import STATUSES, BufferVerdict, Comparison, RunSummary, Status, Verdict, side_text
from gpuregress.foundation.wording import joined, plural, set_options
from gpuregress.report import case_lines, coverage_report
from gpuregress.report.layout import pick, shown, table

COLOURS: Mapping[str, str] = {
    "pass": "green",
    "differ": "red",
    "new": "yellow",
    "fault": "bright_red",
    "timeout": "bright_red",
    "error": "magenta",
    "skip": "bright_black",
}
_MOST_NAMED = 6
_MOST_KINDS = 3
_MOST_SHOWN = 5
_MOST_DETAILED = 10
_MOST_ROWS = 40
_MOST_NOTES = 5
_MOST_PRINTED = 20
_MOST_REPEATED = 3
FULL_TEXT = "report.txt"
"""In a run's folder: the whole report."""


def colour(status: str) -> str | None:
    """The colour of a status; None for other text."""
    return COLOURS.get(status)


def case_line(verdict: Verdict, *, verbose: bool = False) -> str:
    """`differ   reduce/n=1000,tile=128  0.012 s  sum: 3 of 8 differ`.

    Args:
        verdict: the case's.
        verbose: with the use of its tolerance wherever it has one, and not only near its limit.
    """
    used = case_lines.of_case(verdict, verbose=verbose)
    line = f"{verdict.status:<8} {verdict.case}  {verdict.seconds:.3f} s"
    return one_line(joined("  ", line, joined("; ", _agreement(verdict), verdict.reason, used)))


def _agreement(verdict: Verdict) -> str:
    """The references that a case agrees with, where that is not its baseline alone."""
    if verdict.status != "pass" or verdict.against in ((), ("baseline",)):
        return ""
    text = "as " + " and ".join(map(side_text, verdict.against))
    if "baseline" not in verdict.against:
        text += ", without a baseline"
    return text


def closing(summary: RunSummary, *, root: Path, verbose: bool = False, width: int | None = None) -> Iterator[str]:
    """The lines after the last case: the table, each failure in full, the notes, the counts, how to accept.

    Args:
        summary: the run.
        root: the project's; paths below it are shown relative to it.
        verbose: with the details of cases that passed.
        width: of the terminal, to which the table is fitted; None: lines of any length.
    """
    yield from _table(summary, width, verbose=verbose)
    yield from shared_values(summary)
    yield from _blocks(summary, root, verbose=verbose)
    yield from coverage_report.lines(summary, root, verbose=verbose)
    yield ""
    yield from missing_lines(summary)
    notes = [*summary.notes, *summary.remarks]
    yield from note_lines(notes, len(notes) if verbose else _MOST_NOTES, f"{shown(summary.folder, root)}/{FULL_TEXT}")
    yield from infeasible(summary)
    yield counts(summary)
    yield from how_to_accept(summary)
    yield from how_to_repeat(summary)


def full(summary: RunSummary, *, root: Path) -> str:
    """The whole report: a line for each case, then all of `closing`."""
    lines = [case_line(verdict, verbose=True) for verdict in summary.verdicts]
    lines += closing(summary, root=root, verbose=True)
    return "".join(f"{entry(line)}\n" for line in lines)


def _table(summary: RunSummary, width: int | None, *, verbose: bool) -> Iterator[str]:
    """The buffers that differ, a row each."""
    rows = []
    for verdict in summary.verdicts:
        if verdict.status not in ("pass", "skip"):
            differing = [buffer for buffer in verdict.buffers if buffer.status == "differ"]
            rows += [(verdict.job, _row(verdict.case, buffer)) for buffer in differing]
    if not rows:
        return
    picked, left_out = pick(rows, len(rows) if verbose else _MOST_ROWS)
    yield ""
    # The details of a case, which follow, have its worst element again.
    yield from table(("case", "buffer", "differing", "worst", "looks like"), picked, width, ("worst", "differing"))
    for job, count in left_out.items():
        yield f"… and {count} more of {job}"


def _row(case: str, buffer: BufferVerdict) -> tuple[str, ...]:
    comparison = buffer.main_comparison
    if comparison is None:
        return (case, buffer.name, "", "", "")
    differing, worst, finding = "", comparison.message, ""
    if comparison.differing:
        differing = f"{comparison.differing} of {comparison.of}"
    if comparison.worst is not None:
        worst = case_lines.element_text(comparison.worst, comparison.against)
    if comparison.findings:
        finding = comparison.findings[0].pattern
    return (case, buffer.name, differing, worst, finding)


def _blocks(summary: RunSummary, root: Path, *, verbose: bool) -> Iterator[str]:
    """The details of each case under its name, unless its line has them already.

    Not verbose: the first few, one of each job before a second of any, and none of new cases. Of failures that are
    summarized, the simplest one.
    """
    quiet: tuple[str, ...] = ("pass", "skip", "new")
    alike = alike_cases(summary)
    if verbose:
        quiet, alike = (), frozenset()
    blocks = []
    for verdict in summary.verdicts:
        if verdict.status in quiet or verdict.case in alike:
            continue
        lines = details(verdict, root)
        if lines and lines != [verdict.reason]:
            blocks.append((verdict.job, (verdict, lines)))
    picked, left_out = pick(blocks, len(blocks) if verbose else _MOST_DETAILED)
    for verdict, lines in picked:
        yield ""
        yield f"{verdict.status} {verdict.case}"
        for line in lines:
            yield f"  {line}"
    more = Counter(left_out) + Counter(map(case_lines.job_of, alike))
    if more:
        yield ""
        jobs = ", ".join(f"{count} of {job}" for job, count in more.items())
        yield f"… and {more.total()} more ({jobs}), all in full in {shown(summary.folder, root)}/{FULL_TEXT}"


def shared_values(summary: RunSummary) -> Iterator[str]:
    """`conv: every failing case has tile_x = 4 and block_x > 32`, a line for each group of many failures."""
    for space in summary.spaces:
        for group in space.failures:
            job = space.job if group.is_only else f"{space.job}, {group.way}"
            yield ""
            yield one_line(f"{job}: {group.text}")
            yield one_line(f"  {len(group.cases)} cases; the one with the smallest parameters is {group.cases[0]}")


def alike_cases(summary: RunSummary) -> frozenset[str]:
    """The cases of groups of many failures that are alike, but for the simplest case of each."""
    alike: set[str] = set()
    for space in summary.spaces:
        for group in space.failures:
            if group.is_alike:
                alike.update(group.cases[1:])
    return frozenset(alike)


def missing_lines(summary: RunSummary) -> list[str]:
    """The lines on missing cases."""
    lines: list[str] = []
    for missing in summary.missing:
        lines += missing.lines
    return lines


def note_lines(notes: Sequence[str], most: int, where: str) -> Iterator[str]:
    """`note: …` for a few, one of each job before a second of any; then the number of all, and their file.

    Args:
        notes: all of them.
        most: the number that is shown.
        where: the file that has them all.
    """
    picked, left_out = pick([(case_lines.job_of(note.partition(" ")[0]), note) for note in notes], most)
    for note in picked:
        yield f"note: {one_line(note)}"
    if left_out:
        yield f"… and {sum(left_out.values())} more notes (all {len(notes)} in {where})"


def counts(summary: RunSummary) -> str:
    """`3 cases in 1.2 s on cpu: 1 pass, 2 differ, 1 missing (run 20261120T020000Z-3f2a)`."""
    numbers = Counter(verdict.status for verdict in summary.verdicts)
    parts = [f"{numbers[status]} {status}" for status in STATUSES if status in numbers]
    if summary.missing:
        parts.append(f"{len(summary.missing)} missing")
    cases = f"{plural(len(summary.verdicts), 'case')} in {summary.seconds:.2f} s on {summary.device}"
    if summary.shard is not None:
        cases = f"{summary.shard.name}: {cases}"
    if summary.state != "finished":
        cases = f"{summary.state}: {cases}"
    return f"{cases}: {', '.join(parts) or 'none finished'} (run {summary.run})"


def infeasible(summary: RunSummary) -> Iterator[str]:
    """`infeasible: 12 of 48 cases were skipped (8: block 64 x 32 has 2048 threads …; 4: …)`; nothing without any."""
    kinds: dict[str, list[str]] = {}
    for verdict in summary.verdicts:
        if verdict.infeasible:
            # The refusals are the compiler's and the driver's words. Those that differ in numbers only are one kind.
            reason = verdict.reason.removeprefix("infeasible: ")
            kinds.setdefault(re.sub(r"\d+", "0", reason), []).append(reason)
    if not kinds:
        return
    frequent = sorted(kinds.values(), key=len, reverse=True)
    parts = [f"{len(reasons)}: {reasons[0]}" for reasons in frequent[:_MOST_KINDS]]
    if frequent[_MOST_KINDS:]:
        parts.append(f"{sum(map(len, frequent[_MOST_KINDS:]))} others")
    skipped = sum(map(len, frequent))
    yield one_line(f"infeasible: {skipped} of {len(summary.verdicts)} cases were skipped ({'; '.join(parts)})")


_ACCEPTED_BY_COMMAND: Mapping[Status, str] = {"differ": "to accept what differs", "new": "to accept what is new"}


def how_to_accept(summary: RunSummary, statuses: Sequence[Status] = ("differ", "new")) -> Iterator[str]:
    """The commands that accept this run's dumps of cases that differ or are new; none where they could not work.

    Args:
        summary: the run.
        statuses: of the cases.
    """
    if not summary.is_kept:
        return
    for status in statuses:
        verdicts = [verdict for verdict in summary.verdicts if verdict.status == status]
        cases = [verdict.case for verdict in verdicts if _would_help(verdict)]
        if not cases:
            continue
        if len(cases) <= _MOST_NAMED:
            chosen = shlex.join(cases)
        elif status == "new":
            chosen = "--new-only"
        else:
            chosen = shlex.join(dict.fromkeys(verdict.job for verdict in verdicts))
        yield f"{_ACCEPTED_BY_COMMAND[status]}: gpuregress accept --run {summary.run} {chosen}"


def how_to_repeat(summary: RunSummary) -> Iterator[str]:
    """The commands that run failed cases again whose values are of the command line: no job has them."""
    failed = [verdict for verdict in summary.verdicts if verdict.overridden and verdict.exit_code]
    for verdict in failed[:_MOST_REPEATED]:
        options = set_options(verdict.parameters, verdict.overridden)
        yield f"to run it again: gpuregress run {shlex.quote(verdict.case)} {options}"


def _would_help(verdict: Verdict) -> bool:
    """Whether accepting changes anything; a failed check or reference fails with any baseline."""
    if verdict.overridden:
        return False
    if verdict.outcome is not None and verdict.outcome.observations.schedule:
        return False  # `accept` takes the results of the usual order only
    if verdict.status == "new" or any(comparison.against == "baseline" for comparison in verdict.failing):
        return True
    return (verdict.timing is not None and verdict.timing.fails) or any(cost.fails for cost in verdict.costs)


def details(verdict: Verdict, root: Path | None = None) -> list[str]:
    """All details of one case, a line each; first the changes since its baseline."""
    lines = [f"changed since the baseline: {change}" for change in verdict.changes]
    if verdict.reason and not any(buffer.status == "differ" for buffer in verdict.buffers):
        lines.append(verdict.reason)
    if verdict.fault is not None:
        lines += [f"  {line}" for line in verdict.fault.details]
    for buffer in verdict.buffers:
        if buffer.status not in ("pass", "skip"):
            lines += _buffer_details(buffer, root)
    # The further lines of an error (a compiler's, with its caret) must stay as they are after their mark.
    mark = "| " if verdict.status == "error" else "note: "
    lines += [mark + note for note in verdict.notes]
    if verdict.outcome is not None and verdict.outcome.output and verdict.status != "pass":
        lines.append("it printed:")
        lines += [f"| {line}" for line in verdict.outcome.output.splitlines()[:_MOST_PRINTED]]
    return lines


def _buffer_details(buffer: BufferVerdict, root: Path | None) -> Iterator[str]:
    shown_before: dict[tuple[str, ...], str] = {}
    for comparison in buffer.failing:
        message = comparison.difference
        lines = tuple(_comparison_details(comparison))
        # The comparison with a reference mostly has the same text as that with the baseline.
        before = shown_before.setdefault((message, *lines), comparison.against)
        if before != comparison.against:
            yield f"{buffer.name} ({comparison.against}): the same as against the {before}"
            continue
        yield f"{buffer.name} ({comparison.against}): {message}"
        if comparison.first_wrong is not None:
            yield f"  {comparison.first_wrong.message}"
        yield from lines
    if buffer.dump:
        yield f"  dump      {shown(buffer.dump, root)}"
    if buffer.baseline:
        yield f"  baseline  {shown(buffer.baseline, root)}"


def _comparison_details(comparison: Comparison) -> Iterator[str]:
    if comparison.rule:
        rule = f"  rule: {comparison.rule}"
        share = comparison.tolerance_share
        if share is not None and share > 1:
            rule += f" (up to {case_lines.percentage(share)} of it)"
        yield rule
    for finding in comparison.findings:
        yield f"  looks like: {finding.message}"
    if comparison.worst is not None:
        yield f"  worst {case_lines.worst_text(comparison)}"
    if comparison.accuracy is not None:
        yield f"  accuracy: {case_lines.describe(comparison.accuracy)}"
    for element in comparison.first[:_MOST_SHOWN]:
        if element != comparison.worst:
            yield f"  {case_lines.element_text(element, comparison.against)}"

"""Terminal report: a line for each case, the differences, and the commands that accept them."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from gpuregress.foundation.escapes import entry, one_line
from gpuregress.foundation.records import (
    STATUSES,
    BufferVerdict,
    Comparison,
    Element,
    RunSummary,
    Status,
    Verdict,
    side_text,
)
from gpuregress.report import case_lines, coverage_report

Entry = TypeVar("Entry")

COLOURS: dict[Status, str] = {
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
FULL_TEXT = "report.txt"
"""In a run's folder: the whole report."""


def colour(status: str) -> str | None:
    """The colour of a status; None for other text."""
    return next((colour for known, colour in COLOURS.items() if known == status), None)


def case_line(verdict: Verdict, *, verbose: bool = False) -> str:
    """`differ   reduce/n=1000,tile=128  0.012 s  sum: 3 of 8 differ`.

    Args:
        verdict: the case's.
        verbose: with the use of its tolerance wherever it has one, and not only near its limit.
    """
    line = f"{verdict.status:<8} {verdict.case}  {verdict.seconds:.3f} s"
    used = case_lines.of_case(verdict, verbose=verbose)
    return one_line("  ".join(filter(None, (line, "; ".join(filter(None, (_passed(verdict), verdict.reason, used)))))))


def _passed(verdict: Verdict) -> str:
    """The references that a case agrees with, where that is not its baseline alone."""
    if verdict.status != "pass" or verdict.against in ((), ("baseline",)):
        return ""
    names = " and ".join(map(side_text, verdict.against))
    return f"as {names}" + ("" if "baseline" in verdict.against else ", without a baseline")


def closing(summary: RunSummary, *, root: Path, verbose: bool = False) -> Iterator[str]:
    """The lines after the last case: the table, each failure in full, the notes, the counts, how to accept.

    Args:
        summary: the run.
        root: the project's; paths below it are shown relative to it.
        verbose: with the details of cases that passed.
    """
    troubled = [verdict for verdict in summary.verdicts if verdict.status not in ("pass", "skip")]
    rows = [(verdict.job, row) for verdict in troubled for row in _rows(verdict)]
    if rows:
        shown_rows, more = pick(rows, len(rows) if verbose else _MOST_ROWS)
        yield ""
        yield from table(("case", "buffer", "differing", "worst", "looks like"), shown_rows)
        yield from (f"… and {count} more of {job}" for job, count in more.items())
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


def full(summary: RunSummary, *, root: Path) -> str:
    """The whole report: a line for each case, then all of `closing`."""
    lines = (case_line(verdict, verbose=True) for verdict in summary.verdicts)
    return "".join(f"{entry(line)}\n" for line in (*lines, *closing(summary, root=root, verbose=True)))


def _blocks(summary: RunSummary, root: Path, *, verbose: bool) -> Iterator[str]:
    """The details of each case under its name, unless its line has them already.

    Not verbose: the first few, one of each job before a second of any, and none of new cases. Of failures that are
    summarized, the simplest one.
    """
    quiet = () if verbose else ("pass", "skip", "new")
    alike = () if verbose else alike_cases(summary)
    shown_cases = [one for one in summary.verdicts if one.status not in quiet and one.case not in alike]
    blocks = [(verdict, details(verdict, root)) for verdict in shown_cases]
    blocks = [(verdict, lines) for verdict, lines in blocks if lines and lines != [verdict.reason]]
    most = len(blocks) if verbose else _MOST_DETAILED
    picked, more = pick([(one.job, (one, lines)) for one, lines in blocks], most)
    for verdict, lines in picked:
        yield ""
        yield f"{verdict.status} {verdict.case}"
        yield from (f"  {line}" for line in lines)
    more = Counter(more) + Counter(job_of(case) for case in alike)
    if more:
        yield ""
        of = ", ".join(f"{count} of {job}" for job, count in more.items())
        yield f"… and {sum(more.values())} more ({of}), all in full in {shown(summary.folder, root)}/{FULL_TEXT}"


def shared_values(summary: RunSummary) -> Iterator[str]:
    """`conv: every failing case has tile_x = 4 and block_x > 32`, a line for each group of many failures."""
    groups = [(space.job, group) for space in summary.spaces for group in space.failures]
    for job, group in groups:
        yield ""
        yield one_line(f"{job}{'' if group.is_only else f', {group.way}'}: {group.text}")
        yield one_line(f"  {len(group.cases)} cases; the one with the smallest parameters is {group.cases[0]}")


def alike_cases(summary: RunSummary) -> frozenset[str]:
    """The cases of groups of many failures that are alike, but for the simplest case of each."""
    groups = (group for space in summary.spaces for group in space.failures if group.is_alike)
    return frozenset(case for group in groups for case in group.cases[1:])


def pick(entries: Sequence[tuple[str, Entry]], most: int) -> tuple[list[Entry], dict[str, int]]:
    """Pick at most `most` entries in their order, one of each job before a second of any.

    Args:
        entries: each with its job, or another key.
        most: how many.

    Returns:
        Those picked; and job → the number left out.
    """
    ranks: Counter[str] = Counter()
    ranked = []
    for at, (job, _) in enumerate(entries):
        ranked.append((ranks[job], at))
        ranks[job] += 1
    chosen = {at for _, at in sorted(ranked)[:most]}
    left = Counter(job for at, (job, _) in enumerate(entries) if at not in chosen)
    return [entry for at, (_, entry) in enumerate(entries) if at in chosen], dict(left)


def missing_lines(summary: RunSummary) -> tuple[str, ...]:
    """The lines on missing cases."""
    return tuple(line for one in summary.missing for line in one.lines)


def note_lines(notes: Sequence[str], most: int, where: str) -> Iterator[str]:
    """`note: …` for a few, one of each job before a second of any; then the number of all, and their file.

    Args:
        notes: all of them.
        most: the number that is shown.
        where: the file that has them all.
    """
    picked, more = pick([(job_of(note.partition(" ")[0]), note) for note in notes], most)
    yield from (f"note: {one_line(note)}" for note in picked)
    if more:
        yield f"… and {sum(more.values())} more notes (all {len(notes)} in {where})"


def job_of(case: str) -> str:
    """The job of a case, from its name."""
    return case.partition("/")[0]


def few(names: Sequence[str]) -> str:
    """The first few of some jobs, and the number of the others."""
    return ", ".join(names[:_MOST_NAMED]) + (
        f" and {len(names) - _MOST_NAMED} more jobs" if names[_MOST_NAMED:] else ""
    )


def counts(summary: RunSummary) -> str:
    """`3 cases in 1.2 s on cpu: 1 pass, 2 differ, 1 missing (run 20261120T020000Z-3f2a)`."""
    parts = [f"{summary.count(status)} {status}" for status in STATUSES if summary.count(status)]
    parts += [f"{len(summary.missing)} missing"] if summary.missing else []
    number = len(summary.verdicts)
    cases = f"{number} case{'s' if number != 1 else ''} in {summary.seconds:.2f} s on {summary.device}"
    stopped = "" if summary.state == "finished" else f"{summary.state}: "
    return f"{stopped}{cases}: {', '.join(parts) or 'none finished'} (run {summary.run})"


def infeasible(summary: RunSummary) -> Iterator[str]:
    """`infeasible: 12 of 48 cases were skipped (8: block 64 x 32 has 2048 threads …; 4: …)`; nothing without any."""
    skipped = [one for one in summary.verdicts if one.infeasible]
    if not skipped:
        return
    # Reasons that differ in their numbers only are one kind.
    kinds: dict[str, list[str]] = {}
    for one in skipped:
        reason = one.reason.removeprefix("infeasible: ")
        kinds.setdefault(re.sub(r"\d+", "0", reason), []).append(reason)
    most = sorted(kinds.values(), key=len, reverse=True)
    reasons = [f"{len(reasons)}: {reasons[0]}" for reasons in most[:_MOST_KINDS]]
    reasons += [f"{sum(map(len, most[_MOST_KINDS:]))} others"] if most[_MOST_KINDS:] else []
    yield one_line(f"infeasible: {len(skipped)} of {len(summary.verdicts)} cases were skipped ({'; '.join(reasons)})")


def how_to_accept(summary: RunSummary) -> Iterator[str]:
    """The commands that accept this run's new and differing dumps; none where they could not work."""
    if not summary.is_kept:
        return
    for status, text in (("differ", "to accept what differs"), ("new", "to accept what is new")):
        names = [verdict.case for verdict in summary.verdicts if verdict.status == status and _would_help(verdict)]
        if not names:
            continue
        if len(names) <= _MOST_NAMED:
            yield f"{text}: gpuregress accept --run {summary.run} {shlex.join(names)}"
        elif status == "new":
            yield f"{text}: gpuregress accept --run {summary.run} --new-only"
        else:
            jobs = dict.fromkeys(verdict.job for verdict in summary.verdicts if verdict.status == status)
            yield f"{text}: gpuregress accept --run {summary.run} {shlex.join(jobs)}"


def _would_help(verdict: Verdict) -> bool:
    """Whether accepting changes anything; a failed check or reference fails with any baseline."""
    if verdict.outcome is not None and verdict.outcome.observations.schedule:
        return False  # `accept` takes the results of the usual order only
    failed = [c.against for buffer in verdict.buffers for c in buffer.comparisons if not c.same]
    is_worse = (verdict.timing is not None and verdict.timing.fails) or any(cost.fails for cost in verdict.costs)
    return verdict.status == "new" or "baseline" in failed or is_worse


def details(verdict: Verdict, root: Path | None = None) -> list[str]:
    """All details of one case, a line each; first the changes since its baseline."""
    lines = [f"changed since the baseline: {change}" for change in verdict.changes]
    if verdict.reason and not any(buffer.status == "differ" for buffer in verdict.buffers):
        lines.append(verdict.reason)
    outcome = verdict.outcome
    if outcome is not None and outcome.fault is not None:
        lines += [f"  {line}" for line in outcome.fault.details]
    for buffer in verdict.buffers:
        if buffer.status not in ("pass", "skip"):
            lines += _buffer_details(buffer, root)
    # The further lines of an error (a compiler's, with its caret) must stay as they are behind their mark.
    lines += [f"| {note}" if verdict.status == "error" else f"note: {note}" for note in verdict.notes]
    if outcome is not None and outcome.output and verdict.status != "pass":
        lines += ["the kernels printed:", *(f"| {line}" for line in outcome.output.splitlines()[:20])]
    return lines


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Left-aligned columns, two spaces apart, cut nowhere."""
    lines = [head, *(tuple(map(one_line, row)) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def shown(path: str, root: Path | None) -> str:
    """A path, relative to the project's root where it is below it."""
    if root is not None and path and Path(path).is_relative_to(root):
        return str(Path(path).relative_to(root))
    return path


def telling(buffer: BufferVerdict) -> Comparison | None:
    """The main comparison: the first that is not the same, else the first; None without any."""
    failed = [comparison for comparison in buffer.comparisons if not comparison.same]
    return next(iter(failed or buffer.comparisons), None)


def element_text(element: Element, against: str = "baseline") -> str:
    """`[5].x: 1.5, was 1.25 (rel 0.2)`; the finding of a check has no second value."""
    where = f"[{element.index}]{'.' + element.part if element.part else ''}"
    errors = [
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in (("abs", element.absolute), ("rel", element.relative), ("ulp", element.ulp))
        if value is not None
    ]
    nothing = "" if against in ("check", "seeds") else f", in the {against} nothing"
    expected = "in the twin" if against == "twin" else "was"
    was = f", {expected} {element.expected}" if element.expected else nothing
    now = element.actual or "missing"
    return f"{where}: {now}{was}{' (' + ', '.join(errors) + ')' if errors else ''}"


def _rows(verdict: Verdict) -> Iterator[tuple[str, ...]]:
    for buffer in verdict.buffers:
        if buffer.status != "differ":
            continue
        main = telling(buffer)
        if main is None:
            yield (verdict.case, buffer.name, "", "", "")
            continue
        worst = element_text(main.worst, main.against) if main.worst else main.message
        finding = main.findings[0].pattern if main.findings else ""
        yield (verdict.case, buffer.name, main.share_text.removesuffix(" differ"), worst, finding)


def _buffer_details(buffer: BufferVerdict, root: Path | None) -> Iterator[str]:
    shown_before: dict[tuple[str, ...], str] = {}
    for comparison in buffer.comparisons:
        if comparison.same:
            continue
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
        share = comparison.tolerance_share
        used = f" (up to {case_lines.percentage(share)} of it)" if share is not None and share > 1 else ""
        yield f"  rule: {comparison.rule}{used}"
    yield from (f"  looks like: {finding.message}" for finding in comparison.findings)
    if comparison.worst is not None:
        position = comparison.figures.worst_thread
        worst = element_text(comparison.worst, comparison.against)
        yield f"  worst {worst}{f', at {position}' if position else ''}"
    if comparison.accuracy is not None:
        yield f"  accuracy: {case_lines.describe(comparison.accuracy)}"
    others = [element for element in comparison.first[:_MOST_SHOWN] if element != comparison.worst]
    yield from (f"  {element_text(element, comparison.against)}" for element in others)

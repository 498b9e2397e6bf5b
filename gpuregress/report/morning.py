"""Morning report of a night: the changes, new failures by cause, those that still fail, notes.

It is one screen; `report.txt` in the night's folder has all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from gpuregress.foundation.escapes import entry, one_line
from gpuregress.foundation.records import NightChanges, NightFailure, RunSummary, Since, Verdict
from gpuregress.foundation.wording import first_names, joined, plural
from gpuregress.report import terminal
from gpuregress.report.case_lines import job_of
from gpuregress.report.layout import pick, shown

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SEVERITY = ("error", "missing", "fault", "timeout", "differ", "new")
_MOST_NEW = 30
_MOST_OTHERS = 10
_MOST_NAMED = 8
_MOST_JOBS = 6
_MOST_NOTES = 5
_ALIKE = 4
"""Failures of one cause that get a heading of their own."""


def is_worth_telling(summary: RunSummary) -> bool:
    """Whether a night prints anything: something fails, is fixed, was not run, or there is a note."""
    return bool(summary.exit_code or summary.notes or (summary.changes is not None and summary.changes.is_news))


def headline(summary: RunSummary) -> str:
    """`1 new failure, 2 still failing (since 20 Nov, 8eb0c1f), 1 fixed`: all parts that are not zero."""
    changes = summary.changes or NightChanges()
    devices = ", ".join(lacking.device for lacking in changes.lacking)
    still = "still failing"
    first = _first(changes.still)
    if first is not None:
        still += f" ({since_text(first, summary.started)})"
    near = "near its tolerance" if len(changes.near) == 1 else "near their tolerance"
    counts = {
        "new failure" if len(changes.new) == 1 else "new failures": len(changes.new),
        "failing differently": len(changes.changed),
        still: len(changes.still),
        "without a baseline": len(changes.unaccepted),
        "fixed": len(changes.fixed),
        "slower": len(changes.slower),
        near: len(changes.near),
        "known failing": len(changes.known),
        "flaky": len(changes.flaky),
        "without a turn": len(changes.no_turn),
        "skipped after timeouts": len(changes.held_back),
        f"skipped (no {devices} on this host)": sum(lacking.cases for lacking in changes.lacking),
    }
    line = ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "nothing new"
    if summary.interrupted:
        return f"interrupted: {line}"
    has_failures = changes.new or changes.changed or changes.still or changes.unaccepted or changes.no_turn
    if summary.exit_code and not has_failures:
        return f"{line}; the night failed (exit code {summary.exit_code})"
    return line


def lines(summary: RunSummary, *, root: Path) -> Iterator[str]:
    """One screen for a mail.

    Args:
        summary: the night.
        root: the project's; paths below it are shown relative to it.
    """
    where = f"{shown(summary.folder, root)}/{terminal.FULL_TEXT}"
    yield from _lines(summary, where, is_full=False)
    yield from terminal.note_lines(summary.notes, _MOST_NOTES, where)
    yield terminal.counts(summary)
    yield f"more: {where}, or gpuregress report {summary.run} -o report.html"


def full(summary: RunSummary) -> str:
    """The report without bounds, as text; "" of a run that is no night."""
    if summary.changes is None:
        return ""
    return "".join(f"{entry(line)}\n" for line in _lines(summary, "", is_full=True)) + "\n"


def _lines(summary: RunSummary, where: str, *, is_full: bool) -> Iterator[str]:
    changes = summary.changes or NightChanges()
    tonight = summary.started
    texts = _texts(summary)
    most_new, most_others, most_named = _MOST_NEW, _MOST_OTHERS, _MOST_NAMED
    if is_full:
        count = len(summary.verdicts) + len(summary.missing) + len(changes.no_turn) + len(changes.held_back)
        most_new, most_others, most_named = (max(most, count) for most in (most_new, most_others, most_named))
    yield headline(summary)
    if changes.unknown and (changes.new or changes.unaccepted):
        yield f"every failure counts as new: {changes.unknown}"
    yield from _by_cause((*changes.new, *changes.unaccepted), texts, most_new, where)
    if changes.new or changes.unaccepted or changes.changed:  # else it was told on the first night
        for line in terminal.shared_values(summary):
            if line:
                yield line
    for heading, failures in (
        ("failing for another cause than before:", changes.changed),
        ("still failing:", changes.still),
    ):
        if failures:
            yield heading
            yield from _bounded(_with_history(failures, texts, tonight), most_others)
    fixed = [f"fixed    {failure.case}{_lasted(failure, tonight)}" for failure in changes.fixed]
    yield from _bounded(fixed, most_others)
    for word, remarks in (
        ("slower", changes.slower),
        ("near", changes.near),
        ("flaky", changes.flaky),
        ("known", changes.known),
    ):
        lines = [one_line(f"{word:<8} {one.case}  {one.text}{_after_comma(one.since, tonight)}") for one in remarks]
        yield from _bounded(lines, most_others)
    if changes.no_turn:
        yield one_line(f"no turn before the deadline: {first_names(changes.no_turn, most_named)}")
    if changes.held_back:
        yield one_line(f"skipped after timeouts of their kernel: {first_names(changes.held_back, most_named)}")
    for lacking in changes.lacking:
        line = f"skipped  {plural(lacking.cases, 'case')} on {lacking.device}, which this host lacks"
        yield one_line(joined(": ", line, lacking.why))
    yield from terminal.infeasible(summary)


def _texts(summary: RunSummary) -> dict[str, tuple[str, ...]]:
    """Case → the lines on its failure."""
    missing = {one.case: one.lines for one in summary.missing}
    verdicts: dict[str, Verdict] = {verdict.case: verdict for verdict in summary.verdicts}
    changes = summary.changes or NightChanges()
    texts: dict[str, tuple[str, ...]] = {}
    for failure in (*changes.new, *changes.unaccepted, *changes.changed, *changes.still):
        case, status = failure.case, f"{failure.status:<8}"
        verdict = verdicts.get(case)
        if failure.status == "missing" or verdict is None:
            texts[case] = missing.get(case, (f"{status} {case}  {failure.diagnosis}",))
        else:
            texts[case] = (one_line(f"{status} {case}  {verdict.seconds:.3f} s  {failure.diagnosis}"),)
    return texts


def _by_cause(
    failures: Sequence[NightFailure], texts: dict[str, tuple[str, ...]], most: int, where: str
) -> Iterator[str]:
    """The failures of one cause together, the most severe causes first; of many, one of each before a second of any."""
    groups: dict[tuple[str, str], list[NightFailure]] = {}
    for failure in sorted(failures, key=lambda failure: _SEVERITY.index(failure.status)):
        groups.setdefault((failure.status, failure.cause), []).append(failure)
    keyed = []
    for cause, members in groups.items():
        keyed += [(f"{'/'.join(cause)}\0{job_of(failure.case)}", (cause, failure)) for failure in members]
    picked, left_out = pick(keyed, most)
    last: tuple[str, str] | None = None
    for cause, failure in picked:
        if cause != last and len(groups[cause]) >= _ALIKE:
            yield one_line(f"{len(groups[cause])} cases, {cause[1] or cause[0]}:")
        last = cause
        yield from texts[failure.case]
    if left_out:
        jobs = list(dict.fromkeys(key.partition("\0")[2] for key in left_out))
        names = first_names(jobs, _MOST_JOBS, "jobs")
        yield f"… and {sum(left_out.values())} more failures of {names} (all in {where})"


def _with_history(failures: Sequence[NightFailure], texts: dict[str, tuple[str, ...]], tonight: str) -> list[str]:
    """The lines on each failure, the first one with the night of its beginning."""
    lines: list[str] = []
    for failure in failures:
        first, *more = texts[failure.case]
        lines += [f"{first}{_history(failure, tonight)}", *more]
    return lines


def _history(failure: NightFailure, tonight: str) -> str:
    text = ""
    if failure.counts_before:
        text += f" (last night: {failure.counts_before})"
    if failure.since is not None:
        text += f" ({since_text(failure.since, tonight)}; {failure.since.nights} nights)"
    if failure.before:
        text += f" (before: {one_line(failure.before)})"
    return text


def _lasted(failure: NightFailure, tonight: str) -> str:
    if failure.since is None:
        return ""
    return f"  (failed {plural(failure.since.nights, 'night')}{_after_comma(failure.since, tonight)})"


def _bounded(texts: Sequence[str], most: int) -> Iterator[str]:
    yield from texts[:most]
    if len(texts) > most:
        yield f"… and {len(texts) - most} more"


def _first(failures: Iterable[NightFailure]) -> Since | None:
    """The earliest beginning of several series."""
    beginnings = [failure.since for failure in failures if failure.since is not None]
    return min(beginnings, key=lambda since: since.started, default=None)


def _after_comma(since: Since | None, tonight: str) -> str:
    if since is None:
        return ""
    return f", {since_text(since, tonight)}"


def since_text(since: Since, tonight: str) -> str:
    """`since 20 Nov, 8eb0c1f`; `8eb0c1f+` where the work tree was changed, `, gone from git` where it is gone."""
    return f"since {day(since.started, tonight)}{since.commit_text}"


def day(started: str, tonight: str) -> str:
    """`20 Nov` of an ISO 8601 time, in this host's time zone; with the year where it is not tonight's."""
    try:
        local, now = (datetime.fromisoformat(text).astimezone() for text in (started, tonight))
    except ValueError:
        return one_line(started)
    text = f"{local.day} {_MONTHS[local.month - 1]}"
    if local.year != now.year:
        text += f" {local.year}"
    return text

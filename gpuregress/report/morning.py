"""Morning report of a night: the changes, new failures by cause, those that still fail, notes.

It is one screen; `report.txt` in the night's folder has all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from gpuregress.foundation.escapes import entry, one_line
from gpuregress.foundation.records import NightChanges, NightFailure, NightRemark, RunSummary, Since, Verdict
from gpuregress.report import terminal

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_COMMIT_DIGITS = 7
_MOST_NEW = 30
_MOST_OTHERS = 10
_MOST_NAMED = 8
_MOST_NOTES = 5
_ALIKE = 4
"""Failures of one cause that get a heading of their own."""


def is_worth_telling(summary: RunSummary) -> bool:
    """Whether a night prints anything: something fails, is fixed, was not run, or there is a note."""
    return bool(summary.exit_code or summary.notes or (summary.changes is not None and summary.changes.is_news))


def headline(summary: RunSummary) -> str:
    """`1 new failure, 2 still failing (since 20 Nov, 8eb0c1f), 1 fixed`: all parts that are not zero."""
    changes = summary.changes or NightChanges()
    lacking = sum(one.cases for one in changes.lacking)
    devices = ", ".join(one.device for one in changes.lacking)
    new, first = len(changes.new), _first(changes.still)
    since = f" ({_when(first, summary.started)})" if first is not None else ""
    parts = [
        (new, f"{new} new failure{'s' if new != 1 else ''}"),
        (len(changes.changed), f"{len(changes.changed)} failing differently"),
        (len(changes.still), f"{len(changes.still)} still failing{since}"),
        (len(changes.unaccepted), f"{len(changes.unaccepted)} without a baseline"),
        (len(changes.fixed), f"{len(changes.fixed)} fixed"),
        (len(changes.slower), f"{len(changes.slower)} slower"),
        (len(changes.near), f"{len(changes.near)} near {'its' if len(changes.near) == 1 else 'their'} tolerance"),
        (len(changes.known), f"{len(changes.known)} known failing"),
        (len(changes.flaky), f"{len(changes.flaky)} flaky"),
        (len(changes.no_turn), f"{len(changes.no_turn)} without a turn"),
        (len(changes.held_back), f"{len(changes.held_back)} skipped after timeouts"),
        (lacking, f"{lacking} skipped (no {devices} on this host)"),
    ]
    line = ", ".join(text for count, text in parts if count) or "nothing new"
    if summary.interrupted:
        return f"interrupted: {line}"
    failing = new + len(changes.changed) + len(changes.still) + len(changes.unaccepted) + len(changes.no_turn)
    return f"{line}; the night failed (exit code {summary.exit_code})" if summary.exit_code and not failing else line


def lines(summary: RunSummary, *, root: Path) -> Iterator[str]:
    """One screen for a mail.

    Args:
        summary: the night.
        root: the project's; paths below it are shown relative to it.
    """
    where = f"{terminal.shown(summary.folder, root)}/{terminal.FULL_TEXT}"
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
    texts = _texts(summary)
    most = len(summary.verdicts) + len(summary.missing) if is_full else 0
    others = most or _MOST_OTHERS
    yield headline(summary)
    if changes.unknown and (changes.new or changes.unaccepted):
        yield f"every failure counts as new: {changes.unknown}"
    yield from _by_cause((*changes.new, *changes.unaccepted), texts, most or _MOST_NEW, where)
    if changes.new or changes.unaccepted or changes.changed:  # else it was told on the first night
        yield from (line for line in terminal.shared_values(summary) if line)
    yield from _section("failing for another cause than before:", _told(changes.changed, summary, texts), others)
    yield from _section("still failing:", _told(changes.still, summary, texts), others)
    yield from _bounded([f"fixed    {one.case}{_lasted(one, summary.started)}" for one in changes.fixed], others)
    for word, remarks in (("slower", changes.slower), ("near", changes.near), ("flaky", changes.flaky)):
        yield from _remarks(word, remarks, others, summary.started)
    yield from _remarks("known", changes.known, others, summary.started)
    yield from _names("no turn before the deadline", changes.no_turn, most or _MOST_NAMED)
    yield from _names("skipped after timeouts of their kernel", changes.held_back, most or _MOST_NAMED)
    for one in changes.lacking:
        cases = f"{one.cases} case{'s' if one.cases != 1 else ''}"
        yield one_line(f"skipped  {cases} on {one.device}, which this host lacks{f': {one.why}' if one.why else ''}")
    yield from terminal.infeasible(summary)


def _texts(summary: RunSummary) -> dict[str, tuple[str, ...]]:
    """Case → the lines on its failure."""
    of_missing = {one.case: one.lines for one in summary.missing}
    verdicts: dict[str, Verdict] = {verdict.case: verdict for verdict in summary.verdicts}
    changes = summary.changes or NightChanges()
    texts: dict[str, tuple[str, ...]] = {}
    for one in (*changes.new, *changes.unaccepted, *changes.changed, *changes.still):
        verdict = verdicts.get(one.case)
        if one.status == "missing" or verdict is None:
            texts[one.case] = of_missing.get(one.case, (f"{one.status:<8} {one.case}  {one.diagnosis}",))
        else:
            texts[one.case] = (one_line(f"{one.status:<8} {one.case}  {verdict.seconds:.3f} s  {one.diagnosis}"),)
    return texts


def _by_cause(
    failures: Sequence[NightFailure], texts: dict[str, tuple[str, ...]], most: int, where: str
) -> Iterator[str]:
    """The failures of one cause together, the most severe causes first; of many, one of each before a second of any."""
    order = ("error", "missing", "fault", "timeout", "differ", "new")
    groups: dict[tuple[str, str], list[NightFailure]] = {}
    for one in sorted(failures, key=lambda one: order.index(one.status)):
        groups.setdefault((one.status, one.cause), []).append(one)
    keyed = [
        (f"{'/'.join(key)}\0{terminal.job_of(one.case)}", (key, one)) for key, ones in groups.items() for one in ones
    ]
    picked, more = terminal.pick(keyed, most)
    last: tuple[str, str] | None = None
    for key, one in picked:
        if key != last and len(groups[key]) >= _ALIKE:
            yield one_line(f"{len(groups[key])} cases, {key[1] or key[0]}:")
        last = key
        yield from texts[one.case]
    if more:
        jobs = list(dict.fromkeys(key.partition("\0")[2] for key in more))
        yield f"… and {sum(more.values())} more failures of {terminal.few(jobs)} (all in {where})"


def _told(failures: Sequence[NightFailure], summary: RunSummary, texts: dict[str, tuple[str, ...]]) -> list[str]:
    """The lines on each failure, the first one with the night of its beginning."""
    told: list[str] = []
    for one in failures:
        first, *more = texts[one.case]
        told += [f"{first}{_history(one, summary.started)}", *more]
    return told


def _section(heading: str, texts: Sequence[str], most: int) -> Iterator[str]:
    if texts:
        yield heading
        yield from _bounded(texts, most)


def _history(failure: NightFailure, tonight: str) -> str:
    before = f" (before: {one_line(failure.before)})" if failure.before else ""
    counts = f" (last night: {failure.counts_before})" if failure.counts_before else ""
    if failure.since is None:
        return f"{counts}{before}"
    return f"{counts} ({_when(failure.since, tonight)}; {failure.since.nights} nights){before}"


def _lasted(failure: NightFailure, tonight: str) -> str:
    if failure.since is None:
        return ""
    nights = f"{failure.since.nights} night{'s' if failure.since.nights != 1 else ''}"
    return f"  (failed {nights}, {_when(failure.since, tonight)})"


def _remarks(word: str, remarks: Sequence[NightRemark], most: int, tonight: str) -> Iterator[str]:
    since = [f", {_when(one.since, tonight)}" if one.since is not None else "" for one in remarks]
    texts = [f"{word:<8} {one.case}  {one.text}{when}" for one, when in zip(remarks, since, strict=True)]
    yield from _bounded([one_line(text) for text in texts], most)


def _names(what: str, names: Sequence[str], most: int) -> Iterator[str]:
    if names:
        more = f" and {len(names) - most} more" if len(names) > most else ""
        yield one_line(f"{what}: {', '.join(names[:most])}{more}")


def _bounded(texts: Sequence[str], most: int) -> Iterator[str]:
    yield from texts[:most]
    if len(texts) > most:
        yield f"… and {len(texts) - most} more"


def _first(failures: Iterable[NightFailure]) -> Since | None:
    """The earliest beginning of several series."""
    return min((one.since for one in failures if one.since is not None), key=lambda one: one.started, default=None)


def _when(since: Since, tonight: str) -> str:
    """`since 20 Nov, 8eb0c1f`; `8eb0c1f+` where the work tree was changed, `, gone from git` where it is gone."""
    gone = ", gone from git" if since.gone else ""
    commit = f", {since.commit[:_COMMIT_DIGITS]}{'+' if since.dirty else ''}{gone}" if since.commit else ""
    return f"since {day(since.started, tonight)}{commit}"


def day(started: str, tonight: str) -> str:
    """`20 Nov` of an ISO 8601 time, in this host's time zone; with the year where it is not tonight's."""
    try:
        local, now = (datetime.fromisoformat(text).astimezone() for text in (started, tonight))
    except ValueError:
        return one_line(started)
    year = f" {local.year}" if local.year != now.year else ""
    return f"{local.day} {_MONTHS[local.month - 1]}{year}"

"""Morning report of a night: the changes, new failures by cause, those that still fail, notes.

It is one screen; `report.txt` in the night's folder has all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpuregress.foundation.escapes import entry, one_line
from gpuregress.foundation.records import NightChanges, NightFailure, NightRemark, RunSummary, Since, Suspects, Verdict
from gpuregress.foundation.wording import first_names, joined, plural
from gpuregress.gpu.records import replace
from gpuregress.report import case_lines, terminal
from gpuregress.report.case_lines import job_of
from gpuregress.report.layout import shown

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SEVERITY = ("error", "missing", "fault", "timeout", "differ", "new")
_MOST_NEW = 30
_MOST_OTHERS = 10
_MOST_NAMED = 8
_MOST_JOBS = 20
_MOST_JOBS_NAMED = 3
_MOST_NOTES = 5


def is_worth_telling(summary: RunSummary) -> bool:
    """Whether a night prints anything: something fails, is fixed, was not run, or there is a note."""
    return bool(summary.exit_code or summary.notes or (summary.changes is not None and summary.changes.is_news))


def headline(summary: RunSummary) -> str:
    """`1 new failure: blur — 4 commits since 4f1c2d9, 2 authors; 2 still failing (since 20 Nov, …), 1 fixed`.

    All parts that are not zero, in a fixed order; the jobs of the first one, which is the subject of a mail.
    """
    changes = summary.changes or NightChanges()
    devices = ", ".join(lacking.device for lacking in changes.lacking)
    first = _first(changes.still)
    since = ""
    if first is not None:
        since = f" ({since_text(first, summary.started)})"
    near = "near its tolerance" if len(changes.near) == 1 else "near their tolerance"
    counts = {
        "passing by a reference alone": sum(map(_passes_by_reference_alone, summary.verdicts)),
        "rejected before": sum(bool(verdict.rejected) for verdict in summary.verdicts),
        "no longer known failing": sum(verdict.expired is not None for verdict in summary.verdicts),
        "known failing": len(changes.known),
        "not started": len(changes.no_turn),
        "skipped after timeouts": len(changes.held_back),
        f"skipped (no {devices} on this host)": sum(lacking.cases for lacking in changes.lacking),
    }
    leading = _new_failures(changes)
    others = []
    parts: tuple[tuple[str, Sequence[NightFailure | NightRemark], str], ...] = (
        ("failing differently", changes.changed, ""),
        ("still failing", changes.still, since),
        ("without a baseline", changes.unaccepted, ""),
        ("fixed", changes.fixed, ""),
        ("slower", changes.slower, ""),
        (near, changes.near, ""),
        ("flaky", changes.flaky, ""),
    )
    for what, entries, note in parts:
        if entries and not leading:
            leading = f"{len(entries)} {what}: {_jobs(entries)}{note}"
        elif entries:
            others.append(f"{len(entries)} {what}{note}")
    others += [f"{count} {what}" for what, count in counts.items() if count]
    line = joined("; ", leading, ", ".join(others)) or "nothing new"
    if summary.state != "finished":
        return f"{summary.state}: {line}"
    has_failures = changes.new or changes.changed or changes.still or changes.unaccepted or changes.no_turn
    is_newly_flaky = any(remark.is_new for remark in changes.flaky)
    if summary.exit_code and not has_failures and not is_newly_flaky:
        return f"{line}; the night failed (exit code {summary.exit_code})"
    return line


def _new_failures(changes: NightChanges) -> str:
    """`3 new failures: blur, reduce — 4 commits since 4f1c2d9, 2 authors`; "" without any."""
    if not changes.new:
        return ""
    in_order = [failure for members in by_cause(changes.new) for failure in members]
    text = f"{plural(len(in_order), 'new failure')}: {_jobs(in_order)}"
    ranges = [failure.suspects for failure in changes.new if failure.suspects is not None]
    ranges = [suspects for suspects in ranges if not suspects.gone and not suspects.unknown]
    if not ranges:
        return text
    longest = max(ranges, key=lambda suspects: suspects.commits)
    commits = "no commit"
    if longest.commits:
        commits = plural(longest.commits, "commit")
    if longest.lacking:
        text += f" — {_is_beside(longest)}"
    else:
        text += f" — {commits} since {longest.good[:7]}"
    if longest.authors > 1:
        text += f", {longest.authors} authors"
    if longest.dirty:
        text += ", changed work tree"
    return text


def _jobs(entries: Sequence[NightFailure | NightRemark]) -> str:
    """`blur, scan and 2 more jobs`."""
    return first_names(list(dict.fromkeys(job_of(entry.case) for entry in entries)), _MOST_JOBS_NAMED, "job")


def _passes_by_reference_alone(verdict: Verdict) -> bool:
    """Whether a case passes and there is no baseline that it was compared with."""
    return verdict.status == "pass" and bool(verdict.against) and "baseline" not in verdict.against


def of_owner(summary: RunSummary, address: str) -> RunSummary:
    """Return the part of a night that is of the jobs of one owner.

    Args:
        summary: the night, with its changes.
        address: the owner's.
    """
    changes = summary.changes or NightChanges()
    jobs = {case_lines.parts(owner.job)[0] for owner in changes.owners if owner.address == address}

    def is_owned(case: str) -> bool:
        return job_of(case_lines.parts(case)[0]) in jobs

    lists: dict[str, Any] = {"lacking": ()}
    for name in ("new", "changed", "still", "unaccepted", "fixed", "slower", "near", "known", "flaky"):
        lists[name] = tuple(entry for entry in getattr(changes, name) if is_owned(entry.case))
    for name in ("no_turn", "held_back"):
        lists[name] = tuple(case for case in getattr(changes, name) if is_owned(case))
    owned = replace(changes, **lists)
    verdicts = tuple(verdict for verdict in summary.verdicts if is_owned(verdict.case))
    missing = tuple(missing for missing in summary.missing if is_owned(missing.case))
    is_failing = any(verdict.exit_code and verdict.case not in owned.quarantined for verdict in verdicts)
    return replace(
        summary,
        verdicts=verdicts,
        missing=missing,
        spaces=tuple(space for space in summary.spaces if is_owned(space.job)),
        notes=(),
        exit_code=summary.exit_code if is_failing or missing or owned.no_turn or owned.held_back else 0,
        changes=owned,
    )


def lines(summary: RunSummary, *, root: Path) -> Iterator[str]:
    """One screen for a mail.

    Args:
        summary: the night.
        root: the project's; paths below it are shown relative to it.
    """
    where = f"{shown(summary.folder, root)}/{terminal.FULL_TEXT}"
    yield from _lines(summary, where, is_full=False)
    yield from terminal.how_to_accept(summary, ("new",))
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
    for heading, failures, most in (
        ("", (*changes.new, *changes.unaccepted), most_new),
        ("failing for another cause than before:", changes.changed, most_others),
        ("still failing:", changes.still, most_others),
    ):
        causes = by_cause(failures)
        if causes and heading:
            yield heading
        for cause in causes[:most]:
            yield from _cause_lines(cause, summary, texts, is_full=is_full)
        if len(causes) > most:
            left_out = sum(map(len, causes[most:]))
            yield f"… and {plural(left_out, 'more failure')} of {len(causes) - most} other causes (all in {where})"
    yield from _bounded(list(_fixed_lines(changes.fixed, tonight, is_full=is_full)), most_others)
    for word, remarks in (
        ("slower", changes.slower),
        ("near", changes.near),
        ("flaky", changes.flaky),
        ("known", changes.known),
    ):
        yield from _bounded(list(_remark_lines(word, remarks, tonight, is_full=is_full)), most_others)
    if changes.no_turn:
        yield one_line(f"not started before the deadline: {first_names(changes.no_turn, most_named)}")
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
            time = ""
            if verdict.seconds:  # the case ran
                time = f"  {verdict.seconds:.3f} s"
            texts[case] = (one_line(f"{status} {case}{time}  {failure.diagnosis}"),)
    return texts


def by_cause(failures: Iterable[NightFailure]) -> list[tuple[NightFailure, ...]]:
    """The failures of one cause together, the most severe causes first."""
    groups: dict[tuple[str, ...], list[list[NightFailure]]] = {}
    for failure in sorted(failures, key=lambda failure: _SEVERITY.index(failure.status)):
        key: tuple[str, ...] = (failure.status, failure.cause)
        if failure.status == "error":  # each message may ask for another remedy
            key = (*key, failure.diagnosis)
        alike = groups.setdefault(key, [])
        for members in alike:
            if _may_share_a_cause(failure, members[0]):
                members.append(failure)
                break
        else:
            alike.append([failure])
    return [tuple(members) for alike in groups.values() for members in alike]


def _may_share_a_cause(one: NightFailure, other: NightFailure) -> bool:
    """Whether two failures that look alike may be of one mistake: they are of one job, or have a suspect in common."""
    if job_of(one.case) == job_of(other.case):
        return True
    first, second = _suspected(one), _suspected(other)
    return first == second or not first.isdisjoint(second)


def _suspected(failure: NightFailure) -> frozenset[str]:
    """The commits and the changed files that may be to blame."""
    if failure.suspects is None:
        return frozenset()
    return frozenset((*(suspect.commit for suspect in failure.suspects.touching), *failure.suspects.uncommitted))


def _cause_lines(
    members: Sequence[NightFailure], summary: RunSummary, texts: dict[str, tuple[str, ...]], *, is_full: bool
) -> Iterator[str]:
    """One row for a cause: how many cases, the worst of them, the parameters that they share, the suspects."""
    worst = _worst(members, summary)
    history = _history(worst, summary.started)
    if len(members) == 1:
        first, *more = texts[worst.case]
        yield f"{first}{history}"
        yield from more
    else:
        names = [failure.case for failure in members]
        jobs = first_names(list(dict.fromkeys(map(job_of, names))), _MOST_JOBS, "job")
        example = "as"
        if worst.status == "differ":
            example = "the worst is"
        head = f"{worst.status:<8} {len(members)} cases of {jobs}; {example} {worst.case}: {worst.diagnosis}"
        if worst.status == "missing":
            head = f"{worst.status:<8} {len(members)} cases of {jobs}; {example} {worst.diagnosis}"
        yield f"{one_line(head)}{history}"
        if not is_full:
            yield one_line(f"  {first_names(names, _MOST_NAMED)}")
        if worst.status == "missing":
            yield "  (`gpuregress accept --prune` forgets them)"
        yield from _shared_values(names, summary)
    yield from _suspect_lines(members)
    if is_full and len(members) > 1:
        for failure in members:
            yield from (f"  {line}" for line in texts[failure.case])


def _worst(members: Sequence[NightFailure], summary: RunSummary) -> NightFailure:
    """The failure with the largest error in units of its tolerance, else by itself, else with most that differs."""
    verdicts = {verdict.case: verdict for verdict in summary.verdicts}

    def size(failure: NightFailure) -> tuple[float, float, float]:
        verdict = verdicts.get(failure.case)
        if verdict is None:
            return 0.0, 0.0, 0.0
        largest, share = 0.0, 0.0
        if verdict.extent is not None and verdict.extent.of:
            largest = verdict.extent.max_abs or 0.0
            share = verdict.extent.differing / verdict.extent.of
        return verdict.tolerance_share or 0.0, largest, share

    return max(members, key=size)


def _shared_values(names: Sequence[str], summary: RunSummary) -> Iterator[str]:
    """`  every failing case has n = 1000`, where the cases of a job are those that fail in one way."""
    for space in summary.spaces:
        for group in space.failures:
            if group.alternatives and set(group.cases) <= set(names):
                yield one_line(f"  {space.job}: {group.text}")


def _suspect_lines(members: Sequence[NightFailure]) -> Iterator[str]:
    """The suspects of failures of one cause: those of its cases with the fewest, for one mistake made them all."""
    ranges = [failure.suspects for failure in members if failure.suspects is not None]
    if not ranges:
        return
    ranges.sort(key=lambda suspects: (not suspects.touching, suspects.commits, len(suspects.touching)))
    yield one_line(f"  {suspects_text(ranges[0])}")


def _is_beside(suspects: Suspects) -> str:
    """`4f1c2d9 is not in the history of 8eb0c1f, which has 2 commits more and lacks 1 commit of it`."""
    text = f"{suspects.good[:7]} is not in the history of {suspects.bad[:7]}, which"
    if suspects.commits:
        text += f" has {plural(suspects.commits, 'commit')} more and"
    return f"{text} lacks {plural(suspects.lacking, 'commit')} of it"


def suspects_text(suspects: Suspects) -> str:
    """`suspects: 8eb0c1f Sum in pairs (Ada), and 3 other commits since 4f1c2d9 that touch no file of it`."""
    good = suspects.good[:7]
    if suspects.gone:
        return f"suspects: unknown, because {good} or {suspects.bad[:7]} is gone from git"
    if suspects.unknown:
        return f"suspects: unknown, because {suspects.unknown}"
    text = _known_suspects(suspects)
    if suspects.uncommitted:
        changed = f"uncommitted changes of {', '.join(suspects.uncommitted)}"
        text = f"suspects: {changed}; {text.removeprefix('no ').removeprefix('suspects: ')}"
    if suspects.lost:
        text += f"; {suspects.lost[:7]}, on which it passed later, is gone from git"
    if suspects.lacking:
        text += f"; {_is_beside(suspects)}"
    if suspects.dirty and not suspects.uncommitted:
        text += "; the work tree was changed"
    return text


def _known_suspects(suspects: Suspects) -> str:
    since = f"since {suspects.good[:7]}"
    others = suspects.commits - len(suspects.touching) - suspects.others
    if suspects.touching:
        named = [f"{suspect.commit[:7]} {suspect.subject} ({suspect.author})" for suspect in suspects.touching]
        text = f"suspects: {', '.join(named)}"
        if suspects.others:
            text += f" and {suspects.others} more"
        if others:
            text += f"; {plural(others, 'other commit')} {since}"
        if others and suspects.perhaps:
            text += f", perhaps one of them: not all its files are known ({suspects.perhaps})"
        return text
    if not suspects.commits:
        return f"no suspects: no commit {since}, the last one where it was otherwise"
    if suspects.perhaps:
        text = f"suspects: perhaps one of {others} commits {since}"
        if others == 1:
            text = f"suspects: perhaps the one commit {since}"
        return f"{text}: not all its files are known ({suspects.perhaps})"
    return f"no suspects: none of the {plural(others, 'commit')} {since} touches a file of it"


def _history(failure: NightFailure, tonight: str) -> str:
    text = ""
    if failure.counts_before:
        text += f" (last night: {failure.counts_before})"
    if failure.since is not None:
        text += f" ({since_text(failure.since, tonight)}; {failure.since.nights} nights)"
    if failure.before:
        text += f" (before: {one_line(case_lines.cause_text(failure.before))})"
    return text


def _lasted(failure: NightFailure, tonight: str) -> str:
    if failure.since is None:
        return ""
    return f"  (failed {plural(failure.since.nights, 'night')}{_after_comma(failure.since, tonight)})"


def _fixed_lines(fixed: Sequence[NightFailure], tonight: str, *, is_full: bool) -> Iterator[str]:
    """A line for the cases of a job that were fixed together."""
    groups: dict[tuple[str, str], list[NightFailure]] = {}
    for failure in fixed:
        key = failure.case if is_full else job_of(failure.case)
        groups.setdefault((key, _lasted(failure, tonight)), []).append(failure)
    for (job, lasted), failures in groups.items():
        name = failures[0].case
        if len(failures) > 1:
            name = f"{len(failures)} cases of {job}"
        yield f"fixed    {name}{lasted}"


def _remark_lines(word: str, remarks: Sequence[NightRemark], tonight: str, *, is_full: bool) -> Iterator[str]:
    """A line for the cases of a job that are remarked on, with the worst of them."""
    groups: dict[str, list[NightRemark]] = {}
    for remark in remarks:
        key = remark.case if is_full else job_of(remark.case)
        groups.setdefault(key, []).append(remark)
    for job, members in groups.items():
        worst = max(members, key=lambda remark: remark.size)
        name = worst.case
        if len(members) > 1:
            name = f"{len(members)} cases of {job}; the worst is {worst.case}:"
        yield one_line(f"{word:<8} {name}  {worst.text}{_after_comma(worst.since, tonight)}")


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
    """`20 Nov` of an ISO 8601 time, in UTC as in the names of runs; with the year where it is not tonight's."""
    try:
        moment, now = (datetime.fromisoformat(text).astimezone(UTC) for text in (started, tonight))
    except ValueError:
        return one_line(started)
    text = f"{moment.day} {_MONTHS[moment.month - 1]}"
    if moment.year != now.year:
        text += f" {moment.year}"
    return text

"""Sections of the page of a run, from the changes of a night to the table of every case."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from markupsafe import Markup

from gpuregress.foundation.records import STATUSES, Costs, Coverage, FileCoverage, NightFailure, from_json
from gpuregress.foundation.wording import joined, plural, value_text
from gpuregress.gpu.instruments import merged_coverage
from gpuregress.gpu.records import Record
from gpuregress.report import cost_report, coverage_report, morning
from gpuregress.report.case_lines import cause_text
from gpuregress.report.html import cards, trend
from gpuregress.report.html.cards import RunFacts
from gpuregress.report.html.sources import accepted_text
from gpuregress.report.html.templates import FAILED, fragment

_MOST_SHOWN = 30
_MOST_NAMED = 3

# --- changes of a night -----------------------------------------------------------------------------------------------

_FAILURES = {
    "new": "new failure",
    "changed": "failing differently",
    "still": "still failing",
    "fixed": "fixed",
    "unaccepted": "without a baseline",
}
_REMARKS = {"slower": "slower", "near": "near its tolerance", "known": "known to fail", "flaky": "flaky"}
_SKIPPED = {"no_turn": "not started before the deadline", "held_back": "skipped after timeouts of its kernel"}
_OPEN = ("new", "changed", "fixed")


def changes(night: Mapping[str, Any] | None, anchors: Mapping[str, str]) -> Markup:
    """The section of a night; nothing for other runs.

    Args:
        night: `changes` of results.json, None without them.
        anchors: case → the id of its card.
    """
    if night is None:
        return Markup()
    failures = []
    for key, title in _FAILURES.items():
        found = [from_json(NightFailure, failure) for failure in night.get(key) or ()]
        numbered = f"{len(found)} {title}"
        if key == "new" and len(found) > 1:
            numbered += "s"
        together: list[tuple[NightFailure, ...]] = morning.by_cause(found)
        if key == "fixed":
            together = [(failure,) for failure in found]
        causes = list(map(_cause, together))
        failures.append({"kind": key, "title": numbered, "entries": causes, "is_open": key in _OPEN})
    remarks = []
    for key, title in _REMARKS.items():
        entries = night.get(key) or []
        is_open = any(remark.get("is_new") for remark in entries)
        remarks.append({"title": f"{len(entries)} {title}", "entries": entries, "is_open": is_open})
    skipped = []
    for key, title in _SKIPPED.items():
        cases = night.get(key) or ()
        skipped.append({"title": f"{len(cases)} {title}", "entries": cases})
    lacking = []
    for device in night.get("lacking") or ():
        skipped_cases = f"{device['device']}: {plural(device['cases'], 'case')} skipped"
        lacking.append(joined(", ", skipped_cases, device.get("why", "")))
    against = night.get("unknown")
    if not against and night.get("against"):
        against = f"compared with the night {night['against']}"
    view = {
        "against": against,
        "failures": failures,
        "remarks": remarks,
        "skipped": skipped,
        "lacking": lacking,
        "is_quiet": not lacking and not any(part["entries"] for part in (*failures, *remarks, *skipped)),
    }
    return fragment("sections.html", "changes", view, anchors)


def _cause(members: Sequence[NightFailure]) -> dict[str, Any]:
    """The failures of one cause, with the range of nights and the suspects of the first one that has any."""
    first = members[0]
    since = next((member.since for member in members if member.since is not None), None)
    suspects = next((member.suspects for member in members if member.suspects is not None), None)
    return {
        "first": first,
        "before_text": cause_text(first.before),
        "cases": [member.case for member in members],
        "since_text": morning.since_text(since, since.started) if since is not None else "",
        "suspects_text": morning.suspects_text(suspects) if suspects is not None else "",
    }


# --- instruments ------------------------------------------------------------------------------------------------------


def times(cases: Sequence[Mapping[str, Any]], facts: RunFacts) -> Markup:
    """The section of the times, the slowest first; nothing where no time was compared.

    Args:
        cases: entries of results.json.
        facts: of the run.
    """
    compared = [entry for entry in cases if entry.get("timing_comparison") and _says_something(entry)]
    measured = facts.document.get("false_alarms")
    if not compared and measured is None:
        return Markup()
    statuses = Counter(entry["timing_comparison"]["status"] for entry in compared)
    parts = [f"{statuses[status]} {status}" for status in ("slower", "faster", "same", "unclear") if statuses[status]]
    what = f"{plural(len(compared), 'case')} compared with the accepted times or instruction counts"
    changed = [entry for entry in compared if entry["timing_comparison"]["status"] in ("slower", "faster")]
    changed.sort(key=lambda entry: -float(entry["timing_comparison"].get("ratio") or 0))
    shown = []
    for number, entry in enumerate(changed[:_MOST_SHOWN]):
        chart = trend.charts(facts.past(entry), entry["case"], is_open=True)
        shown.append({"entry": entry, "chart": chart, "is_open": number < _MOST_NAMED})
    return fragment(
        "sections.html",
        "times",
        counts=f"{what}: {', '.join(parts)}" if parts else "",
        false_alarms=_false_alarms(measured) if measured is not None else "",
        cases=shown,
        more=len(changed) - _MOST_SHOWN,
    )


def _says_something(entry: Mapping[str, Any]) -> bool:
    """Whether the time of a case tells of its speed: that of a wrong result does not, unless it is too slow."""
    return entry["verdict"] not in FAILED or bool(entry["timing_comparison"].get("fails"))


def _false_alarms(measured: Mapping[str, Any]) -> str:
    count, of = len(measured["cases"]), measured["compared"]
    rate = 0.0
    if of:
        rate = 100 * count / of
    text = f"A/A, the samples of a case against themselves: {count} of {of} would be false alarms, {rate:.3g} %"
    names = list(measured["cases"][:_MOST_NAMED])
    if count > _MOST_NAMED:
        names.append("…")
    if names:
        text += f" ({', '.join(names)})"
    return text


def variants(cases: Sequence[Mapping[str, Any]]) -> Markup:
    """The section of all cases with variants; nothing without any."""
    varied = [entry for entry in cases if entry.get("variants")]
    if not varied:
        return Markup()
    return fragment("sections.html", "variants", varied[:_MOST_SHOWN], len(varied) - _MOST_SHOWN)


_MOST_LINES = 4000
_MOST_COSTS = 20


def coverage(cases: Sequence[Mapping[str, Any]]) -> Markup:
    """The section of the coverage, all cases together; nothing where it was not counted.

    Args:
        cases: entries of results.json.
    """
    counted = [from_json(Coverage, entry["coverage"]) for entry in cases if entry.get("coverage")]
    if not counted:
        return Markup()
    files = []
    for file in merged_coverage(counted).files:
        totals = ", ".join(f"{total} {name}" for name, total in coverage_report.totals([file]).items() if total.of)
        files.append({"name": Path(file.path).name, "totals": totals, "lines": _covered_lines(file)})
    return fragment("sections.html", "coverage", len(counted), files)


def _covered_lines(file: FileCoverage) -> list[dict[str, Any]]:
    gaps: dict[int, list[str]] = {}
    for gap in coverage_report.gaps(Coverage((file,))):
        gaps.setdefault(gap.line, []).append(gap.text)
    counts = dict(file.lines)
    code = dict(enumerate(coverage_report.source_lines(file.path), 1)) or dict.fromkeys(sorted(counts), "")
    lines = []
    for number, text in list(code.items())[:_MOST_LINES]:
        count = ""
        if number in counts:
            count = f"{counts[number]:,}"
        elif text.strip():
            count = "no code"
        never = "; ".join(gaps.get(number, ()))
        lines.append({"number": number, "count": count, "code": text, "never": never, "is_counted": number in counts})
    return lines


def costs(cases: Sequence[Mapping[str, Any]]) -> Markup:
    """The section of the costs; nothing where they were not counted.

    Args:
        cases: entries of results.json.
    """
    counted = [entry for entry in cases if entry.get("costs")]
    if not counted:
        return Markup()
    shown = []
    for entry in counted[:_MOST_COSTS]:
        of_case = from_json(Costs, entry["costs"])
        files = []
        for path, lines in groupby(cost_report.lines(of_case), lambda line: line.path):
            files.append({"name": Path(path).name, "lines": list(lines)})
        shown.append({"name": entry["case"], "summary": list(cost_report.summary(of_case)), "files": files})
    return fragment("sections.html", "costs", cost_report.COLUMNS, shown, len(counted) - _MOST_COSTS)


# --- parameters and cases ---------------------------------------------------------------------------------------------

SEVERITY = ("error", "timeout", "fault", "differ", "new", "pass", "skip")
"""The verdicts, the most severe first: it gives a cell its colour."""
_MOST_OPEN_ROWS = 1000
"""Rows of the table that are unfolded at first: a browser lays ten thousand out for seconds."""
_ROW_BYTES = 80
_TABLE_BYTES = 1_700_000
"""Bytes of the table with the rows of passing cases that can be opened, about."""
_OPENED_ROW_BYTES, _FEWEST_OPENED_BYTES = 600_000, 30_000
_REASON_BYTES, _SHORTEST_REASON = 1_000_000, 60


def grid(of: Mapping[str, Any]) -> Markup:
    """The table of a `ParameterGrid` in its JSON form."""
    rows = []
    for value, cells in zip(of["y_values"], of["rows"], strict=True):
        rows.append((value_text(value), list(map(_cell, cells))))
    return fragment("sections.html", "grid", of["x"], of["y"], list(map(value_text, of["x_values"])), rows)


def _cell(counts: Mapping[str, int]) -> dict[str, str]:
    statuses = [status for status in SEVERITY if counts.get(status)]
    words = ", ".join(f"{counts[status]} {status}" for status in statuses)
    worst = statuses[0] if statuses else ""
    return {"words": words, "worst": worst}


def case_table(
    cases: Sequence[Mapping[str, Any]], groups: Sequence[Group], anchors: Mapping[str, str], facts: RunFacts
) -> Markup:
    """The section with the controls and the table of every case; the failures first, group by group.

    Args:
        cases: entries of results.json.
        groups: of the failures.
        anchors: case → the id of its card.
        facts: of the run.
    """
    bodies: list[dict[str, Any]] = []
    failed: set[str] = set()
    for number, group in enumerate(groups, 1):
        bodies.append({"number": number, "entries": group.cases})
        failed.update(entry["case"] for entry in group.cases)
    others = [entry for entry in cases if entry["case"] not in failed]
    for _, entries in groupby(others, itemgetter("job")):
        bodies.append({"number": 0, "entries": list(entries)})
    verdicts = {entry["verdict"] for entry in cases}
    statuses: list[str] = [status for status in STATUSES if status in verdicts]
    if not verdicts.isdisjoint(FAILED):
        statuses.insert(0, "failed")
    return fragment(
        "sections.html",
        "case_table",
        cases=len(cases),
        statuses=statuses,
        jobs=list(dict.fromkeys(entry["job"] for entry in cases)),
        bodies=bodies,
        is_open=len(cases) <= _MOST_OPEN_ROWS,
        longest_reason=_longest_reason(cases),
        anchors=anchors,
        opened=_opened_rows(cases, facts),
    )


def _opened_rows(cases: Sequence[Mapping[str, Any]], facts: RunFacts) -> dict[str, Markup]:
    """Case → what its row unfolds, for the first of the cases that pass: their history, and who accepted them."""
    rows: dict[str, Markup] = {}
    left = min(_OPENED_ROW_BYTES, max(_FEWEST_OPENED_BYTES, _TABLE_BYTES - table_bytes(cases)))
    for entry in cases:
        if entry["verdict"] != "pass" or left <= 0:
            continue
        past = facts.past(entry)
        accepted = entry.get("accepted")
        told = cards.of_case(entry, facts)
        if accepted:
            told.insert(0, ("accepted", accepted_text(accepted)))
        rows[entry["case"]] = fragment(
            "sections.html",
            "opened_row",
            facts=told,
            words=trend.in_words(past) if len(past) > 1 else "",
            costs=_cost_lines(entry),
            chart=trend.charts(past, entry["case"]),
        )
        left -= len(rows[entry["case"]])
    return rows


def _cost_lines(entry: Mapping[str, Any]) -> list[str]:
    """What a case cost beside what was accepted, a line each."""
    lines = [str(cost["message"]) for cost in entry.get("cost_comparison") or () if cost.get("message")]
    timing = entry.get("timing_comparison")
    if timing:
        lines.insert(0, f"{timing['status']}: {timing['message']}")
    return lines


def table_bytes(cases: Sequence[Mapping[str, Any]]) -> int:
    """The bytes of the rows, about."""
    longest = _longest_reason(cases)
    return sum(_ROW_BYTES + len(entry["case"]) + min(longest, len(entry["reason"])) for entry in cases)


def _longest_reason(cases: Sequence[Mapping[str, Any]]) -> int:
    """The characters of a reason that a row holds: all of them but on a page of very many cases."""
    return max(_SHORTEST_REASON, _REASON_BYTES // max(1, len(cases)))


# --- groups of failures that are alike --------------------------------------------------------------------------------


class Group(Record):
    """Cases of a job that failed with one verdict for one cause.

    Attributes:
        job: the job's name.
        status: their verdict.
        cause: in words, "" where none is known.
        cases: their entries of results.json, the most telling first.
        shared: what their parameters have in common, in words.
    """

    job: str
    status: str
    cause: str
    cases: tuple[Mapping[str, Any], ...]
    shared: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """`fault: out-of-bounds`, or the verdict alone."""
        if self.cause.startswith(self.status):
            return cause_text(self.cause)
        return joined(": ", self.status, self.cause)


def grouped(failed: Sequence[Mapping[str, Any]], spaces: Sequence[Mapping[str, Any]]) -> tuple[Group, ...]:
    """The groups of failures; jobs and groups in the order of the run, the larger groups of a job first.

    Args:
        failed: entries of results.json.
        spaces: its parameter spaces.
    """
    members: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for entry in failed:
        members.setdefault((entry["job"], entry["verdict"], entry["cause"]), []).append(entry)
    ranks = _ranks(spaces)
    groups = []
    for (job, status, why), entries in members.items():
        simplest_first = sorted(entries, key=lambda entry: ranks.get(entry["case"], 0))
        groups.append(Group(job, status, why, tuple(simplest_first), tuple(_shared(entries, spaces))))
    jobs = dict(zip(dict.fromkeys(entry["job"] for entry in failed), itertools.count(), strict=False))
    return tuple(sorted(groups, key=lambda group: (jobs[group.job], -len(group.cases))))


def _ranks(spaces: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Case → its rank in the group of failures that its parameters decide, the simplest first."""
    ranks: dict[str, int] = {}
    for space in spaces:
        for group in space["failures"]:
            ranks.update(zip(group["cases"], itertools.count(), strict=False))
    return ranks


def _shared(entries: Sequence[Mapping[str, Any]], spaces: Sequence[Mapping[str, Any]]) -> list[str]:
    """The texts on the parameters of these cases, each once."""
    names = {entry["case"] for entry in entries}
    texts: dict[str, None] = {}
    for space in spaces:
        if space["job"] != entries[0]["job"]:
            continue
        for group in space["failures"]:
            if group["alternatives"] and not names.isdisjoint(group["cases"]):
                texts[group["text"]] = None
    return list(texts)

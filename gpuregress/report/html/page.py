"""The page of a run: what changed, the failures by cause, the parameters, then a table of every case.

All of it can be read without scripts. The script only sorts, filters and jumps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from gpuregress.foundation.escapes import visible_html as escape
from gpuregress.foundation.records import STATUSES, NightChanges, RunSummary, from_json
from gpuregress.report import json_report, morning
from gpuregress.report.html import cards, case_table, changes, costs, coverage, parameter_grid, timings, variants
from gpuregress.report.html.cards import RunFacts, Trends
from gpuregress.report.html.drawing import pictures
from gpuregress.report.html.fragments import FAILED, listed, plural, scrolling, status
from gpuregress.report.html.frame import framed
from gpuregress.report.html.groups import Group, grouped

_MOST_NOTES = 8
_MOST_OPEN = 3
"""Groups whose first card is unfolded."""
_CARDS_EACH = 3
"""Cards of a group; its other cases are rows of the table."""
_PAGE_BYTES = 2_700_000
"""Bytes of the page of many cases, about; cards may take what the table leaves, and some in any case."""
_FEWEST_CARD_BYTES, _MOST_CARD_BYTES = 200_000, 1_000_000
_MOST_GROUPS = 200
_MOST_LINKS = 12
_MOST_CELLS = 100
"""Cells of a grid of parameters that is unfolded."""


def render(summary: RunSummary, trends: Trends | None = None) -> str:
    """The page of a run that has just ended.

    Args:
        summary: the run.
        trends: the past results of a case on a device; None without a history.
    """
    return page(json_report.finite(json_report.document(summary)), trends)


def page(document: Mapping[str, Any], trends: Trends | None = None) -> str:
    """The page of a results.json.

    Args:
        document: the content of the file.
        trends: the past results of a case on a device; None without a history.
    """
    facts = RunFacts(document, trends or (lambda _case, _device: ()))
    title = f"gpuregress {document['run']}: {_headline(document)}"
    return framed(title, "\n".join(_body(document, facts)))


def _body(document: Mapping[str, Any], facts: RunFacts) -> Iterator[str]:
    cases, spaces = document["cases"], document.get("parameter_spaces", ())
    failed = [entry for entry in cases if entry["verdict"] in FAILED]
    missing = [line for one in document.get("missing", ()) for line in one["lines"]]
    groups = grouped(failed, spaces)
    yield '<a class="skip-link" href="#main">to the results</a>'
    yield pictures.DEFINITIONS
    yield "<header>"
    yield from _summary(document, facts)
    yield "</header>"
    yield from _contents(groups)
    yield '<main id="main" tabindex="-1">'
    anchors: dict[str, str] = {}
    wrong = list(_wrong(groups, missing, facts, anchors))  # before what links to its cards
    yield from changes.section(document.get("changes"), anchors)
    yield from wrong
    yield from _grids(spaces)
    yield from _new([entry for entry in cases if entry["verdict"] == "new"])
    yield from _notes([note for note in document["notes"] if note not in missing])
    yield from timings.section(cases, facts)
    yield from variants.section(cases)
    yield from coverage.section(cases)
    yield from costs.section(cases)
    yield from case_table.table(cases, groups, anchors)
    yield "</main>"
    yield '<footer class="soft" id="keys" hidden><p>n and p: next and previous failure</p></footer>'


# --- head -------------------------------------------------------------------------------------------------------------


def _summary(document: Mapping[str, Any], facts: RunFacts) -> Iterator[str]:
    counts = _counts(document)
    yield f"<h1>{escape(_headline(document))}</h1>"
    if document.get("changes") is not None:
        yield f"<p>{escape(_counted(document))}</p>"
    stopped = "" if document["state"] == "finished" else f"{document['state']}, "
    parts = (
        f"run {document['run']}",
        document["started"],
        document["device"],
        cards.commit_text(facts, {}) and f"commit {cards.commit_text(facts, {})}",
        facts.of({}, "host") and f"host {facts.of({}, 'host')}",
        facts.of({}, "compiler"),
        f"{document['seconds']:.2f} s",
        f"{stopped}{document['cut']} exit code {document['exit_code']}".strip(),
    )
    yield f'<p class="soft">{escape(" · ".join(str(part) for part in parts if part))}</p>'
    yield _bar(counts)
    yield '<ul class="counts">' + "".join(f"<li>{number} {status(word)}</li>" for word, number in counts) + "</ul>"


def _bar(counts: Sequence[tuple[str, int]]) -> str:
    """The shares of the verdicts as a bar; the list of counts behind it says the same in words."""
    total, at, parts = sum(number for _, number in counts), 0.0, []
    for word, number in counts:
        width = 1000 * number / total
        parts.append(f'<rect class="{word}" x="{at:.2f}" width="{width:.2f}" height="10"/>')
        at += width
    drawn = "".join(parts)
    return f'<svg class="shares" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">{drawn}</svg>'


def _counts(document: Mapping[str, Any]) -> list[tuple[str, int]]:
    verdicts = [entry["verdict"] for entry in document["cases"]]
    return [(word, verdicts.count(word)) for word in STATUSES if word in verdicts]


def _headline(document: Mapping[str, Any]) -> str:
    """The first line: of a night what changed, of another run how many cases failed."""
    changes = document.get("changes")
    if changes is None:
        return _counted(document)
    night = RunSummary(
        run=document["run"],
        folder=document["folder"],
        device=document["device"],
        started=document["started"],
        seconds=0.0,
        verdicts=(),
        state=document["state"],
        exit_code=document["exit_code"],
        changes=from_json(NightChanges, changes),
    )
    return morning.headline(night)


def _counted(document: Mapping[str, Any]) -> str:
    counts, missing = _counts(document), len(document.get("missing", ()))
    text = _outcome(counts, missing, document["exit_code"])
    return text if document["state"] == "finished" else f"{str(document['state']).capitalize()}, {text}"


def _outcome(counts: Sequence[tuple[str, int]], missing: int, exit_code: int) -> str:
    number = sum(count for _, count in counts)
    failed = sum(count for word, count in counts if word in FAILED)
    fresh = sum(count for word, count in counts if word == "new")
    cases = plural(number, "case")
    gone = f"{missing} missing" if missing else ""
    if failed:
        return f"{failed} of {cases} failed{gone and f', {gone}'}"
    if gone:
        return f"{gone}; {cases} ran"
    if fresh:
        return f"{fresh} of {cases} new, the others are well"
    if exit_code:
        return f"The run failed: exit code {exit_code}"
    return f"All is well: {cases}" if number else "No case was run"


def _contents(groups: Sequence[Group]) -> Iterator[str]:
    """Links to the groups, where there are several."""
    if len(groups) < 2:
        return
    state = " open" if len(groups) <= _MOST_LINKS else ""
    yield f'<nav aria-label="failures by cause"><details{state}><summary>Failures by cause: {len(groups)}</summary><ul>'
    for number, group in enumerate(groups[:_MOST_GROUPS], 1):
        text = f"{group.job}, {group.title}"
        count = plural(len(group.cases), "case")
        yield f'<li><a href="#group-{number}">{escape(text)}</a> <span class="soft">{count}</span></li>'
    yield "</ul></details></nav>"


# --- what is wrong ----------------------------------------------------------------------------------------------------


def _wrong(groups: Sequence[Group], missing: Sequence[str], facts: RunFacts, anchors: dict[str, str]) -> Iterator[str]:
    if groups or missing:
        yield '<section aria-labelledby="wrong"><h2 id="wrong">What is wrong</h2>'
        yield from listed("Missing", missing)
        yield from _groups(groups, facts, anchors)
        yield "</section>"


def _groups(groups: Sequence[Group], facts: RunFacts, anchors: dict[str, str]) -> Iterator[str]:
    """Each group with its first cases in full; notes their anchors for the table."""
    left, told = _card_bytes(facts.document["cases"]), set[tuple[str, str]]()
    for number, group in enumerate(groups[:_MOST_GROUPS], 1):
        yield f'<section class="group" aria-labelledby="group-{number}">'
        yield f'<h3 id="group-{number}"><code>{escape(group.job)}</code> {escape(group.title)} '
        yield f'<span class="soft">{plural(len(group.cases), "case")}</span></h3>'
        shared = [text for text in group.shared if (group.job, text) not in told]
        told |= {(group.job, text) for text in shared}
        yield from (f"<p>{escape(text)}</p>" for text in shared)
        shown = 0
        for entry in group.cases[:_CARDS_EACH]:
            anchor = f"c{len(anchors) + 1}"
            text = "\n".join(cards.card(entry, anchor, facts, is_open=number <= _MOST_OPEN and not shown))
            if len(text) > left:
                break
            left, shown, anchors[entry["case"]] = left - len(text), shown + 1, anchor
            yield text
        if more := len(group.cases) - shown:
            what = f"{more} more like it, in the table" if shown else f"{plural(more, 'case')}, in the table"
            yield f'<p><a href="#rows-{number}" data-rows>{what}</a></p>'
        yield "</section>"
    if rest := groups[_MOST_GROUPS:]:
        count = sum(len(group.cases) for group in rest)
        yield f'<p><a href="#rows-{_MOST_GROUPS + 1}">{count} failures of {len(rest)} more causes, in the table</a></p>'


def _card_bytes(cases: Sequence[Mapping[str, Any]]) -> int:
    """The bytes that the cards may take."""
    return max(_FEWEST_CARD_BYTES, min(_MOST_CARD_BYTES, _PAGE_BYTES - case_table.size(cases)))


# --- the rest ---------------------------------------------------------------------------------------------------------


def _grids(spaces: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The verdicts of each job over two parameters; folded where all is well."""
    shown = [space for space in spaces if space["grid"] is not None]
    if not shown:
        return
    yield '<section aria-labelledby="parameters"><h2 id="parameters">Parameters</h2>'
    for space in shown:
        has_failed = any(cell.get(word) for row in space["grid"]["rows"] for cell in row for word in FAILED)
        cells = len(space["grid"]["rows"]) * len(space["grid"]["x_values"])
        state = " open" if has_failed and cells <= _MOST_CELLS else ""
        yield f"<details{state}><summary><code>{escape(space['job'])}</code></summary>"
        yield from scrolling(f"verdicts of {space['job']}", parameter_grid.table(space["grid"]))
        yield "</details>"
    yield "</section>"


def _new(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not cases:
        return
    yield '<section aria-labelledby="new"><h2 id="new">New: nothing to compare with yet</h2>'
    yield from scrolling("new cases", _new_rows(cases))
    yield "</section>"


def _new_rows(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    heads = '<th scope="col">job</th><th scope="col" class="num">cases</th><th scope="col">buffers</th>'
    yield f"<table><thead><tr>{heads}</tr></thead><tbody>"
    for job, entries in groupby(cases, lambda entry: str(entry["job"])):
        group = list(entries)
        names = dict.fromkeys(b["name"] for entry in group for b in entry["buffers"] if b["verdict"] == "new")
        yield f'<tr><th scope="row"><code>{escape(job)}</code></th><td class="num">{len(group)}</td>'
        yield f"<td>{escape(', '.join(names))}</td></tr>"
    yield "</tbody></table>"


def _notes(notes: Sequence[str]) -> Iterator[str]:
    """The notes of the run, folded where there are many."""
    if notes:
        state = "" if len(notes) > _MOST_NOTES else " open"
        items = "".join(f"<li>{escape(note)}</li>" for note in notes)
        yield '<section aria-labelledby="notes"><h2 id="notes">Notes</h2>'
        yield f"<details{state}><summary>{len(notes)} in all</summary><ul>{items}</ul></details></section>"

"""Table of every case, one short row each, which the page's script sorts and filters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from gpuregress.foundation.escapes import visible_html as escape
from gpuregress.foundation.records import STATUSES
from gpuregress.report.html.fragments import FAILED, plural
from gpuregress.report.html.groups import Group

_HEADS = (("verdict", "v"), ("case", "c"), ("s", "s"), ("revision", "r"), ("why", "w"))
_MOST_OPEN = 1000
"""Rows that are unfolded at first."""
_ROW_BYTES = 80
_REASON_BYTES, _SHORTEST_REASON = 1_000_000, 60


def table(cases: Sequence[Mapping[str, Any]], groups: Sequence[Group], anchors: Mapping[str, str]) -> Iterator[str]:
    """The section with the controls and the table; the failures first, group by group.

    Args:
        cases: entries of results.json.
        groups: of the failures.
        anchors: case → the id of its card.
    """
    yield '<section aria-labelledby="every"><h2 id="every">Every case</h2>'
    yield _controls(cases)
    state = " open" if len(cases) <= _MOST_OPEN else ""  # a browser lays ten thousand rows out for seconds
    yield f'<details class="rows"{state}><summary>{plural(len(cases), "row")}, the failures first</summary>'
    yield '<table class="cases" id="cases"><caption class="hidden">every case with its verdict</caption><thead><tr>'
    yield "".join(f'<th scope="col" class="{name}">{head}</th>' for head, name in _HEADS)
    yield "</tr></thead>"
    most = _longest_reason(cases)
    for number, group in enumerate(groups, 1):
        yield f'<tbody id="rows-{number}">'
        yield from (_row(entry, anchors, most) for entry in group.cases)
    failed = {entry["case"] for group in groups for entry in group.cases}
    others = (entry for entry in cases if entry["case"] not in failed)
    for _, entries in groupby(others, lambda entry: str(entry["job"])):
        yield "<tbody>"
        yield from (_row(entry, anchors, most) for entry in entries)
    yield "</table></details></section>"


def size(cases: Sequence[Mapping[str, Any]]) -> int:
    """The bytes of the rows, about."""
    most = _longest_reason(cases)
    return sum(_ROW_BYTES + len(entry["case"]) + min(most, len(entry["reason"])) for entry in cases)


def _longest_reason(cases: Sequence[Mapping[str, Any]]) -> int:
    """The characters of a reason that a row holds: all of them but on a page of very many cases."""
    return max(_SHORTEST_REASON, _REASON_BYTES // max(1, len(cases)))


def _row(entry: Mapping[str, Any], anchors: Mapping[str, str], most: int) -> str:
    """A row without the end tags that HTML can do without: there may be ten thousand."""
    word, name = escape(entry["verdict"]), escape(entry["case"])
    anchor = anchors.get(entry["case"])
    link = f"<a href=#{anchor}>{name}</a>" if anchor else name
    reason = entry["reason"] if len(entry["reason"]) <= most else f"{entry['reason'][:most]}…"
    fails = " data-fails" if entry["verdict"] in FAILED and not anchor else ""
    return (
        f"<tr class={word}{fails}><td>{word}<th scope=row>{link}<td>{entry['seconds']:.3f}"
        f"<td>{escape(entry['revision'])}<td>{escape(reason)}"
    )


def _controls(cases: Sequence[Mapping[str, Any]]) -> str:
    """The controls, which the script shows; without it the whole table is there."""
    there = {entry["verdict"] for entry in cases}
    statuses = [*(["failed"] if there & set(FAILED) else []), *(word for word in STATUSES if word in there)]
    options = "".join(f"<option>{word}</option>" for word in statuses)
    jobs = "".join(f"<option>{escape(job)}</option>" for job in dict.fromkeys(entry["job"] for entry in cases))
    return (
        '<form id="filter" role="search" aria-label="filter the cases" hidden>'
        f'<label>verdict <select id="by-status"><option value="">all</option>{options}</select></label>'
        f'<label>job <select id="by-job"><option value="">all</option>{jobs}</select></label>'
        '<label>text <input type="search" id="by-text" autocomplete="off"></label>'
        '<button type="reset">show all</button>'
        f'<output id="shown" aria-live="polite">{plural(len(cases), "case")}</output>'
        "</form>"
    )

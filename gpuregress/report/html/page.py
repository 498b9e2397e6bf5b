"""The page of a run: what changed, the failures by cause, the parameters, then a table of every case.

All of it can be read without scripts. The script only sorts, filters and jumps.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from gpuregress.foundation.records import STATUSES, NightChanges, RunSummary, from_json
from gpuregress.foundation.wording import plural
from gpuregress.report import json_report, morning
from gpuregress.report.html import cards, pictures, sections, templates
from gpuregress.report.html.cards import RunFacts, Trends, no_trend
from gpuregress.report.html.sections import Group, grouped
from gpuregress.report.html.sources import SourceViews, VersionsOf, no_versions
from gpuregress.report.html.templates import FAILED

_MOST_OPEN = 3
"""Groups whose first card is unfolded."""
_CARDS_EACH = 3
"""Cards of a group; its other cases are rows of the table."""
_PAGE_BYTES = 2_700_000
"""Bytes of the page of many cases, about; cards may take what the table leaves, and some in any case."""
_FEWEST_CARD_BYTES, _MOST_CARD_BYTES = 200_000, 1_000_000
_MOST_GROUPS = 200
_MOST_CELLS = 100
"""Cells of a grid of parameters that is unfolded."""


def render(summary: RunSummary, trends: Trends = no_trend, versions: VersionsOf = no_versions) -> str:
    """The page of a run that has just ended.

    Args:
        summary: the run.
        trends: the past results of a case on a device.
        versions: the sources of a case.
    """
    return page(json_report.finite(json_report.document(summary)), trends, versions)


def page(document: Mapping[str, Any], trends: Trends = no_trend, versions: VersionsOf = no_versions) -> str:
    """The page of a results.json.

    Args:
        document: the content of the file.
        trends: the past results of a case on a device.
        versions: the sources of a case.
    """
    facts = RunFacts(document, trends, SourceViews(versions))
    cases, spaces = document["cases"], document["parameter_spaces"]
    missing = list(itertools.chain.from_iterable(absent["lines"] for absent in document["missing"]))
    groups = grouped([entry for entry in cases if entry["verdict"] in FAILED], spaces)
    anchors: dict[str, str] = {}
    shown_groups = _shown_groups(groups, facts, anchors)  # before what links to their cards
    headline = _headline(document)
    below = (
        sections.times(cases, facts),
        sections.variants(cases),
        sections.coverage(cases),
        sections.costs(cases),
        sections.case_table(cases, groups, anchors, facts),
    )
    return templates.render(
        "page.html",
        title=f"gpuregress {document['run']}: {headline}",
        scales=pictures.SCALES,
        headline=headline,
        counted=_counted(document) if document.get("changes") is not None else "",
        facts=_facts(document, facts),
        shares=_shares(document),
        groups=groups,
        shown_groups=shown_groups,
        other_groups=len(groups[_MOST_GROUPS:]),
        other_failures=sum(len(group.cases) for group in groups[_MOST_GROUPS:]),
        missing=missing,
        changes=sections.changes(document.get("changes"), anchors),
        grids=_grids(spaces),
        new_jobs=_new_jobs([entry for entry in cases if entry["verdict"] == "new"]),
        notes=[note for note in document["notes"] if note not in missing],
        sections=below,
    )


# --- head -------------------------------------------------------------------------------------------------------------


def _facts(document: Mapping[str, Any], facts: RunFacts) -> list[str]:
    """The run in a line: its name, when and where it ran, how it ended."""
    parts = [f"run {document['run']}", document["started"], document["device"]]
    for name, text in (("commit", facts.commit({})), ("host", facts.of({}, "host"))):
        if text:
            parts.append(f"{name} {text}")
    end = f"{document['cut']} exit code {document['exit_code']}"
    if document["state"] != "finished":
        end = f"{document['state']}, {end}"
    parts += [facts.of({}, "compiler"), f"{document['seconds']:.2f} s", end.strip()]
    return [str(part) for part in parts if part]


def _counts(document: Mapping[str, Any]) -> Counter[str]:
    """The number of cases with each verdict, in the order of the verdicts."""
    verdicts = Counter(entry["verdict"] for entry in document["cases"])
    return Counter({status: verdicts[status] for status in STATUSES if status in verdicts})


def _shares(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The verdicts with their numbers and their parts of a bar of 1000 units."""
    start = 0.0
    shares = []
    for status, count in _counts(document).items():
        width = 1000 * count / len(document["cases"])
        shares.append({"status": status, "count": count, "start": start, "width": width})
        start += width
    return shares


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


_ENDS = {"finished": "", "running": ", is running", "interrupted": ", was interrupted", "cut short": ", was cut short"}
"""The states of a shard, as its name goes on."""


def _counted(document: Mapping[str, Any]) -> str:
    outcome, state = _outcome(document), str(document["state"])
    within = outcome[:1].lower() + outcome[1:]
    shard = document.get("shard")
    if shard is not None:
        left_out = plural(len(shard["left_out"]), "case")
        name = f"Shard {shard['number']} of {shard['count']}, which leaves out {left_out}"
        return f"{name}{_ENDS[state]}: {within}"
    if state != "finished":
        return f"{state.capitalize()}, {within}"
    return outcome


def _outcome(document: Mapping[str, Any]) -> str:
    """How many cases failed; "All is well" only where each case ran, but those that a rule of its job leaves out."""
    counts = _counts(document)
    cases, missing = plural(counts.total(), "case"), len(document["missing"])
    failed = sum(counts[status] for status in FAILED)
    skipped = [entry for entry in document["cases"] if entry["verdict"] == "skip"]
    by_rule = sum(bool(entry.get("infeasible") or entry.get("known_failing")) for entry in skipped)
    judged = {entry["case"] for entry in document["cases"]}
    unfinished = [name for name in document["unfinished"] if name not in judged]
    others = ""
    if unfinished:
        others += f", {len(unfinished)} without a result"
    if len(skipped) > by_rule:
        others += f", {len(skipped) - by_rule} skipped"
    if failed and missing:
        return f"{failed} of {cases} failed, {missing} missing{others}"
    if failed:
        return f"{failed} of {cases} failed{others}"
    if missing and not unfinished:
        return f"{missing} missing; {cases} ran{others}"
    if counts["new"]:
        if document["state"] == "finished" and not others:
            others = ", the others are well"
        return f"{counts['new']} of {cases} new{others}"
    if unfinished and counts:
        return f"{counts['pass']} of {cases} passed{others}"
    if document["exit_code"]:
        return f"The run failed: exit code {document['exit_code']}"
    if not counts:
        return "No case was run"
    if others:
        return f"{counts['pass']} of {cases} passed{others}"
    if by_rule:
        return f"All is well: {plural(counts['pass'], 'case')}, and {by_rule} that a rule leaves out"
    return f"All is well: {cases}"


# --- the parts --------------------------------------------------------------------------------------------------------


def _shown_groups(groups: Sequence[Group], facts: RunFacts, anchors: dict[str, str]) -> list[dict[str, Any]]:
    """The first groups, each with its first cases in full; notes the anchors of these, which others link to."""
    cases = facts.document["cases"]
    bytes_left = max(_FEWEST_CARD_BYTES, min(_MOST_CARD_BYTES, _PAGE_BYTES - sections.table_bytes(cases)))
    told = set[tuple[str, str]]()
    shown = []
    for number, group in enumerate(groups[:_MOST_GROUPS], 1):
        shared = [text for text in group.shared if (group.job, text) not in told]
        told |= {(group.job, text) for text in shared}
        group_cards: list[str] = []
        for entry in group.cases[:_CARDS_EACH]:
            anchor = f"c{len(anchors) + 1}"
            is_open = number <= _MOST_OPEN and not group_cards
            card = cards.card(entry, anchor, facts, is_open=is_open)
            if len(card) > bytes_left:
                break
            bytes_left -= len(card)
            anchors[entry["case"]] = anchor
            group_cards.append(card)
        shown.append(
            {
                "job": group.job,
                "title": group.title,
                "count": len(group.cases),
                "shared": shared,
                "cards": group_cards,
            }
        )
    return shown


def _grids(spaces: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The verdicts of each job over two parameters; folded where all is well."""
    grids = []
    for space in spaces:
        grid = space["grid"]
        if grid is None:
            continue
        has_failed = any(not FAILED.isdisjoint(cell) for row in grid["rows"] for cell in row)
        is_small = len(grid["rows"]) * len(grid["x_values"]) <= _MOST_CELLS
        grids.append({"job": space["job"], "is_open": has_failed and is_small, "table": sections.grid(grid)})
    return grids


def _new_jobs(cases: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The jobs that have nothing to compare with yet, with their new buffers."""
    jobs = []
    for name, entries in itertools.groupby(cases, itemgetter("job")):
        number = 0
        buffers: dict[str, None] = {}
        for entry in entries:
            number += 1
            buffers |= dict.fromkeys(buffer["name"] for buffer in entry["buffers"] if buffer["verdict"] == "new")
        jobs.append({"name": name, "cases": number, "buffers": list(buffers)})
    return jobs

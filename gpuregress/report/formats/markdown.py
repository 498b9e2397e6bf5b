"""Markdown report: a table of the failures, each with its details folded away."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.records import RunSummary
from gpuregress.report.entries import ReportEntry, entries, title

MOST_ROWS = 100
MOST_DETAILED = 20
_MOST_LINES = 40
_MOST_NOTES = 20
_MOST_SHORT_ROWS = 24
_MOST_SHORT_NOTES = 6
_MOST_JOBS = 5
_CODE_SPECIAL = re.compile(r"[|`\\*_\[\]<>&~$@:]")
_SPECIAL = re.compile(r"[\\`*_{}\[\]()#+!|~$@-]")


def render(summary: RunSummary, root: Path) -> str:
    """The run as GitHub-flavoured Markdown, short enough for a comment."""
    found = [entry for entry in entries(summary, root) if entry.is_news]
    lines = [*_head(summary), *_table(found, MOST_ROWS), *_details(found)]
    if not _has_failed_without_cases(summary):  # then they are the title and the details
        lines += _notes(summary, _MOST_NOTES)
    return "\n".join(lines).rstrip() + "\n"


def short(summary: RunSummary, root: Path) -> str:
    """The run as GitHub-flavoured Markdown of at most 40 lines: the summary of a CI step."""
    found = [entry for entry in entries(summary, root) if entry.is_news]
    lines = [*_head(summary), *_table(found, _MOST_SHORT_ROWS), *_notes(summary, _MOST_SHORT_NOTES)]
    return "\n".join(lines).rstrip() + "\n"


def _head(summary: RunSummary) -> Iterator[str]:
    mark = "❌" if summary.exit_code else "✅"
    yield from (f"## {mark} gpuregress", "", text(title(summary)), "")


def _table(found: Sequence[ReportEntry], most: int) -> Iterator[str]:
    if not found:
        return
    yield from ("| verdict | case | message | where |", "| --- | --- | --- | --- |")
    for entry in found[:most]:
        where = entry.path
        if entry.line:
            where += f":{entry.line}"
        yield f"| {entry.status} | {code(entry.name)} | {text(entry.message)} | {code(where)} |"
    left = Counter(entry.group for entry in found[most:])
    if left:
        parts = [f"{count} of {text(job)}" for job, count in left.most_common(_MOST_JOBS)]
        if len(left) > _MOST_JOBS:
            parts.append("…")
        yield ""
        yield f"… and {left.total()} more ({', '.join(parts)})"
    yield ""


def _details(found: Sequence[ReportEntry]) -> Iterator[str]:
    detailed = [entry for entry in found if entry.details and entry.details != (entry.message,)]
    for entry in detailed[:MOST_DETAILED]:
        yield f"<details><summary>{html.escape(one_line(entry.name))}</summary>"
        yield ""
        lines = list(entry.details[:_MOST_LINES])
        if len(entry.details) > _MOST_LINES:
            lines.append(f"… and {len(entry.details) - _MOST_LINES} more lines")
        block = html.escape("\n".join(lines))
        yield f"<pre>{block}</pre>"
        yield ""
        yield "</details>"
        yield ""


def _has_failed_without_cases(summary: RunSummary) -> bool:
    return bool(summary.exit_code) and not summary.verdicts and not summary.missing


def _notes(summary: RunSummary, most: int) -> Iterator[str]:
    notes = [*summary.notes, *summary.remarks]
    if _has_failed_without_cases(summary):
        # The first one is the title, and each problem has a row.
        rows = {problem.message.partition("\n")[0] for problem in summary.problems}
        notes = [note for note in notes[1:] if note not in rows]
    for note in notes[:most]:
        yield f"- {text(note)}"
    if notes[most:]:
        yield f"- … and {len(notes) - most} more notes"


def text(raw: str) -> str:
    """Text in which nothing is Markdown or HTML."""
    escaped = _SPECIAL.sub(lambda match: "\\" + match[0], html.escape(one_line(raw), quote=False))
    return escaped.replace("://", "\\://")


def code(raw: str) -> str:
    """Text in a fixed-width font; a code span would end at a backtick or a cell's bar."""
    shown = one_line(raw).strip()
    if not shown:
        return ""
    escaped = _CODE_SPECIAL.sub(lambda match: f"&#{ord(match[0])};", shown)
    return f"<code>{escaped}</code>"

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
_SPECIAL = re.compile(r"[\\`*_{}\[\]()#+!|~$@-]")


def render(summary: RunSummary, root: Path) -> str:
    """The run as GitHub-flavoured Markdown, short enough for a comment or the summary of a CI step."""
    found = [one for one in entries(summary, root) if one.level not in ("passed", "skipped")]
    mark = "❌" if summary.exit_code else "✅"
    lines = [f"## {mark} gpuregress", "", text(title(summary)), ""]
    lines += [*_table(found), *_details(found), *_notes(summary)]
    return "\n".join(lines).rstrip() + "\n"


def _table(found: Sequence[ReportEntry]) -> Iterator[str]:
    if not found:
        return
    yield from ("| verdict | case | message | where |", "| --- | --- | --- | --- |")
    for one in found[:MOST_ROWS]:
        where = f"{one.path}:{one.line}" if one.line else one.path
        yield f"| {one.status} | {code(one.name)} | {text(one.message)} | {code(where)} |"
    left = Counter(one.group for one in found[MOST_ROWS:])
    if left:
        of = ", ".join(f"{count} of {text(job)}" for job, count in left.most_common(5))
        yield ""
        yield f"… and {left.total()} more ({of}{', …' if len(left) > 5 else ''})"
    yield ""


def _details(found: Sequence[ReportEntry]) -> Iterator[str]:
    for one in [one for one in found if one.details and one.details != (one.message,)][:MOST_DETAILED]:
        yield f"<details><summary>{html.escape(one_line(one.name))}</summary>"
        yield ""
        lines = one.details[:_MOST_LINES]
        more = [f"… and {len(one.details) - len(lines)} more lines"] if one.details[_MOST_LINES:] else []
        yield f"<pre>{html.escape(chr(10).join((*lines, *more)))}</pre>"
        yield ""
        yield "</details>"
        yield ""


def _notes(summary: RunSummary) -> Iterator[str]:
    if not summary.verdicts and not summary.missing:
        return  # they are the title and the details
    notes = (*summary.notes, *summary.remarks)
    yield from (f"- {text(note)}" for note in notes[:_MOST_NOTES])
    if notes[_MOST_NOTES:]:
        yield f"- … and {len(notes) - _MOST_NOTES} more notes"


def text(raw: str) -> str:
    """Text in which nothing is Markdown or HTML."""
    escaped = _SPECIAL.sub(lambda match: "\\" + match[0], html.escape(one_line(raw), quote=False))
    return escaped.replace("://", "\\://")


def code(raw: str) -> str:
    """Text in a fixed-width font; a code span would end at a backtick or a cell's bar."""
    shown = one_line(raw).strip()
    if not shown:
        return ""
    escaped = "".join(f"&#{ord(sign)};" if sign in "|`\\*_[]<>&~$@:" else sign for sign in shown)
    return f"<code>{escaped}</code>"

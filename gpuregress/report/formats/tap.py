"""TAP version 14: the Test Anything Protocol, a test point for each case."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.records import RunSummary
from gpuregress.report.entries import ReportEntry, entries

_SPECIAL = re.compile(r"[\\#]")
_DIRECTIVES = {"skipped": "SKIP", "known": "TODO"}
_SEVERITIES = {"error": "error", "known": "todo", "failure": "fail"}
_NOT_YAML = re.compile("[\ufffe\uffff]")


def render(summary: RunSummary, root: Path) -> str:
    """The run as TAP: a failure has a YAML block with its message, severity and location."""
    found = entries(summary, root)
    return "\n".join(["TAP version 14", f"1..{len(found)}", *_points(found)]) + "\n"


def _points(found: tuple[ReportEntry, ...]) -> Iterator[str]:
    for number, entry in enumerate(found, 1):
        word = "not ok" if entry.is_news else "ok"
        yield f"{word} {number} - {_text(entry.name)}{_directive(entry)}"
        if entry.is_news:
            yield from _block(entry)


def _directive(entry: ReportEntry) -> str:
    if entry.level not in _DIRECTIVES:
        return ""
    return f" # {_DIRECTIVES[entry.level]} {_text(entry.message)}".rstrip()


def _block(entry: ReportEntry) -> Iterator[str]:
    """The YAML block of a test point."""
    yield "  ---"
    yield f"  message: {_scalar(entry.message)}"
    yield f"  severity: {_SEVERITIES[entry.level]}"
    yield f"  verdict: {entry.status}"
    if entry.path:
        yield "  at:"
        yield f"    file: {_scalar(entry.path)}"
        if entry.line:
            yield f"    line: {entry.line}"
    yield f"  duration_ms: {entry.seconds * 1000:.3f}"
    if entry.details:
        yield "  details:"
        for line in entry.details:
            yield f"    - {_scalar(line)}"
    yield "  ..."


def _text(text: str) -> str:
    return _SPECIAL.sub(lambda match: "\\" + match[0], one_line(text))


def _scalar(text: str) -> str:
    """A YAML scalar: a JSON string, but for characters that JSON escapes as surrogate pairs."""
    return _NOT_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))

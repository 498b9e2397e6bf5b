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
_NOT_YAML = re.compile("[\ufffe\uffff]")


def render(summary: RunSummary, root: Path) -> str:
    """The run as TAP: a failure has a YAML block with its message, severity and location."""
    found = entries(summary, root)
    return "\n".join(["TAP version 14", f"1..{len(found)}", *_points(found)]) + "\n"


def _points(found: tuple[ReportEntry, ...]) -> Iterator[str]:
    for number, one in enumerate(found, 1):
        word = "ok" if one.level in ("passed", "skipped") else "not ok"
        yield f"{word} {number} - {_text(one.name)}{_directive(one)}"
        if one.level not in ("passed", "skipped"):
            yield from _block(one)


def _directive(one: ReportEntry) -> str:
    word = {"skipped": "SKIP", "known": "TODO"}.get(one.level)
    return f" # {word} {_text(one.message)}".rstrip() if word else ""


def _block(one: ReportEntry) -> Iterator[str]:
    """The YAML block of a test point."""
    yield "  ---"
    yield f"  message: {_scalar(one.message)}"
    yield f"  severity: {'error' if one.level == 'error' else 'todo' if one.level == 'known' else 'fail'}"
    yield f"  verdict: {one.status}"
    if one.path:
        yield "  at:"
        yield f"    file: {_scalar(one.path)}"
        if one.line:
            yield f"    line: {one.line}"
    yield f"  duration_ms: {one.seconds * 1000:.3f}"
    if one.details:
        yield "  details:"
        yield from (f"    - {_scalar(line)}" for line in one.details)
    yield "  ..."


def _text(text: str) -> str:
    return _SPECIAL.sub(lambda match: "\\" + match[0], one_line(text))


def _scalar(text: str) -> str:
    """A YAML scalar: a JSON string, but for characters that JSON escapes as surrogate pairs."""
    return _NOT_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))

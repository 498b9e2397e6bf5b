"""A run as one HTML page that needs nothing else: no script, no font, no picture from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from gpuregress.records import WORDS, RunSummary
from gpuregress.report import json_report

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #1d2129 }
h1 { font-size: 1.4em } code, pre { font: 13px/1.4 ui-monospace, monospace } .num { text-align: right }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .3em .7em; vertical-align: top }
tr { border-bottom: 1px solid #dde1e7 } th { color: #5a6472; font-weight: 600 } details { margin: .2em 0 }
.word { font-weight: 600 } .pass { color: #1a7f37 } .differ, .fault, .timeout { color: #c62828 }
.new { color: #9a6700 } .error { color: #8e24aa } .skip { color: #6b7480 } .note { color: #5a6472 }
@media (prefers-color-scheme: dark) { body { background: #14171c; color: #dfe3ea } tr { border-color: #2c323c } }
"""


def render(summary: RunSummary) -> str:
    """The page of a run that has just ended."""
    return page(json_report.finite(json_report.document(summary)))


def page(document: dict[str, Any]) -> str:
    """The page of a results.json.

    Args:
        document: as it was read.
    """
    title = escape(f"gpuregress {document['run']}")
    body = "\n".join(_body(document))
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n'
    )


def _body(document: dict[str, Any]) -> Iterator[str]:
    words = [entry["verdict"] for entry in document["cases"]]
    counts = ", ".join(
        f'<span class="word {word}">{words.count(word)} {word}</span>' for word in WORDS if word in words
    )
    yield f"<h1>Run {escape(document['run'])}</h1>"
    facts = f"{escape(document['device'])}, {escape(document['started'])}, {document['seconds']:.2f} s"
    yield f"<p>{counts or 'no case'}. {facts}, exit code {document['exit_code']}.</p>"
    yield from (f'<p class="note">{escape(note)}</p>' for note in document["notes"])
    yield "<table><tr><th>verdict</th><th>case</th><th>revision</th><th>s</th><th>why</th></tr>"
    for entry in document["cases"]:
        yield from _row(entry)
    yield "</table>"


def _row(entry: dict[str, Any]) -> Iterator[str]:
    word = escape(entry["verdict"])
    yield f'<tr><td class="word {word}">{word}</td><td><code>{escape(entry["case"])}</code></td>'
    yield f"<td>{escape(entry['revision'])}</td>"
    yield f'<td class="num">{entry["seconds"]:.3f}</td><td>{escape(entry["reason"])}'
    lines = list(_details(entry))
    if lines:
        text = escape("\n".join(lines))
        yield f"<details><summary>more</summary><pre>{text}</pre></details>"
    yield "</td></tr>"


def _details(entry: dict[str, Any]) -> Iterator[str]:
    yield from (f"changed since the baseline: {change}" for change in entry["changes"])
    fault = entry.get("fault")
    if fault:
        yield from (str(line) for line in fault["details"])
    for buffer in entry["buffers"]:
        if buffer["verdict"] in ("pass", "skip"):
            continue
        yield f"{buffer['name']}: {buffer['message'] or buffer['verdict']}, {buffer['differing']} of {buffer['of']}"
        yield from (f"  looks like: {finding}" for finding in buffer["findings"])
        worst = buffer["worst"]
        if worst:
            yield f"  worst [{worst['index']}]: {worst['actual']}, was {worst['expected']}"
        yield from (f"  {kind}  {buffer[kind]}" for kind in ("dump", "baseline") if buffer[kind])
    yield from (f"note: {note}" for note in entry["notes"])
    if entry.get("output"):
        yield "the kernels printed:"
        yield entry["output"]

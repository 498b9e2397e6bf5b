"""Workflow commands of GitHub Actions: an annotation for each failure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpuregress.foundation.records import RunSummary
from gpuregress.report.entries import ReportEntry, entries, title
from gpuregress.report.formats import markdown
from gpuregress.report.layout import spread

MOST_ANNOTATIONS = 10
"""GitHub shows ten errors of a step; further ones are dropped without a word."""
MOST_SUMMARY_BYTES = 1024 * 1024
"""GitHub refuses a longer summary of a step."""
_MOST_LINES = 12


def render(summary: RunSummary, root: Path) -> str:
    """One `::error` for each failure, the first ones of each job before further ones; then one for all the others."""
    return "".join(f"{line}\n" for line in _commands(summary, root))


def step_summary(summary: RunSummary, root: Path) -> str:
    """The text for GITHUB_STEP_SUMMARY: the Markdown report on one screen, within GitHub's limit."""
    text = markdown.short(summary, root)
    if len(text.encode()) < MOST_SUMMARY_BYTES:
        return text
    return f"## gpuregress\n\n{markdown.text(title(summary))}\n\nThe whole report is too long for this page.\n"


def _commands(summary: RunSummary, root: Path) -> Iterator[str]:
    found = entries(summary, root)
    failures = [entry for entry in found if entry.is_failure]
    shown = failures
    if len(failures) > MOST_ANNOTATIONS:
        positions = spread(entry.group for entry in failures)
        shown = [failures[position] for position in positions[: MOST_ANNOTATIONS - 1]]
    for entry in shown:
        yield _command("error", entry)
    if len(failures) > len(shown):
        more = f"… and {len(failures) - len(shown)} more failures: {title(summary)}"
        yield f"::error title=gpuregress::{_data(more)}"
    known = [entry for entry in found if entry.level == "known"]
    for entry in known[:MOST_ANNOTATIONS]:
        yield _command("notice", entry)


def _command(word: str, entry: ReportEntry) -> str:
    properties = []
    if entry.path:
        properties.append(f"file={_property(entry.path)}")
        if entry.line:
            properties.append(f"line={entry.line}")
    heading = "gpuregress" if entry.status == "run" else f"{entry.status} {entry.name}"
    properties.append(f"title={_property(heading)}")
    text = "\n".join((entry.message, *entry.further_details[:_MOST_LINES]))
    return f"::{word} {','.join(properties)}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

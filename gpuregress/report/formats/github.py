"""Workflow commands of GitHub Actions: an annotation for each failure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpuregress.foundation.records import RunSummary
from gpuregress.report.entries import ReportEntry, entries, title
from gpuregress.report.formats import markdown

MOST_ANNOTATIONS = 10
"""GitHub shows ten errors of a step; further ones are dropped without a word."""
MOST_SUMMARY_BYTES = 1024 * 1024
"""GitHub refuses a longer summary of a step."""
_MOST_LINES = 12


def render(summary: RunSummary, root: Path) -> str:
    """One `::error` for each failure, the first ones of each job before further ones; then one for all the others."""
    return "".join(f"{line}\n" for line in _commands(summary, root))


def step_summary(summary: RunSummary, root: Path) -> str:
    """The text for GITHUB_STEP_SUMMARY: the Markdown report, within GitHub's limit."""
    text = markdown.render(summary, root)
    if len(text.encode()) < MOST_SUMMARY_BYTES:
        return text
    return f"## gpuregress\n\n{markdown.text(title(summary))}\n\nThe whole report is too long for this page.\n"


def _commands(summary: RunSummary, root: Path) -> Iterator[str]:
    found = entries(summary, root)
    failures = [one for one in found if one.is_failure]
    shown = failures if len(failures) <= MOST_ANNOTATIONS else _spread(failures)[: MOST_ANNOTATIONS - 1]
    yield from (_command("error", one) for one in shown)
    if left := len(failures) - len(shown):
        yield f"::error title=gpuregress::{_data(f'… and {left} more failures: {title(summary)}')}"
    yield from (_command("notice", one) for one in [one for one in found if one.level == "known"][:MOST_ANNOTATIONS])


def _spread(failures: list[ReportEntry]) -> list[ReportEntry]:
    """One of each job before a second of any."""
    ranks: dict[str, int] = {}
    ranked = []
    for one in failures:
        ranks[one.group] = ranks.get(one.group, -1) + 1
        ranked.append((ranks[one.group], one))
    return [one for _, one in sorted(ranked, key=lambda pair: pair[0])]


def _command(word: str, one: ReportEntry) -> str:
    properties = [f"file={_property(one.path)}"] if one.path else []
    properties += [f"line={one.line}"] if one.path and one.line else []
    title_ = "gpuregress" if one.status == "run" else f"{one.status} {one.name}"
    properties.append(f"title={_property(title_)}")
    details = [line for line in one.details if line != one.message][:_MOST_LINES]
    return f"::{word} {','.join(properties)}::{_data(chr(10).join((one.message, *details)))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

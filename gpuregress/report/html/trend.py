"""Trend of a case over its last runs: its verdicts in words and marks, and a chart of its times."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup

from gpuregress.foundation.records import PastResult
from gpuregress.foundation.wording import joined, plural
from gpuregress.gpu.records import Record
from gpuregress.report.html.templates import FAILED, fragment

LAST = 20
"""Runs of a trend."""
_STEP = 14
"""Pixels from one mark to the next."""
_BOX = {"left": 56, "width": 320, "height": 84}
_CHARACTER = 8
"""Pixels of a character of a label, about."""
_TIMES = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))
_COUNTS = (("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))


def strip(past: Sequence[PastResult], run: str) -> Markup:
    """The last verdicts in words and as a row of marks, the newest to the right; nothing without an earlier run.

    Args:
        past: the newest first.
        run: the run of the page, which is marked.
    """
    results = list(reversed(past[:LAST]))
    if len(results) < 2:
        return Markup()
    marks = []
    for number, result in enumerate(results):
        label = f"{_day(result)}: {result.verdict}, {_revision(result)}"
        left = 2 + number * _STEP
        marks.append({"label": label, "verdict": result.verdict, "left": left, "is_here": result.run == run})
    return fragment("trend.html", "strip", marks, len(results) * _STEP + 2, in_words(past))


def in_words(past: Sequence[PastResult]) -> str:
    """`last 20 runs: 14 pass, then 6 differ (since 20 Nov, 8eb0c1f)`.

    Args:
        past: the newest first.
    """
    results = list(reversed(past[:LAST]))
    series = [(verdict, list(group)) for verdict, group in groupby(results, lambda result: result.verdict)]
    shown = series[-4:]
    parts = [f"{len(group)} {verdict}" for verdict, group in shown]
    text = ", then ".join(parts)
    if len(series) > len(shown):
        text = f"… {text}"
    if len(series) > 1:
        first = shown[-1][1][0]
        text += f" (since {joined(', ', _day(first), first.short_commit)})"
    return f"last {plural(len(results), 'run')}: {text}"


def charts(past: Sequence[PastResult], what: str, *, is_open: bool = False) -> Markup:
    """The times and the counted instructions over the last runs, with the revision where it changes.

    Nothing of fewer than three runs. The times are those of the launches where every run has them, else of the whole
    cases.

    Args:
        past: the newest first.
        what: the case.
        is_open: whether the times are unfolded at first.
    """
    results = [result for result in reversed(past[:LAST]) if result.seconds > 0]
    if len(results) < 3:
        return Markup()
    what_is_timed = "launches"
    seconds = [result.launch_seconds for result in results if result.launch_seconds]
    if len(seconds) < len(results):
        what_is_timed = "case"
        seconds = [result.seconds for result in results]
    unit, scale = _unit(_TIMES, max(seconds))
    quantity = Quantity("Times over runs", f"time of the {what_is_timed}", unit, [time / scale for time in seconds])
    text = _chart(results, quantity, what, is_open=is_open)
    counted = [result for result in results if result.instructions]
    if len(counted) < 3:
        return text
    unit, scale = _unit(_COUNTS, max(result.instructions or 0 for result in counted))
    counts = [(result.instructions or 0) / scale for result in counted]
    return text + _chart(counted, Quantity("Instructions over runs", "instructions", unit, counts), what, is_open=False)


class Quantity(Record):
    """A quantity of a case over its runs.

    Attributes:
        title: of the chart.
        name: of the quantity.
        unit: of the values, "" for plain numbers.
        values: one for each run.
    """

    title: str
    name: str
    unit: str
    values: Sequence[float]


def _chart(results: Sequence[PastResult], quantity: Quantity, what: str, *, is_open: bool) -> Markup:
    points = []
    for number, (result, value) in enumerate(zip(results, quantity.values, strict=True)):
        label = f"{value:.4g} {quantity.unit}".rstrip()
        points.append(
            {
                "left": _BOX["left"] + (number + 0.5) * _BOX["width"] / len(results),
                "top": 6 + (1 - value / max(quantity.values)) * _BOX["height"],
                "label": f"{_day(result)}: {label}, {result.verdict}, {_revision(result)}",
                "has_failed": result.verdict in FAILED,
            }
        )
    return fragment(
        "trend.html",
        "chart",
        what=what,
        quantity=quantity,
        box=_BOX,
        points=points,
        revisions=_revisions(results),
        days=(_day(results[0]), _day(results[-1])),
        is_open=is_open,
    )


def _revisions(results: Sequence[PastResult]) -> list[dict[str, Any]]:
    """Where a revision begins; its label, unless the one before it takes the room."""
    revisions = []
    free = 0.0
    before = None
    for number, result in enumerate(results):
        revision = (result.revision, result.short_commit)
        if revision == before:
            continue
        before = revision
        left = _BOX["left"] + number * _BOX["width"] / len(results)
        text = None
        if left >= free:
            text = _revision(result)[:12]
            free = left + _CHARACTER * len(text)
        revisions.append({"left": left, "text": text})
    return revisions


def _unit(units: Sequence[tuple[str, float]], largest: float) -> tuple[str, float]:
    """The unit in which values are written, and what it stands for: the last one for smaller values, too."""
    return next((unit for unit in units if largest >= unit[1]), units[-1])


def _day(result: PastResult) -> str:
    return result.started[:10]


def _revision(result: PastResult) -> str:
    return result.short_commit or result.revision

"""Page on the nights of a project: failures, time and instructions of each, with commits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpuregress.foundation.records import NightPoint
from gpuregress.foundation.wording import plural
from gpuregress.report.html import templates
from gpuregress.report.html.templates import FAILED

_BOX = {"left": 56, "top": 8, "width": 640, "height": 90}
_MOST_LABELS = 8
_WIDEST_BAR = 28.0


def nights_page(project: str, nights: Mapping[str, Sequence[NightPoint]]) -> str:
    """The page of a project's nights.

    Args:
        project: its name.
        nights: kind of device → its nights, the oldest first.
    """
    devices = []
    for kind, points in nights.items():
        devices.append({"kind": kind, "charts": _charts(points), "points": points[::-1]})
    headline = f"{project}: {'; '.join(map(_summary, nights.values()))}"
    return templates.render(
        "nights.html",
        title=f"gpuregress nights, {headline}",
        headline=headline,
        devices=devices,
        failures=_failures,
    )


def _summary(points: Sequence[NightPoint]) -> str:
    """`12 nights on cpu, 3 of them failed; the last one has 2 failures, 1 of them without a baseline`."""
    kind = points[-1].night.device.partition(":")[0]
    bad = sum(point.night.exit_code != 0 for point in points)
    text = f"{plural(len(points), 'night')} on {kind}"
    if not bad:
        return text
    last = points[-1].night
    text += f", {bad} of them failed; the last one "
    failures, new = _failures(points[-1]), last.counts.get("new", 0)
    if failures:
        text += f"has {plural(failures, 'failure')}"
        if new:
            text += f", {new} of them without a baseline"
    elif last.exit_code:
        text += f"has no failing case and ended with exit code {last.exit_code}"
    else:
        text += "has none"
    return text


def _failures(point: NightPoint) -> int:
    """What made the night fail: failing and missing cases, and those without a baseline, but no known flaky ones."""
    if not point.night.exit_code:  # what its folder said of flaky cases may be gone
        return 0
    counts = point.night.counts
    failing = sum(count for status, count in counts.items() if status in FAILED or status == "new")
    return point.missing + failing - point.quarantined


def _charts(points: Sequence[NightPoint]) -> list[dict[str, Any]]:
    """The charts of a device: each with its bars and points over the same nights."""
    charts = [
        _chart("failures", points, lambda point: float(_failures(point)), is_bar=True, has_crosses=True),
        _chart("flaky cases", points, lambda point: float(point.flaky), is_bar=True),
        _chart("time of the night, s", points, lambda point: point.night.seconds),
    ]
    if any(point.instructions is not None for point in points):
        title = "instructions of passing cases, first night = 1"
        charts.append(_chart(title, points, lambda point: point.instructions))
    return charts


def _chart(
    title: str,
    points: Sequence[NightPoint],
    value: Callable[[NightPoint], float | None],
    *,
    is_bar: bool = False,
    has_crosses: bool = False,
) -> dict[str, Any]:
    """A quantity over the nights, from 0.

    Args:
        title: of the chart.
        points: the nights, the oldest first.
        value: of a night; None where it has none.
        is_bar: whether it is drawn as bars, and not as a line.
        has_crosses: whether nights that failed without a value have a cross.
    """
    values = [value(point) for point in points]
    high = max((number for number in values if number is not None), default=0.0) or 1.0
    step = _BOX["width"] / len(points)
    marks = []
    for number, (point, height) in enumerate(zip(points, values, strict=True)):
        if height is None:
            continue
        tall = _BOX["height"] * height / high
        marks.append(
            {
                "left": _BOX["left"] + (number + 0.5) * step,
                "top": _BOX["top"] + _BOX["height"] - tall,
                "tall": tall,
                "label": f"{_day(point)}: {height:.4g}, exit code {point.night.exit_code}{_after_commit(point)}",
                "has_failed": has_crosses and not height and point.night.exit_code != 0,
            }
        )
    every = max(1, -(-len(points) // _MOST_LABELS))
    days = []
    for number, point in enumerate(points):
        if number % every == 0:
            days.append({"left": _BOX["left"] + (number + 0.5) * step, "text": _day(point)[5:]})
    return {
        "title": title,
        "box": _BOX,
        "high": f"{high:.3g}",
        "marks": marks,
        "bar": min(_WIDEST_BAR, 0.7 * step),
        "days": days,
        "is_bar": is_bar,
    }


def _day(point: NightPoint) -> str:
    return point.night.started[:10]


def _after_commit(point: NightPoint) -> str:
    if not point.night.commit:
        return ""
    text = f", {point.night.short_commit}"
    if point.commits:
        text += f", {plural(len(point.commits), 'commit')} since the night before"
    return text

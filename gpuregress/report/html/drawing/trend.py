"""Trend of a case over its last runs: its verdicts in words and marks, and a chart of its times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from gpuregress.foundation.escapes import visible_html as escape
from gpuregress.foundation.records import PastResult
from gpuregress.report.html.fragments import FAILED, plural

LAST = 20
"""Runs of a trend."""
_STEP, _TALL = 14, 18
_LEFT, _WIDTH, _HEIGHT = 56, 320, 84


def strip(past: Sequence[PastResult], run: str) -> Iterator[str]:
    """The last verdicts in words and as a row of marks, the newest to the right; nothing without an earlier run.

    Args:
        past: the newest first.
        run: the run of the page, which is marked.
    """
    runs = list(reversed(past[:LAST]))
    if len(runs) < 2:
        return
    width = len(runs) * _STEP + 2
    yield f'<p class="trend"><svg role="img" width="{width}" height="{_TALL + 4}" viewBox="0 0 {width} {_TALL + 4}">'
    yield f"<title>{escape(in_words(past))}</title>"
    for at, one in enumerate(runs):
        label = escape(f"{_day(one)}: {one.verdict}, {one.short_commit or one.revision}")
        yield f"<g><title>{label}</title>{_mark(one.verdict, 2 + at * _STEP, is_here=one.run == run)}</g>"
    yield f'</svg> <span class="soft">{escape(in_words(past))}</span></p>'


def in_words(past: Sequence[PastResult]) -> str:
    """`last 20 runs: 14 pass, then 6 differ (since 20 Nov, 8eb0c1f)`.

    Args:
        past: the newest first.
    """
    runs = list(reversed(past[:LAST]))
    series = [(verdict, list(group)) for verdict, group in groupby(runs, lambda one: one.verdict)]
    shown = series[-4:]
    parts = [f"{len(group)} {verdict}" for verdict, group in shown]
    lead = "… " if len(series) > len(shown) else ""
    since = ""
    if len(series) > 1:
        first = shown[-1][1][0]
        commit = first.short_commit
        since = f" (since {_day(first)}{f', {commit}' if commit else ''})"
    return f"last {plural(len(runs), 'run')}: {lead}{', then '.join(parts)}{since}"


def chart(past: Sequence[PastResult], what: str, *, is_open: bool = False) -> Iterator[str]:
    """The times over the last runs, with the revision where it changes; nothing of fewer than three runs.

    The times are those of the launches where every run has them, else of the whole cases.

    Args:
        past: the newest first.
        what: the case.
        is_open: whether it is unfolded at first.
    """
    runs = [one for one in reversed(past[:LAST]) if one.seconds > 0]
    if len(runs) < 3:
        return
    launches = [_launch_seconds(one) for one in runs]
    measured = [one for one in launches if one is not None]
    times = measured if len(measured) == len(runs) else [one.seconds for one in runs]
    kind = "launches" if len(measured) == len(runs) else "case"
    unit, scale = _unit(max(times))
    high = max(times) * scale
    points = [
        (_LEFT + (at + 0.5) * _WIDTH / len(runs), 6 + (1 - time * scale / high) * _HEIGHT)
        for at, time in enumerate(times)
    ]
    description = f"from {times[0] * scale:.3g} to {times[-1] * scale:.3g} {unit}, at most {high:.3g} {unit}"
    box = f"{_LEFT + _WIDTH + 20} {_HEIGHT + 40}"
    yield f'<details class="times"{" open" if is_open else ""}><summary>Times over runs</summary><figure>'
    yield f'<svg role="img" width="{_LEFT + _WIDTH + 20}" height="{_HEIGHT + 40}" viewBox="0 0 {box}">'
    yield f"<title>{escape(f'time of the {kind} of {what}, last {len(runs)} runs')}</title><desc>{description}</desc>"
    yield f'<rect class="frame" x="{_LEFT}" y="6" width="{_WIDTH}" height="{_HEIGHT}"/>'
    for y, text in ((14, f"{high:.3g} {unit}"), (6 + _HEIGHT, f"0 {unit}")):
        yield f'<text x="{_LEFT - 4}" y="{y}" text-anchor="end">{text}</text>'
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    yield f'<path class="time" d="M{line}"/>'
    for (left, top), one, time in zip(points, runs, times, strict=True):
        label = escape(f"{_day(one)}: {time * scale:.4g} {unit}, {one.verdict}, {one.short_commit or one.revision}")
        mark = f'<path class="bad" d="M{left - 4:.1f} {top - 4:.1f}l8 8m0-8l-8 8"/>' if one.verdict in FAILED else ""
        yield f'<g><title>{label}</title><circle cx="{left:.1f}" cy="{top:.1f}" r="3"/>{mark}</g>'
    yield from _revisions(runs)
    explanation = f"time of the {kind}, from 0; crosses: failures; below: the revision where it changes"
    yield f'</svg><figcaption class="soft">{explanation}</figcaption></figure></details>'


def _revisions(runs: Sequence[PastResult]) -> Iterator[str]:
    """A label below the first run of each revision, if they are few; lines at all of them."""
    changes = [
        (at, one)
        for at, one in enumerate(runs)
        if not at or (one.revision, one.short_commit) != (runs[at - 1].revision, runs[at - 1].short_commit)
    ]
    free = 0.0
    for at, one in changes:
        x = _LEFT + at * _WIDTH / len(runs)
        if at:
            yield f'<path class="border" d="M{x:.1f} 6v{_HEIGHT}"/>'
        text = (one.short_commit or one.revision)[:12]
        if x >= free:
            yield f'<text x="{x + 2:.1f}" y="{_HEIGHT + 20}">{escape(text)}</text>'
            free = x + 8 * len(text)
    yield f'<text x="{_LEFT}" y="{_HEIGHT + 36}">{escape(_day(runs[0]))}</text>'
    yield f'<text x="{_LEFT + _WIDTH}" y="{_HEIGHT + 36}" text-anchor="end">{escape(_day(runs[-1]))}</text>'


def _mark(verdict: str, x: int, *, is_here: bool) -> str:
    """A low outlined mark for a pass, a tall filled one for a failure, a middle one for the others."""
    here = f'<path class="here" d="M{x} {_TALL + 3}h10"/>' if is_here else ""
    if verdict == "pass":
        return f'<rect class="ok" x="{x + 0.5}" y="{_TALL - 7.5}" width="9" height="7"/>{here}'
    if verdict in FAILED:
        return f'<rect class="bad" x="{x}" y="0" width="10" height="{_TALL}"/>{here}'
    return f'<rect class="other" x="{x + 0.5}" y="{_TALL - 11.5}" width="9" height="11"/>{here}'


def _unit(longest: float) -> tuple[str, float]:
    """The unit in which a time is written, and its number in a second."""
    return ("s", 1.0) if longest >= 1 else ("ms", 1e3) if longest >= 1e-3 else ("µs", 1e6)


def _launch_seconds(one: PastResult) -> float | None:
    """The time of the launches, if the history has it."""
    return one.launch_seconds or None


def _day(one: PastResult) -> str:
    return one.started[:10]

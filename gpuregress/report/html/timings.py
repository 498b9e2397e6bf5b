"""Times of a run: cases that are slower or faster than accepted, and the rate of false alarms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuregress.foundation.escapes import visible_html as escape
from gpuregress.report.html.cards import RunFacts
from gpuregress.report.html.drawing import trend
from gpuregress.report.html.fragments import plural, status

_MOST_SHOWN = 30
_MOST_OPEN = 3


def section(cases: Sequence[Mapping[str, Any]], facts: RunFacts) -> Iterator[str]:
    """The section of the times, the slowest first; nothing where no time was compared.

    Args:
        cases: entries of results.json.
        facts: of the run.
    """
    compared = [entry for entry in cases if entry.get("timing_comparison")]
    measured = facts.document.get("false_alarms")
    if not compared and measured is None:
        return
    changed = [entry for entry in compared if entry["timing_comparison"]["status"] in ("slower", "faster")]
    changed.sort(key=lambda entry: -float(entry["timing_comparison"].get("ratio") or 0))
    yield '<section aria-labelledby="times"><h2 id="times">Times</h2>'
    words = [entry["timing_comparison"]["status"] for entry in compared]
    counts = ", ".join(
        f"{words.count(word)} {word}" for word in ("slower", "faster", "same", "unclear") if word in words
    )
    if counts:
        yield f"<p>{plural(len(compared), 'case')} compared with the accepted times or instruction counts: {counts}</p>"
    if measured is not None:
        yield f'<p class="soft">{escape(_false_alarms(measured))}</p>'
    for at, entry in enumerate(changed[:_MOST_SHOWN]):
        yield from _case(entry, facts, is_open=at < _MOST_OPEN)
    if changed[_MOST_SHOWN:]:
        yield f'<p class="soft">{len(changed) - _MOST_SHOWN} more are in results.json</p>'
    yield "</section>"


def _false_alarms(measured: Mapping[str, Any]) -> str:
    count, of = len(measured["cases"]), measured["compared"]
    named = f" ({', '.join(measured['cases'][:_MOST_OPEN])}{', …' if count > _MOST_OPEN else ''})" if count else ""
    rate = 100 * count / of if of else 0
    return f"A/A, the samples of a case against themselves: {count} of {of} would be false alarms, {rate:.3g} %{named}"


def _case(entry: Mapping[str, Any], facts: RunFacts, *, is_open: bool) -> Iterator[str]:
    compared = entry["timing_comparison"]
    text = f"{status(entry['verdict'])} time: <b>{escape(compared['status'])}</b>, {escape(compared['message'])}"
    name = f"<code>{escape(entry['case'])}</code>"
    yield f"<details{' open' if is_open else ''}><summary>{name} {text}</summary>"
    yield from trend.chart(facts.past(entry), entry["case"], is_open=True)
    yield "</details>"

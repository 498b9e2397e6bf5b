"""Costs in the page: the source of each case with the costs of its lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuregress.foundation.escapes import visible_html as escape
from gpuregress.foundation.records import Costs, from_json
from gpuregress.report import cost_report

_MOST_CASES = 20


def section(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The section of the costs; nothing where they were not counted.

    Args:
        cases: entries of results.json.
    """
    found = [entry for entry in cases if entry.get("costs")]
    if not found:
        return
    yield '<section aria-labelledby="costs"><h2 id="costs">Costs</h2>'
    for entry in found[:_MOST_CASES]:
        yield from _case(entry["case"], from_json(Costs, entry["costs"]))
    if found[_MOST_CASES:]:
        yield f'<p class="soft">{len(found) - _MOST_CASES} more are in results.json</p>'
    yield "</section>"


def _case(name: str, costs: Costs) -> Iterator[str]:
    lines = list(cost_report.summary(costs))
    yield f"<details><summary><code>{escape(name)}</code> {escape(lines[0])}</summary>"
    yield f"<p>{'<br>'.join(escape(line) for line in lines)}</p>"
    heads = "".join(f"<th>{text}</th>" for text in ("line", *cost_report.COLUMNS, "source"))
    yield f"<table><thead><tr>{heads}</tr></thead><tbody>"
    path = ""
    for line in cost_report.lines(costs):
        if line.path != path:
            path = line.path
            yield f'<tr><th colspan="8">{escape(Path(path).name)}</th></tr>'
        cells = "".join(f"<td>{text}</td>" for text in (line.number, *line.cells))
        yield f"<tr>{cells}<td><code>{escape(line.source)}</code></td></tr>"
    yield "</tbody></table></details>"

"""Grid of verdicts over two parameters as an HTML table.

Each cell has its verdicts in words and numbers, and the colour of the most severe one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuregress.foundation.escapes import visible_html as escape

SEVERITY = ("error", "timeout", "fault", "differ", "new", "pass", "skip")
"""The verdicts, the most severe first: it gives a cell its colour."""


def table(grid: Mapping[str, Any]) -> Iterator[str]:
    """The table of a `ParameterGrid` in its JSON form."""
    x, y, columns = escape(grid["x"]), escape(grid["y"]), grid["x_values"]
    yield f'<table class="grid"><caption class="soft">verdicts by {x} and {y}</caption>'
    yield f'<tr><td></td><th scope="colgroup" colspan="{len(columns)}">{x}</th></tr>'
    yield f'<tr><th scope="col" class="row">{y}</th>' + _heads(columns) + "</tr>"
    for value, cells in zip(grid["y_values"], grid["rows"], strict=True):
        yield f'<tr><th scope="row" class="row">{escape(text(value))}</th>' + "".join(map(_cell, cells)) + "</tr>"
    yield "</table>"


def text(value: Any) -> str:
    """A value of a parameter as a job writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _heads(values: Sequence[Any]) -> str:
    return "".join(f'<th scope="col">{escape(text(value))}</th>' for value in values)


def _cell(counts: Mapping[str, int]) -> str:
    there = [status for status in SEVERITY if counts.get(status)]
    if not there:
        return "<td>—</td>"
    words = ", ".join(f"{counts[status]} {status}" for status in there)
    return f'<td class="{there[0]}">{words}</td>'

"""Profile of a case as text: its source with the costs of each line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.records import Costs
from gpuregress.report import cost_report

_WIDEST_SOURCE = 90


def profile(case: str, costs: Costs, root: Path) -> Iterator[str]:
    """The totals, then each file with the costs of its lines.

    Args:
        case: its name.
        costs: of the case.
        root: the project's; paths below it are shown relative to it.
    """
    yield f"{case}"
    yield from cost_report.summary(costs)
    found = list(cost_report.lines(costs))
    for path in dict.fromkeys(line.path for line in found):
        rows: list[tuple[str, ...]] = [("line", *cost_report.COLUMNS, "source")]
        rows += [
            (str(line.number), *line.cells, one_line(line.source.rstrip())[:_WIDEST_SOURCE])
            for line in found
            if line.path == path
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
        yield ""
        yield os.path.relpath(path, root) if Path(path).is_relative_to(root) else path
        for *texts, source in rows:
            yield "  ".join([*(text.rjust(width) for text, width in zip(texts, widths, strict=True)), source]).rstrip()

"""Coverage in the page: each source file with the executions of its lines, and what never happened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuregress.foundation.escapes import visible_html as escape
from gpuregress.foundation.records import Coverage, FileCoverage
from gpuregress.foundation.records.json_form import from_json
from gpuregress.gpu.coverage import merged
from gpuregress.report import coverage_report

_MOST_LINES = 4000


def section(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The section of the coverage; nothing where it was not counted.

    Args:
        cases: entries of results.json.
    """
    found = [from_json(Coverage, entry["coverage"]) for entry in cases if entry.get("coverage")]
    if not found:
        return
    whole = merged(found)
    yield '<section aria-labelledby="coverage"><h2 id="coverage">Coverage</h2>'
    yield f'<p class="soft">{len(found)} cases together; counts are of threads</p>'
    for one in whole.files:
        yield from _file(one)
    yield "</section>"


def _file(one: FileCoverage) -> Iterator[str]:
    totals = coverage_report.totals([one])
    text = ", ".join(f"{total} {name}" for name, total in totals.items() if total.of)
    yield f"<details><summary><code>{escape(Path(one.path).name)}</code> {escape(text)}</summary>"
    gaps: dict[int, list[str]] = {}
    for gap in coverage_report.gaps(Coverage((one,))):
        gaps.setdefault(gap.line, []).append(gap.text)
    counts = dict(one.lines)
    texts = coverage_report.source_lines(one.path)
    numbers = range(1, len(texts) + 1) if texts else sorted(counts)
    yield "<table><thead><tr><th>line</th><th>threads</th><th>source</th><th>no case</th></tr></thead><tbody>"
    for number in list(numbers)[:_MOST_LINES]:
        code = texts[number - 1] if texts else ""
        count = f"{counts[number]:,}" if number in counts else ("no code" if code.strip() else "")
        never = "; ".join(gaps.get(number, ()))
        kind = ' class="soft"' if number not in counts else ""
        yield (
            f"<tr{kind}><td>{number}</td><td>{count}</td><td><code>{escape(code)}</code></td>"
            f"<td>{escape(never)}</td></tr>"
        )
    yield "</tbody></table></details>"

"""Screen of `diff`: one buffer at two revisions.

It shows the count, the worst element, the diagnosis, an error map, and the first elements side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpuregress.foundation.records import BufferVerdict, Comparison, Element, Verdict
from gpuregress.report import error_map_text, terminal

_MOST_SHOWN = 8


def screen(verdict: Verdict, root: Path | None = None) -> Iterator[error_map_text.Line]:
    """The lines of one case; a buffer that is equal takes one.

    Args:
        verdict: from `operations.revisions.diff`.
        root: the project's; paths below it are shown relative to it.
    """
    for buffer in verdict.buffers:
        for comparison in buffer.comparisons:
            if comparison.same:
                yield ((f"{buffer.name}: {_same(comparison)}", None),)
            else:
                for line in _different(buffer, comparison, verdict, root):
                    yield ((line, None),) if isinstance(line, str) else (("  ", None), *line)


def _same(comparison: Comparison) -> str:
    if comparison.identical:
        return f"every bit of {comparison.of} elements the same"
    changed = f"the bits of {comparison.changed} of {comparison.of} changed" if comparison.changed else "not identical"
    return f"the same under {comparison.rule}; {changed}"


def _different(
    buffer: BufferVerdict, comparison: Comparison, verdict: Verdict, root: Path | None
) -> Iterator[str | error_map_text.Line]:
    yield f"{buffer.name}: {comparison.difference}"
    yield f"  rule       {comparison.rule}"
    yield from (f"  {line}" for line in both_verdicts(comparison))
    if comparison.worst is not None:
        position = comparison.figures.worst_thread
        yield f"  worst      {terminal.element_text(comparison.worst)}{f', at {position}' if position else ''}"
    if comparison.first_wrong is not None:
        yield f"  {comparison.first_wrong.message}"
    for number, finding in enumerate(comparison.findings):
        yield f"  {'looks like' if not number else '':<10} {finding.message}"
    yield from _error_map(comparison)
    yield from (f"  {line}" for line in _side_by_side(comparison, verdict))
    for label, path in (("before", buffer.baseline), ("after", buffer.dump)):
        if path:
            yield f"  {label:<10} {terminal.shown(path, root)}"


def both_verdicts(comparison: Comparison) -> Iterator[str]:
    """The verdict in order and the verdict as a multiset: moved values are no other values."""
    if comparison.changed:
        yield f"in order   the bits of {comparison.changed} of {comparison.of} differ"
    if comparison.multiset_same is not None:
        values = "the same values, in other places" if comparison.multiset_same else "other values, too"
        yield f"any order  {values}"


def _error_map(comparison: Comparison) -> Iterator[error_map_text.Line]:
    maps = comparison.figures.error_maps
    if maps is not None and maps.heat_map is not None:
        yield from error_map_text.heat_map(maps.heat_map)
    elif maps is not None and maps.strip is not None:
        yield from error_map_text.strip(maps.strip)


def _side_by_side(comparison: Comparison, verdict: Verdict) -> Iterator[str]:
    if not comparison.first:
        return
    names = [Path(name).name for name in (verdict.baseline_revision, verdict.revision)]
    head = ("element", names[0], names[1], "absolute", "relative", "ulp")
    rows = [_row(element) for element in comparison.first[:_MOST_SHOWN]]
    yield from terminal.table(head, rows)
    if comparison.differing > len(rows):
        yield f"… and {comparison.differing - len(rows)} more"


def _row(element: Element) -> tuple[str, ...]:
    where = f"[{element.index}]{'.' + element.part if element.part else ''}"
    errors = (element.absolute, element.relative, element.ulp)
    cells = ("" if error is None else f"{error:.3g}" if isinstance(error, float) else str(error) for error in errors)
    return (where, element.expected or "nothing", element.actual or "nothing", *cells)

"""Screen of `diff`: one buffer at two revisions.

It shows the count, the worst element, the diagnosis, an error map, and the first elements side by side.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from gpuregress.foundation.records import BufferVerdict, Comparison, Element, ErrorProfile, Verdict
from gpuregress.foundation.wording import plural
from gpuregress.report import case_lines, layout

SAME = "·"
NOT_A_NUMBER = "!"
LEVELS = "▁▂▃▄▅▆▇█"
Line = tuple[tuple[str, int | None], ...]
"""Texts, each in one of xterm's 256 colours, or in none."""
_COLOURS = (34, 70, 106, 142, 178, 172, 166, 160)
"""xterm's 256 colours from green to red, one a level."""
_NAN_COLOUR = 201
_SAME_COLOUR = 240


def strip(profile: ErrorProfile) -> Iterator[Line]:
    """A line of bins along the buffer, and its legend.

    Args:
        profile: of one axis.
    """
    yield _coloured(_signs(profile))
    yield ((_legend(profile), None),)


def heat_map(profile: ErrorProfile) -> Iterator[Line]:
    """A line for each row of bins, and the legend.

    Args:
        profile: of two axes.
    """
    signs, columns = _signs(profile), profile.shape[1]
    for start in range(0, len(signs), columns):
        yield _coloured(signs[start : start + columns])
    yield ((_legend(profile), None),)


def level(error: float, low: float, high: float) -> int:
    """The level of an error, 0 to 7, by its logarithm between the smallest and the largest error."""
    if high <= low:
        return len(LEVELS) - 1
    share = (math.log10(error) - math.log10(low)) / (math.log10(high) - math.log10(low))
    return min(len(LEVELS) - 1, max(0, int(share * len(LEVELS))))


def ends(largest: Sequence[float]) -> tuple[float, float]:
    """The smallest and the largest error of all bins that is finite and not zero; zeros where there is none."""
    finite = [error for error in largest if math.isfinite(error) and error > 0]
    return min(finite, default=0.0), max(finite, default=0.0)


def _signs(profile: ErrorProfile) -> list[tuple[str, int]]:
    """A sign and its colour for each bin."""
    low, high = ends(profile.largest)
    bins = zip(profile.largest, profile.differing, strict=True)
    return [_sign(error, count, low, high) for error, count in bins]


def _sign(error: float, differing: int, low: float, high: float) -> tuple[str, int]:
    if not differing:
        return SAME, _SAME_COLOUR
    if not math.isfinite(error):
        return NOT_A_NUMBER, _NAN_COLOUR
    number = level(error, low, high) if error > 0 else 0
    return LEVELS[number], _COLOURS[number]


def _legend(profile: ErrorProfile) -> str:
    low, high = ends(profile.largest)
    fewest, most = min(profile.of), max(profile.of)
    each = plural(most, "element")
    if fewest != most:
        each = f"{fewest} to {each}"
    parts = [f"each sign {each}", f"{SAME} same"]
    if high > low:
        parts.append(f"{LEVELS[0]} error {low:.2g} … {LEVELS[-1]} {high:.2g}")
    elif high:
        parts.append(f"{LEVELS[-1]} error {high:.2g}")
    if any(not math.isfinite(error) for error in profile.largest):
        parts.append(f"{NOT_A_NUMBER} NaN or infinity")
    return ", ".join(parts)


def _coloured(signs: Sequence[tuple[str, int]]) -> Line:
    runs = []
    for colour, run in groupby(signs, key=itemgetter(1)):
        runs.append(("".join(sign for sign, _ in run), colour))
    return tuple(runs)


_MOST_SHOWN = 8


def screen(verdict: Verdict, root: Path | None = None) -> Iterator[Line]:
    """The lines of one case; a buffer that is equal takes one.

    Args:
        verdict: from `operations.revisions.diff`.
        root: the project's; paths below it are shown relative to it.
    """
    for buffer in verdict.buffers:
        for comparison in buffer.comparisons:
            if comparison.same:
                yield _plain(f"{buffer.name}: {_same(comparison)}")
            else:
                yield from _different(buffer, comparison, verdict, root)


def _plain(text: str) -> Line:
    return ((text, None),)


def _same(comparison: Comparison) -> str:
    if comparison.identical:
        return f"every bit of {comparison.of} elements the same"
    changed = "not identical"
    if comparison.changed:
        changed = f"the bits of {comparison.changed} of {comparison.of} changed"
    return f"the same under {comparison.rule}; {changed}"


def _different(buffer: BufferVerdict, comparison: Comparison, verdict: Verdict, root: Path | None) -> Iterator[Line]:
    yield _plain(f"{buffer.name}: {comparison.difference}")
    yield _plain(f"  rule       {comparison.rule}")
    for line in both_verdicts(comparison):
        yield _plain(f"  {line}")
    if comparison.worst is not None:
        yield _plain(f"  worst      {case_lines.worst_text(comparison)}")
    if comparison.first_wrong is not None:
        yield _plain(f"  {comparison.first_wrong.message}")
    label = "looks like"
    for finding in comparison.findings:
        yield _plain(f"  {label:<10} {finding.message}")
        label = ""
    for signs in _error_map(comparison):
        yield (("  ", None), *signs)
    for line in _side_by_side(comparison, verdict):
        yield _plain(f"  {line}")
    for label, path in (("before", buffer.baseline), ("after", buffer.dump)):
        if path:
            yield _plain(f"  {label:<10} {layout.shown(path, root)}")


def both_verdicts(comparison: Comparison) -> Iterator[str]:
    """The verdict in order and the verdict as a multiset: moved values are no other values."""
    if comparison.changed:
        yield f"in order   the bits of {comparison.changed} of {comparison.of} differ"
    if comparison.multiset_same is not None:
        values = "the same values, in other places" if comparison.multiset_same else "other values, too"
        yield f"any order  {values}"


def _error_map(comparison: Comparison) -> Iterator[Line]:
    maps = comparison.figures.error_maps
    if maps is not None and maps.heat_map is not None:
        yield from heat_map(maps.heat_map)
    elif maps is not None and maps.strip is not None:
        yield from strip(maps.strip)


def _side_by_side(comparison: Comparison, verdict: Verdict) -> Iterator[str]:
    elements = comparison.first[:_MOST_SHOWN]
    if not elements:
        return
    before, after = Path(verdict.baseline_revision).name, Path(verdict.revision).name
    yield from layout.table(("element", before, after, "absolute", "relative", "ulp"), map(_row, elements))
    if comparison.differing > len(elements):
        yield f"… and {comparison.differing - len(elements)} more"


def _row(element: Element) -> tuple[str, ...]:
    sides = (element.expected or "nothing", element.actual or "nothing")
    errors = map(case_lines.short, (element.absolute, element.relative, element.ulp))
    return (element.place, *sides, *errors)

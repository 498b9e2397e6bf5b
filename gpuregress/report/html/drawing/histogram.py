"""Histogram of errors in ulp, as a table with bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuregress.foundation.escapes import visible_html as escape
from gpuregress.report.html.fragments import scrolling

_WIDTH = 120
_MOST_OPEN = 16
_MOST_DIGITS = 4


def table(histogram: Sequence[tuple[str, int]], of: int) -> Iterator[str]:
    """The number of elements in each range of errors; nothing without any.

    Args:
        histogram: range of steps → elements that differ by so many.
        of: elements of the buffer.
    """
    if not histogram:
        return
    highest = max(count for _, count in histogram)
    state = " open" if len(histogram) <= _MOST_OPEN else ""
    yield f'<details class="ulp"{state}><summary>Errors in ulp</summary>'
    yield from scrolling("errors in ulp", _rows(histogram, of, highest))
    yield "</details>"


def _rows(histogram: Sequence[tuple[str, int]], of: int, highest: int) -> Iterator[str]:
    yield '<table class="mono"><thead><tr><th scope="col">ulp</th><th scope="col" class="num">elements</th>'
    yield '<th scope="col"><span class="hidden">bar</span></th><th scope="col" class="num">of all</th></tr></thead>'
    yield "<tbody>"
    for name, count in histogram:
        width = max(1.0, _WIDTH * count / highest)
        bar = (
            f'<svg class="bar" width="{_WIDTH}" height="10" aria-hidden="true" focusable="false">'
            f'<rect width="{width:.1f}" height="10"/></svg>'
        )
        share = f"{100 * count / of:.3g} %" if of else ""
        yield f'<tr><th scope="row" class="num">{escape(_range(name))}</th><td class="num">{count}</td><td>{bar}</td>'
        yield f'<td class="num">{share}</td></tr>'
    yield "</tbody></table>"


def _range(name: str) -> str:
    """`3-4` as it is; ranges of large powers of two as those, `2^61-2^62`."""
    first, dash, last = name.partition("-")
    if not (last.isdigit() and first.isdigit() and len(last) > _MOST_DIGITS):
        return name
    return f"2^{(int(first) - 1).bit_length() - 1 if int(first) > 1 else 0}{dash}2^{int(last).bit_length() - 1}"

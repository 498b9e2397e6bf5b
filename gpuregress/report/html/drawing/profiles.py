"""Plots of a buffer with one axis as inline SVG: values, errors on a logarithmic axis, density."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuregress.foundation.escapes import visible_html as escape
from gpuregress.foundation.records import BufferImage, ImageLayer
from gpuregress.foundation.records.maps.images import LARGEST, NOT_FINITE, unpack
from gpuregress.report.html.drawing import colours, png
from gpuregress.report.html.drawing.colours import LogAxis
from gpuregress.report.html.drawing.scales import Place, error_at, index_text, number, value_at

_LEFT, _WIDTH, _HEIGHT, _TOP = 56, 288, 120, 4
_DENSITY = 10
_MOST_BORDERS = 36


def figure(image: BufferImage, what: str, description: str) -> Iterator[str]:
    """The plots of one buffer: the values of both sides, and the errors.

    Args:
        image: of one row or one column.
        what: the buffer in words.
        description: of the difference, for those who do not see it.
    """
    count = image.cells[0] * image.cells[1]
    yield '<figure><div class="panels">'
    if image.expected is not None and image.actual is not None:
        name = "expected and actual" + (f" .{image.part}" if image.part else "")
        drawn = _values(image.expected, image.actual, count)
        yield from _panel(image, name, f"{name} of {what}", description, drawn)
    yield from _panel(image, "error", f"error of {what}", description, _errors(image, count))
    yield f'</div><figcaption class="soft">{escape(_explanation(image))}</figcaption></figure>'


def _panel(image: BufferImage, name: str, title: str, description: str, drawn: Iterator[str]) -> Iterator[str]:
    """A plot with its axis of indices."""
    has_density = name == "error" and image.shares is not None
    bottom = _TOP + _HEIGHT + (_DENSITY + 4 if has_density else 0)
    place = Place(_LEFT, 0, _WIDTH / (image.cells[0] * image.cells[1]), bottom, _WIDTH, bottom)
    size = f"{_LEFT + _WIDTH + 8} {bottom + 18}"
    width, height = size.split()
    yield f'<div class="panel"><p>{escape(name)}</p>'
    yield f'<svg role="img" width="{width}" height="{height}" viewBox="0 0 {size}" data-place="{place.data(image)}">'
    yield f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
    yield from _borders(image, _TOP + _HEIGHT)
    yield from drawn
    last = image.size[0] * image.size[1] - 1
    yield f'<text x="{_LEFT}" y="{bottom + 14}">{index_text(image.shape, 0)}</text>'
    yield f'<text x="{_LEFT + _WIDTH}" y="{bottom + 14}" text-anchor="end">{index_text(image.shape, last)}</text>'
    yield "</svg></div>"


def _values(expected: ImageLayer, actual: ImageLayer, count: int) -> Iterator[str]:
    yield _frame(((0.0, number(expected.low)), (1.0, number(expected.high))))
    for name, layer in (("expected", expected), ("actual", actual)):
        yield f'<path class="{name}" d="{_line(layer, count)}"/>'


def _line(layer: ImageLayer, count: int) -> str:
    """A line through the cells, broken at those that are not finite; outside the range it runs along the edge."""
    path, pen = [], "M"
    span = layer.high - layer.low
    for at, level in enumerate(unpack(layer.cells, count)):
        if level == NOT_FINITE:
            pen = "M"
            continue
        share = (value_at(layer, level) - layer.low) / span if span else 0.5
        path.append(f"{pen}{_x(at + 0.5, count)} {_TOP + (1 - share) * _HEIGHT:.1f}")
        if pen == "M":
            path.append("h.1")  # a single point is drawn, too
        pen = "L"
    return "".join(path)


def _errors(image: BufferImage, count: int) -> Iterator[str]:
    """A bar for each cell, up to its largest error; below them the share of each cell that differs."""
    axis = LogAxis.over(image.errors.low, image.errors.high)
    yield _frame(axis.ticks if axis else ())
    width = max(1.0, _WIDTH / count - (1 if count < _WIDTH / 4 else 0))
    bars, hatched = [], []
    for at, level in enumerate(unpack(image.errors.cells, count)):
        left = _x(at, count)
        if level == NOT_FINITE:
            hatched.append(f"M{left} {_TOP}h{width:.1f}v{_HEIGHT}H{left}z")
        elif level:
            share = axis.place(error_at(image.errors, level)) if axis else 0.0
            bars.append(f"M{left} {_TOP + _HEIGHT}h{width:.1f}v-{3 + share * (_HEIGHT - 3):.1f}H{left}z")
    if bars:
        yield f'<path class="bars" d="{"".join(bars)}"/>'
    if hatched:
        yield f'<path d="{"".join(hatched)}" fill="url(#hatch)"/>'
    if image.shares is not None:
        yield from _density(image.shares, _TOP + _HEIGHT + 4, count)


def _density(shares: ImageLayer, top: int, count: int) -> Iterator[str]:
    def colour(level: int) -> str:
        return colours.grey(0.1 + 0.9 * level / 255) if level else colours.SAME

    uri = png.data_uri(unpack(shares.cells, count), count, colour)
    yield f'<image x="{_LEFT}" y="{top}" width="{_WIDTH}" height="{_DENSITY}" preserveAspectRatio="none" href="{uri}"/>'
    yield f'<rect class="frame" x="{_LEFT}" y="{top}" width="{_WIDTH}" height="{_DENSITY}"/>'
    yield f'<text x="{_LEFT - 6}" y="{top + _DENSITY}" text-anchor="end">share</text>'


def _frame(ticks: Sequence[tuple[float, str]]) -> str:
    """A frame with the ticks of its vertical axis."""
    drawn = [f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{_WIDTH}" height="{_HEIGHT}"/>']
    for share, text in ticks:
        y = _TOP + (1 - share) * _HEIGHT
        drawn.append(f'<path class="tick" d="M{_LEFT} {y:.1f}h-4"/>')
        base = min(max(y + 4, 12), _TOP + _HEIGHT)
        drawn.append(f'<text x="{_LEFT - 6}" y="{base:.1f}" text-anchor="end">{escape(text)}</text>')
    return "".join(drawn)


def _borders(image: BufferImage, bottom: int) -> Iterator[str]:
    if _has_borders(image):
        total, step = max(image.size), max(image.block)
        lines = "".join(f"M{_x(at, total)} 0v{bottom}" for at in range(step, total, step))
        yield f'<path class="border" d="{lines}"/>' if lines else ""


def _has_borders(image: BufferImage) -> bool:
    return bool(image.block) and max(image.size) / max(image.block) <= _MOST_BORDERS


def _x(at: float, count: int) -> str:
    return f"{_LEFT + at * _WIDTH / count:.1f}"


def _explanation(image: BufferImage) -> str:
    parts = []
    if image.expected is not None:
        parts.append("expected: the thick grey line; actual: the thin one")
    else:
        parts.append("the buffer is too large to draw its values")
    parts.append("error: |actual - expected| on a logarithmic axis, none where nothing is drawn")
    each = max(image.cell)
    if each > 1:
        parts.append(
            f"each step {each} elements: their mean value, their largest error; "
            "share: elements that differ, white none, black all"
        )
    if image.block:
        lines = "lines" if _has_borders(image) else "not drawn, for they are many"
        parts.append(f"thread blocks of {max(image.block)} elements ({lines}), as the launch ({image.launch}) suggests")
    count = image.cells[0] * image.cells[1]
    layers = [one for one in (image.errors, image.expected, image.actual) if one is not None]
    cells = [unpack(one.cells, count) for one in layers]
    if NOT_FINITE in cells[0]:
        parts.append("hatched: NaN or infinity on one side")
    if any(0 in one or LARGEST in one for one in cells[1:]):
        parts.append("values beyond the axis run along its edge")
    return "; ".join(parts)

"""Pictures of a matrix as inline SVG: expected, actual and error side by side, with block borders."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpuregress.foundation.escapes import visible_html as escape
from gpuregress.foundation.records import BufferImage, ImageLayer
from gpuregress.foundation.records.maps.images import LARGEST, NOT_FINITE, unpack
from gpuregress.gpu.records import Record
from gpuregress.report.html.drawing import colours, png, profiles
from gpuregress.report.html.drawing.colours import LogAxis
from gpuregress.report.html.drawing.scales import Place, error_at, index_text, legend, number

_LONGEST = 208
"""Pixels of the longer side of a panel, about."""
_LARGEST_CELL = 24
_LEFT, _TOP, _BOTTOM = 40, 4, 20
_MOST_BORDERS = 24
"""Block borders along a side that are drawn: closer ones would hide the picture."""

DEFINITIONS = (
    '<svg width="0" height="0" class="definitions" aria-hidden="true" focusable="false"><defs>'
    f"{colours.gradient('errors')}{colours.gradient('greys')}"
    '<pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="4" height="4" fill="#ffb000"/><rect width="2" height="4" fill="#000"/></pattern></defs></svg>'
)
"""Gradients and the pattern of cells that are not finite; once on a page, before the first picture."""


class Panel(Record):
    """One of the pictures that stand side by side.

    Attributes:
        name: its heading.
        layer: its cells.
        colour_of: byte → six hexadecimal digits.
        has_hatch: whether byte 255 means not finite.
    """

    name: str
    layer: ImageLayer
    colour_of: Callable[[int], str]
    has_hatch: bool = True


def figure(image: BufferImage, what: str, description: str, worst: int | None = None) -> Iterator[str]:
    """A figure of the image: panels for a matrix, plots over the index for a buffer with one axis.

    Args:
        image: of the buffer.
        what: the buffer in words, `out of matmul/n=64`.
        description: of the difference, for those who do not see it.
        worst: the index of the worst element, which gets a ring.
    """
    rows, columns = image.size
    if rows == 1 or columns == 1:
        yield from profiles.figure(image, what, description)
        return
    yield '<figure><div class="panels">'
    for panel in _panels(image):
        yield from _panel(image, panel, (what, description), worst if panel.name == "error" else None)
    yield "</div><figcaption>"
    yield from _legends(image)
    yield f'<p class="soft">{escape(_explanation(image, has_ring=worst is not None))}</p></figcaption></figure>'


def _panels(image: BufferImage) -> Iterator[Panel]:
    axis = LogAxis.over(image.errors.low, image.errors.high)
    if image.expected is not None and image.actual is not None:
        part = f" .{image.part}" if image.part else ""
        yield Panel(f"expected{part}", image.expected, _value_colour)
        yield Panel(f"actual{part}", image.actual, _value_colour)

    def error_colour(level: int) -> str:
        if level in (0, NOT_FINITE):
            return colours.SAME
        return colours.error(axis.place(error_at(image.errors, level)) if axis else 0.0)

    yield Panel("error", image.errors, error_colour)
    if image.shares is not None:
        yield Panel("share that differs", image.shares, _share_colour, has_hatch=False)


def _value_colour(level: int) -> str:
    special = {0: colours.BELOW, LARGEST: colours.ABOVE, NOT_FINITE: colours.SAME}
    return special.get(level) or colours.grey((level - 1) / (LARGEST - 2))


def _share_colour(level: int) -> str:
    return colours.grey(0.1 + 0.9 * level / 255) if level else colours.SAME


def _panel(image: BufferImage, panel: Panel, texts: tuple[str, str], worst: int | None) -> Iterator[str]:
    rows, columns = image.cells
    cells = unpack(panel.layer.cells, rows * columns)
    place = _place(image)
    full, description = f"{panel.name} of {texts[0]}", texts[1]
    size = f'width="{_LEFT + place.width + 12}" height="{_TOP + place.height + _BOTTOM}"'
    data = f'data-place="{place.data(image)}"'
    box = f'viewBox="0 0 {_LEFT + place.width + 12} {_TOP + place.height + _BOTTOM}"'
    yield f'<div class="panel"><p>{escape(panel.name)}</p><svg role="img" {size} {box} {data}>'
    yield f"<title>{escape(full)}</title><desc>{escape(description)}</desc>"
    yield f'<g transform="translate({_LEFT} {_TOP})">'
    uri = png.data_uri(cells, columns, panel.colour_of)
    yield f'<image width="{place.width}" height="{place.height}" preserveAspectRatio="none" href="{uri}"/>'
    if panel.has_hatch and NOT_FINITE in cells:
        yield f'<path d="{_runs(cells, columns, place)}" fill="url(#hatch)"/>'
    yield _borders(image, place)
    yield f'<rect class="frame" width="{place.width}" height="{place.height}"/>'
    if worst is not None:
        (down, right), (row, column) = image.cell, divmod(worst, image.size[1])
        x, y = (column // right + 0.5) * place.side, (row // down + 0.5) * place.tall
        ring = f'cx="{x:g}" cy="{y:g}" r="{max(place.side, place.tall) / 2 + 4:g}"'
        yield f'<circle class="halo" {ring}/><circle class="worst" {ring}/>'
    yield "</g>"
    yield from _axes(image, place)
    yield "</svg></div>"


def _place(image: BufferImage) -> Place:
    rows, columns = image.cells
    side = max(1, min(_LARGEST_CELL, _LONGEST // max(rows, columns)))
    tall = side
    if image.cell[0] != image.cell[1] or min(rows, columns) * side < _LARGEST_CELL / 2:  # not to scale
        side, tall = max(side, min(_LARGEST_CELL, 96 // columns)), max(side, min(_LARGEST_CELL, 96 // rows))
    return Place(_LEFT, _TOP, side, tall, columns * side, rows * tall)


def _runs(cells: bytes, columns: int, place: Place) -> str:
    """A path over the cells that are not finite, one rectangle for each run of a row."""
    path, at = [], 0
    while at < len(cells):
        if cells[at] != NOT_FINITE:
            at += 1
            continue
        row, first = divmod(at, columns)
        end = first
        while end < columns and cells[row * columns + end] == NOT_FINITE:
            end += 1
        path.append(
            f"M{first * place.side} {row * place.tall}h{(end - first) * place.side}v{place.tall}H{first * place.side}z"
        )
        at = row * columns + end
    return "".join(path)


def _borders(image: BufferImage, place: Place) -> str:
    """Lines between thread blocks; nothing where they are unknown or too close."""
    if not _has_borders(image):
        return ""
    (rows, columns), (down, right) = image.size, image.block
    path = [f"M0 {at / image.cell[0] * place.tall:.4g}h{place.width}" for at in range(down, rows, down)]
    path += [f"M{at / image.cell[1] * place.side:.4g} 0v{place.height}" for at in range(right, columns, right)]
    line = "".join(path)
    return f'<path class="halo" d="{line}"/><path class="border" d="{line}"/>' if line else ""


def _has_borders(image: BufferImage) -> bool:
    if not image.block:
        return False
    return all(extent / block <= _MOST_BORDERS for extent, block in zip(image.size, image.block, strict=True))


def _axes(image: BufferImage, place: Place) -> Iterator[str]:
    """The first and the last index along each side."""
    (rows, columns), bottom, right = image.size, _TOP + place.height, _LEFT + place.width
    first, last = (index_text(image.shape, at * columns)[1:-1].rpartition(",")[0] for at in (0, rows - 1))
    yield f'<text x="{_LEFT - 4}" y="{_TOP + 10}" text-anchor="end">{first}</text>'
    yield f'<text x="{_LEFT - 4}" y="{bottom}" text-anchor="end">{last}</text>'
    yield f'<text x="{_LEFT}" y="{bottom + 14}">0</text>'
    yield f'<text x="{right}" y="{bottom + 14}" text-anchor="end">{columns - 1}</text>'


def _legends(image: BufferImage) -> Iterator[str]:
    axis = LogAxis.over(image.errors.low, image.errors.high)
    cells = unpack(image.errors.cells, image.cells[0] * image.cells[1])
    if axis is not None:
        yield legend("errors", "absolute error |actual - expected|", axis.ticks)
    elif any(0 < cell < NOT_FINITE for cell in cells):
        yield '<p class="soft">yellow-green: the values are equal, their bits are not</p>'
    if image.expected is not None and image.actual is not None:
        low, high = image.expected.low, image.expected.high
        yield legend(
            "greys", "values", ((0.0, number(low)), (1.0, number(high))) if high > low else ((0.5, number(low)),)
        )
    if image.shares is not None:
        yield legend("greys", "share that differs", ((0.0, "0"), (0.5, "50 %"), (1.0, "100 %")))


def _explanation(image: BufferImage, *, has_ring: bool) -> str:
    """What a cell is, what the borders are, and which cells have no place on a scale."""
    rows = image.size[0]
    down, right = image.cell
    parts = [f"{' x '.join(map(str, image.shape))} elements"]
    if len(image.shape) > 2:
        parts.append(f"all axes but the last go downwards, {rows} rows")
    parts.append(
        "each cell is one element"
        if down * right == 1
        else f"each cell {down} x {right} elements: their largest error, their mean value"
    )
    if down != right or _place(image).side != _place(image).tall:
        parts.append("not to scale")
    if image.block:
        size = f"{image.block[0]} x {image.block[1]} elements, as the launch ({image.launch}) suggests"
        drawn = "lines: thread blocks of" if _has_borders(image) else "thread blocks, too many to draw, of"
        parts.append(f"{drawn} {size}")
    parts.append("white in the error: equal" + ("; ring: the worst element" if has_ring else ""))
    layers = [one for one in (image.errors, image.expected, image.actual) if one is not None]
    cells = [unpack(one.cells, image.cells[0] * image.cells[1]) for one in layers]
    if any(NOT_FINITE in one for one in cells):
        parts.append("hatched in black and amber: NaN or infinity")
    if any(LARGEST in one for one in cells[1:]):
        parts.append("blue: a value above the scale")
    if any(0 in one for one in cells[1:]):
        parts.append("orange: a value below the scale")
    if image.expected is None:
        parts.append("the buffer is too large to draw its values")
    return "; ".join(parts)

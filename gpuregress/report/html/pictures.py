"""Pictures of a buffer: panels of a matrix side by side, or plots over the index."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from gpuregress.foundation.records import BufferImage, ImageLayer
from gpuregress.foundation.records.maps.images import LARGEST, NOT_FINITE, unpack
from gpuregress.foundation.wording import joined
from gpuregress.gpu.records import Record
from gpuregress.report.html import scales
from gpuregress.report.html.scales import LogAxis, error_at, index_text, png_uri, value_at
from gpuregress.report.html.templates import fragment

SCALES = {"errors": scales.ERRORS, "greys": scales.GREYS}
"""The gradients that pictures refer to, which stand once on a page: name → colours."""
_LONGEST = 208
"""Pixels of the longer side of a panel, about."""
_LARGEST_CELL = 24
_LEFT, _TOP = 40, 4
_MOST_BORDERS = 24
"""Block borders along a side that are drawn: closer ones would hide the picture."""
_TOO_LARGE = "the buffer is too large to draw its values"


class Area(Record):
    """The area of a picture in its SVG, in pixels.

    Attributes:
        left: of the area.
        top: of the area.
        cell_width: of a cell.
        cell_height: of a cell.
        width: of the area.
        height: of the area.
    """

    left: int
    top: int
    cell_width: float
    cell_height: float
    width: int
    height: int

    def data(self, image: BufferImage) -> str:
        """The numbers with which the page's script finds the elements below the pointer."""
        block = image.block[-2:] or (0, 0)
        numbers = (self.left, self.top, self.cell_width, self.cell_height, *image.cell, *block)
        return " ".join(f"{number:g}" for number in numbers) + ";" + " ".join(map(str, image.shape))


def figure(image: BufferImage, what: str, description: str, worst: int | None = None) -> Markup:
    """A figure of the image.

    Args:
        image: of the buffer.
        what: the buffer in words, `out of matmul/n=64`.
        description: of the difference, for those who do not see it.
        worst: the index of the worst element, which gets a ring in the panel of a matrix.
    """
    rows, columns = image.size
    if rows == 1 or columns == 1:
        return _plots(image, what, description)
    axis = LogAxis.over(image.errors.low, image.errors.high)
    error_cells = unpack(image.errors.cells, image.cells[0] * image.cells[1])
    return fragment(
        "pictures.html",
        "matrix",
        panels=_panels(image, axis, worst),
        area=_area(image),
        axes={
            "first_row": index_text(image.shape, 0)[1:-1].rpartition(",")[0],
            "last_row": index_text(image.shape, (rows - 1) * columns)[1:-1].rpartition(",")[0],
            "last_column": columns - 1,
        },
        what=what,
        description=description,
        has_unequal_bits=axis is None and any(0 < cell < NOT_FINITE for cell in error_cells),
        legends=_legends(image, axis),
        explanation=_explanation(image, has_ring=worst is not None),
    )


def legend(gradient: str, title: str, ticks: tuple[tuple[float, str], ...]) -> Markup:
    """A labelled bar of a colour scale.

    Args:
        gradient: the name of its gradient, of `SCALES`.
        title: the quantity with its unit.
        ticks: place from 0 to 1 → label.
    """
    return fragment("pictures.html", "legend", gradient, title, ticks)


# --- panels of a matrix -----------------------------------------------------------------------------------------------


def _panels(image: BufferImage, axis: LogAxis | None, worst: int | None) -> list[dict[str, Any]]:
    def error_colour(level: int) -> str:
        if level in (0, NOT_FINITE):
            return scales.SAME
        return scales.error(_height(image.errors, level, axis))

    layers = []
    if image.expected is not None and image.actual is not None:
        part = image.part and f" .{image.part}"
        layers.append((f"expected{part}", image.expected, scales.value_colour))
        layers.append((f"actual{part}", image.actual, scales.value_colour))
    layers.append(("error", image.errors, error_colour))
    if image.shares is not None:
        layers.append(("share that differs", image.shares, scales.share_colour))
    rows, columns = image.cells
    area = _area(image)
    panels = []
    for name, layer, colour_of in layers:
        cells = unpack(layer.cells, rows * columns)
        hatched, ring = "", None
        if layer is not image.shares:  # of the shares, byte 255 is all elements, not a number that is not finite
            hatched = _not_finite_runs(cells, columns, area)
        if layer is image.errors and worst is not None:
            ring = _ring(image, area, worst)
        panels.append(
            {
                "name": name,
                "image": png_uri(cells, columns, colour_of),
                "hatched": hatched,
                "borders": _matrix_borders(image, area),
                "ring": ring,
                "data": area.data(image),
            }
        )
    return panels


def _height(errors: ImageLayer, level: int, axis: LogAxis | None) -> float:
    """The place of a byte's error on the axis, from 0 to 1; 0 without an axis."""
    if axis is None:
        return 0.0
    return axis.place(error_at(errors, level))


def _area(image: BufferImage) -> Area:
    rows, columns = image.cells
    width = height = max(1, min(_LARGEST_CELL, _LONGEST // max(rows, columns)))
    if image.cell[0] != image.cell[1] or min(rows, columns) * width < _LARGEST_CELL / 2:  # not to scale
        width = max(width, min(_LARGEST_CELL, 96 // columns))
        height = max(height, min(_LARGEST_CELL, 96 // rows))
    return Area(left=_LEFT, top=_TOP, cell_width=width, cell_height=height, width=columns * width, height=rows * height)


def _ring(image: BufferImage, area: Area, worst: int) -> dict[str, str]:
    down, right = image.cell
    row, column = divmod(worst, image.size[1])
    return {
        "x": f"{(column // right + 0.5) * area.cell_width:g}",
        "y": f"{(row // down + 0.5) * area.cell_height:g}",
        "radius": f"{max(area.cell_width, area.cell_height) / 2 + 4:g}",
    }


def _not_finite_runs(cells: bytes, columns: int, area: Area) -> str:
    """A path over the cells that are not finite, one rectangle for each run of a row."""
    path: list[str] = []
    if NOT_FINITE not in cells:
        return ""
    index = 0
    while index < len(cells):
        if cells[index] != NOT_FINITE:
            index += 1
            continue
        row, first = divmod(index, columns)
        end = first
        while end < columns and cells[row * columns + end] == NOT_FINITE:
            end += 1
        left, width = first * area.cell_width, (end - first) * area.cell_width
        path.append(f"M{left} {row * area.cell_height}h{width}v{area.cell_height}H{left}z")
        index = row * columns + end
    return "".join(path)


def _matrix_borders(image: BufferImage, area: Area) -> str:
    """Lines between thread blocks; nothing where they are unknown or too close."""
    if not _draws_matrix_borders(image):
        return ""
    (rows, columns), (down, right) = image.size, image.block
    path = [f"M0 {row / image.cell[0] * area.cell_height:.4g}h{area.width}" for row in range(down, rows, down)]
    path += [f"M{at / image.cell[1] * area.cell_width:.4g} 0v{area.height}" for at in range(right, columns, right)]
    return "".join(path)


def _draws_matrix_borders(image: BufferImage) -> bool:
    if not image.block:
        return False
    return all(extent / block <= _MOST_BORDERS for extent, block in zip(image.size, image.block, strict=True))


def _legends(image: BufferImage, axis: LogAxis | None) -> list[dict[str, Any]]:
    legends: list[dict[str, Any]] = []
    if axis is not None:
        title = "absolute error |actual - expected|"
        legends.append({"gradient": "errors", "title": title, "ticks": axis.ticks})
    if image.expected is not None and image.actual is not None:
        low, high = image.expected.low, image.expected.high
        ticks = [(0.0, f"{low:.4g}"), (1.0, f"{high:.4g}")]
        if high <= low:
            ticks = [(0.5, f"{low:.4g}")]
        legends.append({"gradient": "greys", "title": "values", "ticks": ticks})
    if image.shares is not None:
        ticks = [(0.0, "0"), (0.5, "50 %"), (1.0, "100 %")]
        legends.append({"gradient": "greys", "title": "share that differs", "ticks": ticks})
    return legends


def _explanation(image: BufferImage, *, has_ring: bool) -> str:
    """What a cell is, what the borders are, and which cells have no place on a scale."""
    down, right = image.cell
    area = _area(image)
    parts = [f"{' x '.join(map(str, image.shape))} elements"]
    if len(image.shape) > 2:
        parts.append(f"all axes but the last go downwards, {image.size[0]} rows")
    if down * right == 1:
        parts.append("each cell is one element")
    else:
        parts.append(f"each cell {down} x {right} elements: their largest error, their mean value")
    if down != right or area.cell_width != area.cell_height:
        parts.append("not to scale")
    if image.block:
        size = f"{image.block[0]} x {image.block[1]} elements, as the launch ({image.launch}) suggests"
        if _draws_matrix_borders(image):
            parts.append(f"lines: thread blocks of {size}")
        else:
            parts.append(f"thread blocks, too many to draw, of {size}")
    parts.append("white in the error: equal")
    if has_ring:
        parts.append("ring: the worst element")
    cells = _cells_of_layers(image)
    if any(NOT_FINITE in layer for layer in cells):
        parts.append("hatched in black and amber: NaN or infinity")
    if any(LARGEST in layer for layer in cells[1:]):
        parts.append("blue: a value above the scale")
    if any(0 in layer for layer in cells[1:]):
        parts.append("orange: a value below the scale")
    if image.expected is None:
        parts.append(_TOO_LARGE)
    return "; ".join(parts)


def _cells_of_layers(image: BufferImage) -> list[bytes]:
    """The cells of the errors, then of the values where they are drawn."""
    count = image.cells[0] * image.cells[1]
    return [unpack(layer.cells, count) for layer in (image.errors, image.expected, image.actual) if layer is not None]


# --- plots over the index ---------------------------------------------------------------------------------------------

_PLOT = Area(left=56, top=4, cell_width=1, cell_height=1, width=288, height=120)
_SHARES = 14
"""Pixels below the plot of errors that the strip of shares takes."""
_MOST_PLOT_BORDERS = 36


def _plots(image: BufferImage, what: str, description: str) -> Markup:
    plots = []
    if image.expected is not None and image.actual is not None:
        ticks = ((0.0, f"{image.expected.low:.4g}"), (1.0, f"{image.expected.high:.4g}"))
        name = joined(" .", "expected and actual", image.part)
        count = image.cells[0] * image.cells[1]
        lines = (("expected", _line(image.expected, count)), ("actual", _line(image.actual, count)))
        plots.append(_plot(image, name, ticks, lines=lines))
    plots.append(_error_plot(image))
    last = image.size[0] * image.size[1] - 1
    return fragment(
        "pictures.html",
        "plots",
        plots=plots,
        area=_PLOT,
        borders=_plot_borders(image),
        indices=(index_text(image.shape, 0), index_text(image.shape, last)),
        what=what,
        description=description,
        explanation=_plots_explanation(image),
    )


def _plot(image: BufferImage, name: str, ticks: tuple[tuple[float, str], ...], **drawn: Any) -> dict[str, Any]:
    """A plot with its ticks: `lines` (class → path), `hatched` (a path), and `shares` (an image)."""
    bottom = _PLOT.top + _PLOT.height
    if drawn.get("shares"):
        bottom += _SHARES
    cells = image.cells[0] * image.cells[1]
    under_pointer = Area(
        left=_PLOT.left,
        top=0,
        cell_width=_PLOT.width / cells,
        cell_height=bottom,
        width=_PLOT.width,
        height=bottom,
    )
    labels = []
    for share, label in ticks:
        height = _y(share)
        labels.append({"height": height, "base": min(max(height + 4, 12), _y(0)), "label": label})
    nothing = {"lines": (), "hatched": "", "shares": ""}
    return {**nothing, "name": name, "ticks": labels, "bottom": bottom, "data": under_pointer.data(image), **drawn}


def _line(layer: ImageLayer, count: int) -> str:
    """A line through the cells, broken at those that are not finite; outside the range it runs along the edge."""
    path, pen = [], "M"
    span = layer.high - layer.low
    for index, level in enumerate(unpack(layer.cells, count)):
        if level == NOT_FINITE:
            pen = "M"
            continue
        share = 0.5
        if span:
            share = (value_at(layer, level) - layer.low) / span
        path.append(f"{pen}{_x(index + 0.5, count)} {_y(share):.1f}")
        if pen == "M":
            path.append("h.1")  # a single point is drawn, too
        pen = "L"
    return "".join(path)


def _error_plot(image: BufferImage) -> dict[str, Any]:
    """A bar for each cell, up to its largest error; below them the share of each cell that differs."""
    axis = LogAxis.over(image.errors.low, image.errors.high)
    count = image.cells[0] * image.cells[1]
    width = max(1.0, _PLOT.width / count)
    if width > 4:
        width -= 1  # a gap between wide bars
    bars, hatched = [], []
    for index, level in enumerate(unpack(image.errors.cells, count)):
        left = _x(index, count)
        if level == NOT_FINITE:
            hatched.append(f"M{left} {_PLOT.top}h{width:.1f}v{_PLOT.height}H{left}z")
        elif level:
            share = _height(image.errors, level, axis)
            bars.append(f"M{left} {_y(0)}h{width:.1f}v-{3 + share * (_PLOT.height - 3):.1f}H{left}z")
    lines = (("bars", "".join(bars)),) if bars else ()
    shares = ""
    if image.shares is not None:
        shares = png_uri(unpack(image.shares.cells, count), count, scales.share_colour)
    ticks = axis.ticks if axis else ()
    return _plot(image, "error", ticks, lines=lines, hatched="".join(hatched), shares=shares)


def _x(cell: float, count: int) -> str:
    return f"{_PLOT.left + cell * _PLOT.width / count:.1f}"


def _y(share: float) -> float:
    """The height of a place on the vertical axis, from 0 to 1."""
    return _PLOT.top + (1 - share) * _PLOT.height


def _plot_borders(image: BufferImage) -> str:
    if not _draws_plot_borders(image):
        return ""
    total, step = max(image.size), max(image.block)
    return "".join(f"M{_x(first, total)} 0v{_PLOT.top + _PLOT.height}" for first in range(step, total, step))


def _draws_plot_borders(image: BufferImage) -> bool:
    return bool(image.block) and max(image.size) / max(image.block) <= _MOST_PLOT_BORDERS


def _plots_explanation(image: BufferImage) -> str:
    parts = [_TOO_LARGE]
    if image.expected is not None:
        parts = ["expected: the thick grey line; actual: the thin one"]
    parts.append("error: |actual - expected| on a logarithmic axis, none where nothing is drawn")
    each = max(image.cell)
    if each > 1:
        parts.append(
            f"each step {each} elements: their mean value, their largest error; "
            "share: elements that differ, white none, black all"
        )
    if image.block:
        lines = "lines" if _draws_plot_borders(image) else "not drawn, because they are many"
        parts.append(f"thread blocks of {max(image.block)} elements ({lines}), as the launch ({image.launch}) suggests")
    cells = _cells_of_layers(image)
    if NOT_FINITE in cells[0]:
        parts.append("hatched: NaN or infinity on one side")
    if any(0 in layer or LARGEST in layer for layer in cells[1:]):
        parts.append("values beyond the axis run along its edge")
    return "; ".join(parts)

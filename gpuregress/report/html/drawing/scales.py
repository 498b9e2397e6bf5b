"""Scales of pictures: bytes of an image back to numbers, indices as the buffer counts them, legends."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpuregress.foundation.escapes import visible_html as escape
from gpuregress.foundation.records import BufferImage, ImageLayer
from gpuregress.foundation.records.maps.images import LARGEST
from gpuregress.gpu.records import Record

_WIDTH, _SIDE = 180, 30


class Place(Record):
    """The area of a picture in its SVG, in pixels.

    Attributes:
        left: of the area.
        top: of the area.
        side: width of a cell.
        tall: height of a cell.
        width: of the area.
        height: of the area.
    """

    left: int
    top: int
    side: float
    tall: float
    width: int
    height: int

    def data(self, image: BufferImage) -> str:
        """The numbers with which the page's script finds the elements below the pointer."""
        numbers = (
            self.left,
            self.top,
            self.side,
            self.tall,
            *image.cell,
            *image.block[-2:],
            *([0, 0] * (not image.block)),
        )
        return " ".join(f"{one:g}" for one in numbers) + ";" + " ".join(map(str, image.shape))


def error_at(layer: ImageLayer, level: int) -> float:
    """The error that a byte of an image stands for."""
    if layer.high <= layer.low or level >= LARGEST:
        return layer.high
    share = max(0, level - 1) / (LARGEST - 1)
    return min(layer.high, math.exp(math.log(layer.low) + share * (math.log(layer.high) - math.log(layer.low))))


def value_at(layer: ImageLayer, level: int) -> float:
    """The value that a byte of an image stands for; a byte outside the scale is its end."""
    share = min(1.0, max(0.0, (level - 1) / (LARGEST - 2)))
    return layer.low + share * (layer.high - layer.low)


def index_text(shape: Sequence[int], index: int) -> str:
    """An element's indices as `[36,62]`.

    Args:
        shape: of the buffer.
        index: row-major, from 0.
    """
    indices = []
    for extent in reversed(shape):
        indices.append(index % extent)
        index //= extent
    return f"[{','.join(map(str, reversed(indices)))}]"


def number(value: float) -> str:
    """A number in few digits."""
    return f"{value:.4g}"


def legend(gradient: str, title: str, ticks: Sequence[tuple[float, str]]) -> str:
    """A labelled bar of a colour scale.

    Args:
        gradient: the id of its gradient.
        title: the quantity with its unit.
        ticks: place from 0 to 1 → label.
    """
    texts = "".join(
        f'<path class="tick" d="M{_SIDE + place * _WIDTH:.1f} 12v4"/>'
        f'<text x="{_SIDE + place * _WIDTH:.1f}" y="27" text-anchor="middle">{escape(label)}</text>'
        for place, label in ticks
    )
    labels = ", ".join(label for _, label in ticks)
    whole = _WIDTH + 2 * _SIDE
    return (
        f'<div class="legend"><svg role="img" width="{whole}" height="30" viewBox="0 0 {whole} 30">'
        f"<title>{escape(f'scale of {title}: {labels}')}</title>"
        f'<rect x="{_SIDE}" width="{_WIDTH}" height="12" fill="url(#{gradient})"/>{texts}</svg>'
        f"<span>{escape(title)}</span></div>"
    )

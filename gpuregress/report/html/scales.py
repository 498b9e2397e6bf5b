"""Scales of pictures: colours, the logarithmic axis, bytes of an image as numbers and pixels.

Errors are drawn in viridis (S. van der Walt and N. Smith, CC0), the largest darkest: its lightness is monotonic, so it
reads the same with a deficiency of colour vision, in grey and in print. Values and shares are drawn in greys. None of
the colours is that of a verdict.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Callable, Sequence

from gpuregress.foundation.records import ImageLayer
from gpuregress.foundation.records.maps.images import LARGEST, NOT_FINITE
from gpuregress.gpu.records import Record

ERRORS = ("bddf26", "7ad151", "44bf70", "22a884", "21918c", "2a788e", "355f8d", "414487", "482475", "440154")
GREYS = ("f2f2f2", "d6d6d6", "bababa", "9e9e9e", "838383", "696969", "505050", "383838", "222222", "0d0d0d")
SAME = "ffffff"
BELOW, ABOVE = "e08214", "2166ac"
"""Values outside the drawn range."""
_MOST_TICKS = 6
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_INDEXED = 3


def error(share: float) -> str:
    """The colour of an error as six hexadecimal digits, by its place on the axis from 0 to 1."""
    return _between(ERRORS, share)


def grey(share: float) -> str:
    """The grey of a value as six hexadecimal digits, by its place on the axis from 0 to 1."""
    return _between(GREYS, share)


def value_colour(level: int) -> str:
    """The grey of a byte of an image's values, or the colour of those that have no place on the scale."""
    special = {0: BELOW, LARGEST: ABOVE, NOT_FINITE: SAME}
    return special.get(level) or grey((level - 1) / (LARGEST - 2))


def share_colour(level: int) -> str:
    """The grey of a byte of the shares of elements that differ; white for none."""
    if level == 0:
        return SAME
    return grey(0.1 + 0.9 * level / 255)


def _between(colours: tuple[str, ...], share: float) -> str:
    """Interpolate linearly between the two next colours."""
    position = min(1.0, max(0.0, share)) * (len(colours) - 1)
    first = min(int(position), len(colours) - 2)
    low, high = bytes.fromhex(colours[first]), bytes.fromhex(colours[first + 1])
    return bytes(round(a + (b - a) * (position - first)) for a, b in zip(low, high, strict=True)).hex()


class LogAxis(Record):
    """A logarithmic axis of at least one decade, so that errors that hardly differ look alike.

    Attributes:
        low: its start, above 0.
        high: its end.
    """

    low: float
    high: float

    @classmethod
    def over(cls, low: float, high: float) -> LogAxis | None:
        """Make the axis of some errors; None where all are 0 or not finite.

        Args:
            low: the smallest error above 0.
            high: the largest.
        """
        if not 0 < low <= high < math.inf:
            return None
        return cls(min(low, high / 10) or low, high)

    def place(self, value: float) -> float:
        """The place of a value on the axis, 0 to 1."""
        if value <= self.low < self.high:
            return 0.0
        span = math.log10(self.high) - math.log10(self.low)
        if not span:
            return 1.0
        return min(1.0, (math.log10(value) - math.log10(self.low)) / span)

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Places and labels: the powers of ten, thinned out to a few; both ends where there are less than two."""
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        powers = range(first, last + 1, 1 + max(0, last - first) // _MOST_TICKS)
        ticks = [(self.place(10.0**power), f"1e{power}") for power in powers if -300 < power < 300]
        if len(ticks) < 2:
            ticks = [(0.0, f"{self.low:.2g}"), (1.0, f"{self.high:.2g}")]
        return tuple(ticks)


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


def png_uri(cells: bytes, columns: int, colour_of: Callable[[int], str]) -> str:
    """An image with one pixel for each cell, as a data URI of a PNG with a palette (ISO/IEC 15948).

    Args:
        cells: a byte each, row by row.
        columns: of a row.
        colour_of: byte → six hexadecimal digits.
    """
    used = sorted(set(cells))
    palette = bytes.fromhex("".join(map(colour_of, used)))
    pixels = cells.translate(bytes.maketrans(bytes(used), bytes(range(len(used)))))
    rows = b"".join(b"\0" + pixels[start : start + columns] for start in range(0, len(pixels), columns))
    header = struct.pack(">IIBBBBB", columns, len(cells) // columns, 8, _INDEXED, 0, 0, 0)
    image = bytearray(_PNG_SIGNATURE)
    for kind, data in ((b"IHDR", header), (b"PLTE", palette), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")):
        image += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return "data:image/png;base64," + base64.b64encode(image).decode("ascii")

"""Images of a buffer: quantities over cells of its elements, a byte for each cell, packed as text."""

from __future__ import annotations

import base64
import zlib

from gpuregress.gpu.records import Record, Sparse

NOT_FINITE = 255
"""The byte of a cell with a NaN or an infinity."""
LARGEST = 254
"""The byte of the largest error; of a value above the range that is drawn."""


class ImageLayer(Record):
    """One quantity over the cells of an image.

    Attributes:
        low: the smallest number that is drawn.
        high: the largest.
        cells: a byte for each cell, row by row; see `pack`.
    """

    low: float
    high: float
    cells: str


class BufferImage(Sparse):
    """A buffer as a rectangle of cells: the last axis to the right, all axes before it downwards.

    Attributes:
        shape: elements along each axis.
        cell: elements of a cell, down and to the right.
        errors: the largest |actual - expected| of each cell: 0 where nothing differs, 1 to 254 on a logarithmic scale,
            255 for a NaN or infinity on one side.
        shares: the share of each cell's elements that differ, 0 to 255; None where a cell is one element.
        expected: the mean of each cell: 1 to 253 on a linear scale, 0 below it, 254 above it, 255 not finite. None
            where the buffer is too large.
        actual: the same, on the same scale.
        part: the part of the elements whose values these are; "" for a plain scalar.
        block: elements of a thread block, down and to the right, as the launch suggests; empty where that is not known.
        launch: the sizes of that launch in words.
    """

    shape: tuple[int, ...]
    cell: tuple[int, int]
    errors: ImageLayer
    shares: ImageLayer | None = None
    expected: ImageLayer | None = None
    actual: ImageLayer | None = None
    part: str = ""
    block: tuple[int, ...] = ()
    launch: str = ""

    @property
    def size(self) -> tuple[int, int]:
        """Elements down and to the right."""
        down = 1
        for extent in self.shape[:-1]:
            down *= extent
        return down, self.shape[-1]

    @property
    def cells(self) -> tuple[int, int]:
        """Cells down and to the right."""
        (rows, columns), (down, right) = self.size, self.cell
        return -(-rows // down), -(-columns // right)


def pack(cells: bytes) -> str:
    """Pack bytes as text: zlib, then Base64."""
    return base64.b64encode(zlib.compress(cells, 9)).decode("ascii")


def unpack(text: str, count: int) -> bytes:
    """Unpack the text that `pack` made.

    Args:
        text: of a layer.
        count: the number of cells.

    Raises:
        ValueError: it is no such text, or holds another number of cells.
    """
    try:
        inflate = zlib.decompressobj()
        cells = inflate.decompress(base64.b64decode(text, validate=True), count + 1)
    except zlib.error as error:
        raise ValueError(f"damaged image: {error}") from error
    if len(cells) != count:
        raise ValueError(f"damaged image: it has {len(cells)} cells, not {count}")
    return cells

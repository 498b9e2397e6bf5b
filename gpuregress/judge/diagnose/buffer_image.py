"""Image of a buffer's errors and values: cells of whole elements that keep its aspect ratio."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.records import BufferImage, ErrorProfile, ImageLayer, Launch
from gpuregress.foundation.records.maps.images import LARGEST, NOT_FINITE, pack
from gpuregress.gpu.records import replace
from gpuregress.judge.diagnose.evidence import fitting_mapping

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


class ErrorBins:
    """An error profile that is filled piece by piece.

    Args:
        shape: (bins,) or (rows, columns).
        sizes: elements of each bin, flat.
        bin_of: indices of elements → their bins.
    """

    def __init__(self, shape: tuple[int, ...], sizes: Indices, bin_of: Callable[[Indices], Indices]) -> None:
        self._shape, self._sizes, self._bin_of = shape, sizes, bin_of
        self._largest = np.zeros(len(sizes))
        self._differing = np.zeros(len(sizes), np.int64)

    def add(self, indices: Indices, errors: Floats) -> None:
        """Add elements that differ.

        Args:
            indices: row-major.
            errors: their errors, NaN if one side is not a number.
        """
        bins = self._bin_of(indices)
        np.maximum.at(self._largest, bins, np.where(np.isnan(errors), np.inf, errors))
        self._differing += np.bincount(bins, minlength=len(self._sizes))

    @property
    def arrays(self) -> tuple[Floats, Indices, Indices]:
        """The largest error of each bin, its elements that differ, all its elements."""
        return self._largest, self._differing, self._sizes

    @property
    def profile(self) -> ErrorProfile:
        """The profile of all elements added."""
        counts = self._largest.tolist(), self._differing.tolist(), self._sizes.tolist()
        return ErrorProfile(self._shape, *(tuple(one) for one in counts))


def strip(total: int, bins: int) -> ErrorBins:
    """Make bins of equal width along the buffer, at most one for each element.

    Args:
        total: elements in the buffer.
        bins: the largest number of bins.
    """
    count = max(1, min(bins, total))
    return ErrorBins((count,), _sizes(total, count), lambda indices: indices * count // max(1, total))


def heat_map(shape: tuple[int, ...], rows: int, columns: int) -> ErrorBins:
    """Make bins over the last axis and all before it.

    Args:
        shape: of the buffer, two axes or more.
        rows: the largest number of rows of bins.
        columns: the largest number of columns.
    """
    width = shape[-1]
    height = int(np.prod(shape[:-1], dtype=np.int64))
    high, wide = max(1, min(rows, height)), max(1, min(columns, width))
    sizes = np.outer(_sizes(height, high), _sizes(width, wide)).reshape(-1)

    def bin_of(indices: Indices) -> Indices:
        return np.asarray(indices // width * high // height * wide + indices % width * wide // width)

    return ErrorBins((high, wide), sizes, bin_of)


def _sizes(total: int, bins: int) -> Indices:
    """For each b, count the i with i * bins // total = b."""
    ends = -(-np.arange(bins + 1, dtype=np.int64) * total // bins)
    return np.diff(ends)


SIDE = 64
"""Most cells along a side; results.json holds them."""
LENGTH = 256
"""Most cells of a buffer with one axis."""
_LEAST_ROWS = 8
"""Rows and columns of cells that an image needs before its cells are made square."""
_RANGE = 20.0
"""Times the range of the expected values that is drawn; what is further out is marked as outside."""
Levels = npt.NDArray[np.uint8]


def cell_of(shape: tuple[int, ...]) -> tuple[int, int]:
    """Choose the elements of a cell, down and to the right.

    Args:
        shape: of the buffer.
    """
    rows, columns = _size(shape)
    if rows == 1 or columns == 1:
        return -(-rows // LENGTH), -(-columns // LENGTH)
    side = -(-max(rows, columns) // SIDE)
    if min(rows, columns) >= _LEAST_ROWS * side:
        return side, side
    return -(-rows // SIDE), -(-columns // SIDE)


def bins(shape: tuple[int, ...]) -> ErrorBins:
    """Make a bin for each cell of a buffer's image.

    Args:
        shape: of the buffer.
    """
    (rows, columns), (down, right) = _size(shape), cell_of(shape)
    high, wide = -(-rows // down), -(-columns // right)
    sizes = np.outer(_extents(rows, down), _extents(columns, right)).reshape(-1)

    def bin_of(indices: Indices) -> Indices:
        return np.asarray(indices // columns // down * wide + indices % columns // right)

    return ErrorBins((high, wide), sizes, bin_of)


def error_layers(filled: ErrorBins) -> tuple[ImageLayer, ImageLayer | None]:
    """Make the layers of the errors and of the shares that differ, from the bins of `bins`."""
    largest, differing, of = filled.arrays
    finite = largest[np.isfinite(largest) & (largest > 0)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    levels = np.zeros(len(largest), np.uint8)
    span = math.log(high) - math.log(low) if high > low else 0.0  # also 0 for neighbouring floats
    levels[differing > 0] = 1 if span else LARGEST
    if span:
        drawn = np.isfinite(largest) & (largest > 0)
        shares = (np.log(largest[drawn]) - math.log(low)) / span
        levels[drawn] = 1 + np.rint(np.clip(shares, 0, 1) * (LARGEST - 1)).astype(np.uint8)
    levels[~np.isfinite(largest)] = NOT_FINITE
    errors = ImageLayer(low, high, pack(levels.tobytes()))
    if of.max(initial=1) <= 1:
        return errors, None
    return errors, ImageLayer(0.0, 1.0, pack(np.ceil(differing / of * 255).astype(np.uint8).tobytes()))


def value_layers(shape: tuple[int, ...], expected: Floats, actual: Floats) -> tuple[ImageLayer, ImageLayer]:
    """Make the layers of both sides' values, on one scale.

    Args:
        shape: of the buffer.
        expected: one part of all its elements, flat.
        actual: the same.
    """
    means = [_means(side, shape) for side in (expected, actual)]
    low, high = _range(means[0], means[1])
    layers = [ImageLayer(low, high, pack(_linear(side, low, high).tobytes())) for side in means]
    return layers[0], layers[1]


def block_of(launch: Launch, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Guess the elements of a thread block, down and to the right; empty where they are no rectangle of them.

    Args:
        launch: the one that writes the buffer.
        shape: of the buffer.
    """
    mapping, (_, columns) = fitting_mapping(launch, shape), _size(shape)
    if mapping is None or mapping.blocks == 1:
        return ()
    if mapping.kind == "tile":
        return mapping.tile
    if mapping.per_block % columns == 0:
        return mapping.per_block // columns, columns
    is_part_of_row = columns % mapping.per_block == 0 or len(shape) == 1
    return (1, mapping.per_block) if is_part_of_row else ()


def image(
    shape: tuple[int, ...],
    filled: ErrorBins,
    values: tuple[ImageLayer, ImageLayer] | None,
    part: str,
    launch: Launch | None,
) -> BufferImage:
    """Put an image together.

    Args:
        shape: of the buffer.
        filled: the bins of `bins`, with all errors.
        values: the layers of `value_layers`; None for a large buffer.
        part: whose values these are.
        launch: the one that writes the buffer, if known.
    """
    errors, shares = error_layers(filled)
    expected, actual = values or (None, None)
    drawn = BufferImage(shape, cell_of(shape), errors, shares=shares, expected=expected, actual=actual, part=part)
    block = block_of(launch, shape) if launch is not None else ()
    if launch is None or not block:
        return drawn
    return replace(drawn, block=block, launch=_launch_words(launch))


def _launch_words(launch: Launch) -> str:
    """`grid 4 x 4, block 16 x 16`, along x, y, z, without trailing ones."""
    sizes = [tuple(launch.grid), tuple(launch.block)]
    while len(sizes[0]) > 1 and all(size[-1] == 1 for size in sizes):
        sizes = [size[:-1] for size in sizes]
    grid, block = (" x ".join(map(str, size)) for size in sizes)
    return f"grid {grid}, block {block}"


def _size(shape: tuple[int, ...]) -> tuple[int, int]:
    """Elements down and to the right."""
    return math.prod(shape[:-1]), shape[-1] if shape else 1


def _extents(total: int, cell: int) -> Indices:
    """The elements along each cell of a side."""
    return np.diff(np.minimum(np.arange(-(-total // cell) + 1, dtype=np.int64) * cell, total))


def _means(values: Floats, shape: tuple[int, ...]) -> Floats:
    """The mean of the finite values of each cell, flat; NaN where there is none."""
    (rows, columns), (down, right) = _size(shape), cell_of(shape)
    finite = np.isfinite(values)
    with np.errstate(all="ignore"):  # a sum may be too large: such a cell is not finite
        sums, counts = (
            np.add.reduceat(
                np.add.reduceat(one.reshape(rows, columns), np.arange(0, rows, down), axis=0),
                np.arange(0, columns, right),
                axis=1,
            ).reshape(-1)
            for one in (np.where(finite, values, 0.0), finite.astype(np.float64))
        )
        return np.asarray(sums / counts)


def _range(expected: Floats, actual: Floats) -> tuple[float, float]:
    """The range of both sides; of the expected one alone where the other is far outside."""
    ranges = [(side.min(), side.max()) for side in (one[np.isfinite(one)] for one in (expected, actual)) if side.size]
    if not ranges:
        return 0.0, 0.0
    low, high = float(min(one[0] for one in ranges)), float(max(one[1] for one in ranges))
    first, last = float(ranges[0][0]), float(ranges[0][1])
    if last > first and not high - low <= _RANGE * (last - first):
        return first, last
    return low, high


def _linear(values: Floats, low: float, high: float) -> Levels:
    levels = np.full(len(values), NOT_FINITE, np.uint8)
    finite = np.isfinite(values)
    span = high - low
    with np.errstate(all="ignore"):
        shares = (values[finite] - low) / span if 0 < span < math.inf else np.full(int(finite.sum()), 0.5)
    drawn = 1 + np.rint(np.clip(shares, 0, 1) * (LARGEST - 2)).astype(np.uint8)
    drawn[shares < 0], drawn[shares > 1] = 0, LARGEST
    levels[finite] = drawn
    return levels

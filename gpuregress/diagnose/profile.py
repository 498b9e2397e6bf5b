"""Errors gathered into a few bins: the numbers behind a strip or a heat map of the buffer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Profile:
    """Bins along a buffer, or over a matrix row by row.

    Attributes:
        shape: (bins,) or (rows, columns).
        largest: the largest error of each bin, flat, 0 where nothing differs; inf where NaN stands against a number.
        differing: elements of each bin that differ.
        of: elements of each bin.
    """

    shape: tuple[int, ...]
    largest: tuple[float, ...]
    differing: tuple[int, ...]
    of: tuple[int, ...]


def profile(indices: Indices, errors: Floats, total: int, bins: int) -> Profile:
    """Bins along the buffer, as wide as one another but for rounding; never more than there are elements.

    Args:
        indices: the places of the differing elements.
        errors: their errors; NaN where there is no number.
        total: elements in the buffer.
        bins: how many at most.
    """
    count = max(1, min(bins, total))
    return _gather(indices * count // max(1, total), errors, (count,), _sizes(total, count))


def heat_map(indices: Indices, errors: Floats, shape: tuple[int, ...], rows: int, columns: int) -> Profile:
    """Bins over the last axis and all before it.

    Args:
        indices: the places of the differing elements, row-major.
        errors: their errors; NaN where there is no number.
        shape: of the buffer, two axes or more.
        rows: how many rows of bins at most.
        columns: how many columns of bins at most.
    """
    width = shape[-1]
    height = int(np.prod(shape[:-1], dtype=np.int64))
    high, wide = max(1, min(rows, height)), max(1, min(columns, width))
    row, column = indices // width * high // height, indices % width * wide // width
    sizes = np.outer(_sizes(height, high), _sizes(width, wide)).reshape(-1)
    return _gather(row * wide + column, errors, (high, wide), sizes)


def _sizes(total: int, bins: int) -> Indices:
    """How many i have i * bins // total = b, for each b."""
    ends = -(-np.arange(bins + 1, dtype=np.int64) * total // bins)
    return np.diff(ends)


def _gather(where: Indices, errors: Floats, shape: tuple[int, ...], sizes: Indices) -> Profile:
    count = int(np.prod(shape))
    largest = np.zeros(count)
    np.maximum.at(largest, where, np.where(np.isnan(errors), np.inf, errors))
    differing = np.bincount(where, minlength=count)
    return Profile(shape, tuple(largest.tolist()), tuple(differing.tolist()), tuple(sizes.tolist()))

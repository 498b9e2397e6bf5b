"""Histograms of errors over a buffer's indices: a strip, or a heat map."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.records import ErrorProfile

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

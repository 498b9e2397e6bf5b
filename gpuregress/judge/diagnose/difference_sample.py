"""Random sample of a buffer's differing rows in bounded memory; all of them if they are few."""

from __future__ import annotations

import numpy as np

from gpuregress.foundation.numeric import ordinals
from gpuregress.judge.diagnose.evidence import Array
from gpuregress.judge.diagnose.thread_mapping import Indices

MOST = 1 << 22
"""Rows up to which all are kept."""
SIZE = 1_000_000
"""Rows of a sample."""

Hashes = np.ndarray[tuple[int], np.dtype[np.uint64]]


class DifferenceSample:
    """Rows in ascending order; of more than `MOST`, a random sample of `SIZE` with the first and the last of all.

    The sample has the rows with the smallest hashes of their indices. So it does not depend on the pieces that the rows
    come in, and it has no period that could hide a stride.
    """

    def __init__(self) -> None:
        self.of = 0
        self._rows: list[tuple[Indices, Array, Array]] = []
        self._held = 0
        self._limit = np.uint64(np.iinfo(np.uint64).max)

    def add(self, indices: Indices, expected: Array, actual: Array) -> None:
        """Add the next rows: their indices and both sides."""
        if not len(indices):
            return
        self.of += len(indices)
        if self.of > MOST:
            keep = _hashes(indices) <= self._limit
            keep[-1] = True  # it may be the last of all
            indices, expected, actual = indices[keep], expected[keep], actual[keep]
        self._rows.append((indices, expected, actual))
        self._held += len(indices)
        if self._held > MOST:
            self._thin()

    def rows(self) -> tuple[Indices, Array, Array]:
        """The indices of the kept rows and both sides; at least one row must have been added."""
        if self.of > MOST:
            self._thin()
        return self._joined()

    def _thin(self) -> None:
        indices, expected, actual = self._joined()
        hashes = _hashes(indices)
        hashes[[0, -1]] = 0
        self._limit = np.partition(hashes, SIZE - 1)[SIZE - 1]
        keep = hashes <= self._limit
        self._rows = [(indices[keep], expected[keep], actual[keep])]
        self._held = SIZE

    def _joined(self) -> tuple[Indices, Array, Array]:
        if len(self._rows) > 1:
            indices, expected, actual = zip(*self._rows, strict=True)
            self._rows = [(np.concatenate(indices), np.concatenate(expected), np.concatenate(actual))]
        return self._rows[0]


def _hashes(indices: Indices) -> Hashes:
    return ordinals.splitmix64(indices.astype(np.uint64))

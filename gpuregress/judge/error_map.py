"""Error map of a buffer: its errors in as many bins as a screen has columns, and an image."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.numeric.ordinals import Array, Mask
from gpuregress.foundation.records import BufferImage, Comparison, ErrorMaps
from gpuregress.gpu.records import replace
from gpuregress.judge import diagnose
from gpuregress.judge.buffer_pairs import BufferPair
from gpuregress.store.dumps.line_diff import ElementPairs

PAGE = 60
"""Bins along the map of a run's page; results.json holds them, so they are few."""
ROWS = 12
"""Most rows of a heat map: it must leave room for the rest of the screen."""
MOST_VALUES = 1 << 22
"""Elements up to which both buffers are read for the values of the image."""


class ErrorMap:
    """Observer of a comparison that bins errors: a strip, a heat map for two axes or more, the cells of an image.

    Args:
        pair: the two dumps.
        width: bins of a row.
    """

    def __init__(self, pair: BufferPair, width: int) -> None:
        self._pair, shape = pair, pair.actual.shape
        self._element, total = pair.request.element_type, pair.request.total
        self._strip = diagnose.strip(total, width)
        has_rows = len(shape) > 1 and shape[-1] > 1 and total > shape[-1]
        self._heat_map = diagnose.heat_map(shape, ROWS, width) if has_rows else None
        self._image = diagnose.image_bins(shape) if total else None
        self._is_empty = True

    def add(self, pairs: ElementPairs, broken: Mask | None) -> None:  # noqa: ARG002 - tolerated errors are drawn, too
        """Receive the next elements that differ; see `buffer_pairs.DifferenceObserver`."""
        errors = _errors(self._element, pairs.expected, pairs.actual)
        self._strip.add(pairs.indices, errors)
        if self._heat_map is not None:
            self._heat_map.add(pairs.indices, errors)
        if self._image is not None:
            self._image.add(pairs.indices, errors)
        self._is_empty &= not len(errors)

    def added_to(self, comparison: Comparison) -> Comparison:
        """The comparison with its error maps; unchanged without differing elements.

        Raises:
            DumpError: a dump does not hold what its header says.
            StorageError: one cannot be read.
        """
        if comparison.same or self._is_empty:
            return comparison
        heat_map = None if self._heat_map is None else self._heat_map.profile
        maps = ErrorMaps(self._strip.profile, heat_map, self._drawn(comparison))
        return replace(comparison, figures=replace(comparison.figures, error_maps=maps))

    def _drawn(self, comparison: Comparison) -> BufferImage | None:
        """The image, with the values of a buffer that is not too large."""
        if self._image is None:
            return None
        pair, shape, values = self._pair, self._pair.actual.shape, None
        names = [part.name for part in self._element.parts]
        part = comparison.worst.part if comparison.worst is not None and comparison.worst.part in names else names[0]
        if self._pair.request.total <= MOST_VALUES:
            sides = (self._values(pair.loaded(dump).array, names.index(part)) for dump in (pair.expected, pair.actual))
            values = diagnose.image_values(shape, *sides)
        return diagnose.image(shape, self._image, values, part, pair.case.writer_of(pair.actual.buffer))

    def _values(self, array: Array, part: int) -> npt.NDArray[np.float64]:
        column = self._element.columns(array.reshape(-1))[part]
        return dtypes.to_float(column, self._element.parts[part].scalar).astype(np.float64)


def _errors(element: ElementType, expected: Array, actual: Array) -> npt.NDArray[np.float64]:
    """The largest |actual - expected| of each row's parts; NaN where exactly one of the two is NaN."""
    worst = np.zeros(len(expected))
    columns = zip(element.parts, element.columns(expected), element.columns(actual), strict=True)
    with np.errstate(all="ignore"):
        for part, *sides in columns:
            e, a = (dtypes.to_float(side, part.scalar).astype(np.float64) for side in sides)
            both_nan = np.isnan(e) & np.isnan(a)
            worst = np.maximum(worst, np.where((e == a) | both_nan, 0.0, np.abs(a - e)))
    return np.asarray(worst)

"""Error map of a buffer: the errors along it in as many bins as a screen has columns."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from gpuregress import diagnose, dtypes
from gpuregress.dtypes import ElementType
from gpuregress.dump.line_diff import ElementPairs
from gpuregress.judging.buffer_pairs import BufferPair
from gpuregress.ordinals import Array, Mask
from gpuregress.records import Comparison, ErrorMaps

PAGE = 60
"""Bins along the map of a run's page; results.json holds them, so they are few."""
ROWS = 12
"""Most rows of a heat map: it must leave room for the rest of the screen."""


class ErrorMap:
    """Observer of a comparison that bins errors: a strip along the buffer, and a heat map for two axes or more.

    Args:
        pair: the two dumps.
        width: bins of a row.
    """

    def __init__(self, pair: BufferPair, width: int) -> None:
        shape = pair.actual.shape
        self._element, total = pair.request.element_type, pair.request.total
        self._strip = diagnose.strip(total, width)
        has_rows = len(shape) > 1 and shape[-1] > 1 and total > shape[-1]
        self._heat_map = diagnose.heat_map(shape, ROWS, width) if has_rows else None
        self._is_empty = True

    def add(self, pairs: ElementPairs, broken: Mask | None) -> None:  # noqa: ARG002 - tolerated errors are drawn, too
        """Receive the next elements that differ; see `buffer_pairs.DifferenceObserver`."""
        errors = _errors(self._element, pairs.expected, pairs.actual)
        self._strip.add(pairs.indices, errors)
        if self._heat_map is not None:
            self._heat_map.add(pairs.indices, errors)
        self._is_empty &= not len(errors)

    def added_to(self, comparison: Comparison) -> Comparison:
        """The comparison with its error maps; unchanged without differing elements."""
        if comparison.same or self._is_empty:
            return comparison
        maps = ErrorMaps(self._strip.profile, None if self._heat_map is None else self._heat_map.profile)
        return dataclasses.replace(comparison, figures=dataclasses.replace(comparison.figures, error_maps=maps))


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

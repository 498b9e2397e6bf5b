"""Where in a buffer the errors are, in as many bins as a screen is wide."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from gpuregress import diagnose, dtypes
from gpuregress.dtypes import ElementType
from gpuregress.dump.line_diff import Piece
from gpuregress.judging.buffer_pairs import Pair
from gpuregress.ordinals import Array, Mask
from gpuregress.records import Comparison, to_json

PAGE = 60
"""Bins along the picture of a run's page; results.json holds them, so they are few."""
ROWS = 12
"""Rows of a heat map, at most: it must leave room for the rest of the screen."""


class Picture:
    """A strip of the buffer, and a heat map where it has two axes or more, drawn while a pair is compared.

    Args:
        pair: the two dumps, of the same type and shape if anything is to be drawn.
        width: signs in a line.
    """

    def __init__(self, pair: Pair, width: int) -> None:
        shape = pair.now.shape
        self._element, total = pair.request.element_type, pair.request.total
        self._bins = {"strip": diagnose.strip(total, width)}
        if len(shape) > 1 and shape[-1] > 1 and total > shape[-1]:
            self._bins["heat_map"] = diagnose.heat_map(shape, ROWS, width)
        self._is_empty = True

    def add(self, piece: Piece, broken: Mask | None) -> None:  # noqa: ARG002 - what the rule allows is drawn, too
        """Takes the next elements that differ; see `pairs.Watcher`."""
        errors = _errors(self._element, piece.first, piece.second)
        for bins in self._bins.values():
            bins.add(piece.indices, errors)
        self._is_empty &= not len(errors)

    def added_to(self, comparison: Comparison) -> Comparison:
        """The comparison with its `picture`; unchanged where nothing differs or the two cannot be compared."""
        if comparison.same or self._is_empty:
            return comparison
        drawn = {name: to_json(bins.profile) for name, bins in self._bins.items()}
        return dataclasses.replace(comparison, numbers={**comparison.numbers, "picture": drawn})


def _errors(element: ElementType, expected: Array, actual: Array) -> npt.NDArray[np.float64]:
    """The largest |actual - expected| of each row's parts; NaN where one of the two is no number."""
    worst = np.zeros(len(expected))
    columns = zip(element.parts, element.columns(expected), element.columns(actual), strict=True)
    with np.errstate(all="ignore"):
        for part, first, second in columns:
            before, after = (dtypes.to_float(c, part.scalar).astype(np.float64) for c in (first, second))
            both_nan = np.isnan(before) & np.isnan(after)
            error = np.where((before == after) | both_nan, 0.0, np.abs(after - before))
            worst = np.maximum(worst, error)
    return np.asarray(worst)

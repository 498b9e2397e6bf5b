"""Where in a buffer the errors are, in as many bins as a screen is wide."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress import diagnose, dtypes
from gpuregress.pipeline.pairs import Pair
from gpuregress.records import Comparison, to_json

PAGE = 60
"""Bins along the picture of a run's page; results.json holds them, so they are few."""
ROWS = 12
"""Rows of a heat map, at most: it must leave room for the rest of the screen."""


def with_picture(pair: Pair, comparison: Comparison, width: int) -> Comparison:
    """The comparison with its `picture`: a strip of the buffer, and a heat map where it has two axes or more.

    Args:
        pair: the two dumps.
        comparison: what came of comparing them.
        width: signs in a line.

    Raises:
        DumpError: a dump does not hold what its header says.
        StorageError: one cannot be read.
    """
    if comparison.same or (pair.now.dtype, pair.now.shape) != (pair.then.dtype, pair.then.shape):
        return comparison
    found = pair.differences()
    if not len(found.indices):
        return comparison
    shape, errors = pair.now.shape, _errors(pair, found.first, found.second)
    drawn: dict[str, Any] = {"strip": to_json(diagnose.profile(found.indices, errors, found.count, width))}
    if len(shape) > 1 and shape[-1] > 1 and found.count > shape[-1]:
        drawn["heat_map"] = to_json(diagnose.heat_map(found.indices, errors, shape, ROWS, width))
    return dataclasses.replace(comparison, numbers={**comparison.numbers, "picture": drawn})


def _errors(pair: Pair, expected: npt.NDArray[np.generic], actual: npt.NDArray[np.generic]) -> npt.NDArray[np.float64]:
    """The largest |actual - expected| of each row's parts; NaN where one of the two is no number."""
    element = dtypes.parse(pair.now.dtype)
    worst = np.zeros(len(expected))
    columns = zip(element.parts, element.columns(expected), element.columns(actual), strict=True)
    with np.errstate(all="ignore"):
        for part, first, second in columns:
            before, after = (dtypes.to_float(c, part.scalar).astype(np.float64) for c in (first, second))
            both_nan = np.isnan(before) & np.isnan(after)
            error = np.where((before == after) | both_nan, 0.0, np.abs(after - before))
            worst = np.maximum(worst, error)
    return np.asarray(worst)

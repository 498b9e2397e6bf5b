"""Error norms of a whole buffer: max, mean, rms and relative l2.

With e = actual - expected over the n elements that are finite on both sides (a NaN or infinity on one side only fails
the comparison by itself):

    max = max |e|     mean = sum |e| / n     rms = sqrt(sum e^2 / n)     l2 = sqrt(sum e^2) / sqrt(sum expected^2)
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from msgspec import field

from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.numeric import ordinals
from gpuregress.foundation.numeric.ordinals import Array
from gpuregress.foundation.records import METRICS
from gpuregress.gpu.records import MutableRecord
from gpuregress.judge.compare import bounds
from gpuregress.judge.compare.difference_statistics import ErrorSums, finite


class ExpectedNorms(MutableRecord):
    """Norms of the expected side, one entry for each part of the element type.

    Attributes:
        element_type: of the rows.
        counts: elements that are finite on both sides.
        norms: of the expected values.
    """

    element_type: ElementType
    counts: list[int] = field(default_factory=list)
    norms: list[ErrorSums] = field(default_factory=list)

    def __post_init__(self) -> None:
        """One entry a part."""
        self.counts = [0 for _ in self.element_type.parts]
        self.norms = [ErrorSums() for _ in self.element_type.parts]

    def add(self, expected: Array, actual: Array) -> None:
        """Add all rows of a block of both sides."""
        for position, (part, e, a) in enumerate(self.element_type.column_pairs(expected, actual)):
            good = ordinals.is_finite(e, part.scalar) & ordinals.is_finite(a, part.scalar)
            self.counts[position] += int(np.count_nonzero(good))
            self.norms[position].add(bounds.magnitude(e[good], part.scalar))

    def assume(self, total: int) -> None:
        """Count all of `total` elements as finite, if only the rows that differ are given."""
        self.counts = [total for _ in self.counts]


def values(errors: list[ErrorSums], expected: ExpectedNorms) -> dict[str, float]:
    """Calculate each metric, of the part where it is largest.

    Args:
        errors: of each part.
        expected: the norms that l2 is relative to.
    """
    largest = dict.fromkeys(METRICS, 0.0)
    for error, count, reference in zip(errors, expected.counts, expected.norms, strict=True):
        if not count:
            continue
        norm = error.norm
        relative = norm / reference.norm if reference.norm else (math.inf if norm else 0.0)
        of_part = {"max": error.largest, "mean": error.total / count, "rms": norm / math.sqrt(count), "l2": relative}
        largest = {name: max(largest[name], value) for name, value in of_part.items()}
    return largest


def figures(metrics: Mapping[str, float]) -> dict[str, float | None]:
    """The metrics of a report."""
    return {name: finite(value) for name, value in metrics.items()}


def problems(limits: Mapping[str, float], metrics: Mapping[str, float]) -> list[str]:
    """Describe each metric over its limit.

    Args:
        limits: metric → its largest value.
        metrics: from `values`.
    """
    return [
        f"{name} of the error is {metrics[name]:.6g}, over {limit:.6g}"
        for name, limit in limits.items()
        if not metrics[name] <= limit
    ]

"""Metrics over a whole buffer: max, mean, rms and relative l2 of the error.

With e = actual - baseline over the n elements that are numbers on both sides (NaN and infinities are left out; where
they differ, the comparison fails by itself):

    max = max |e|     mean = sum |e| / n     rms = sqrt(sum e^2 / n)     l2 = sqrt(sum e^2) / sqrt(sum baseline^2)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from gpuregress import ordinals
from gpuregress.compare.metrics.difference_statistics import ErrorSums
from gpuregress.compare.rules import elementwise
from gpuregress.dtypes import ElementType
from gpuregress.ordinals import Array

METRICS = ("max", "mean", "rms", "l2")


@dataclass(slots=True)
class ExpectedNorms:
    """What the metrics need of the baseline besides the errors, one entry a part.

    Attributes:
        element_type: of the rows.
        counts: numbers on both sides.
        norms: of the baseline.
    """

    element_type: ElementType
    counts: list[int] = field(default_factory=list)
    norms: list[ErrorSums] = field(default_factory=list)

    def __post_init__(self) -> None:
        """One entry a part."""
        self.counts = [0 for _ in self.element_type.parts]
        self.norms = [ErrorSums() for _ in self.element_type.parts]

    def add(self, expected: Array, actual: Array) -> None:
        """Adds a block of both sides, all of its rows."""
        columns = zip(
            self.element_type.parts,
            self.element_type.columns(expected),
            self.element_type.columns(actual),
            strict=True,
        )
        for at, (part, e, a) in enumerate(columns):
            good = ordinals.is_finite(e, part.scalar) & ordinals.is_finite(a, part.scalar)
            self.counts[at] += int(np.count_nonzero(good))
            self.norms[at].add(elementwise.magnitude(e[good], part.scalar))

    def assume(self, total: int) -> None:
        """Takes all of `total` elements for numbers, where only the errors are at hand."""
        self.counts = [total for _ in self.counts]


def values(errors: list[ErrorSums], baselines: ExpectedNorms) -> dict[str, float]:
    """Each metric, of the part where it is largest.

    Args:
        errors: a part's position → its errors.
        baselines: what the errors are measured against.
    """
    found = dict.fromkeys(METRICS, 0.0)
    for error, count, baseline in zip(errors, baselines.counts, baselines.norms, strict=True):
        if not count:
            continue
        norm = error.norm
        relative = norm / baseline.norm if baseline.norm else (math.inf if norm else 0.0)
        here = {"max": error.largest, "mean": error.total / count, "rms": norm / math.sqrt(count), "l2": relative}
        found = {name: max(found[name], value) for name, value in here.items()}
    return found


def failures(limits: Mapping[str, float], found: Mapping[str, float]) -> list[str]:
    """A line for each metric over its limit."""
    return [
        f"{name} of the error is {found[name]:.6g}, over {limit:.6g}"
        for name, limit in limits.items()
        if not found[name] <= limit
    ]

"""Counting what differs, block by block, so that memory stays a fraction of the arrays.

A `Tally` takes rows of both sides with their indices, in rising order, and keeps counts, sums, the worst element by
each measure, the first few that break the bound, and the ULP histogram.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress import ordinals, records
from gpuregress.compare import bounds
from gpuregress.compare.bounds import Bound, Floats
from gpuregress.compare.words import word
from gpuregress.dtypes import ElementType, Part
from gpuregress.ordinals import Array, Mask
from gpuregress.records import Element

Indices = npt.NDArray[np.int64]
FIRST = 10
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(slots=True)
class PartSums:
    """One part's errors over the buffer: what the metrics are made of. NaN and infinities are left out."""

    largest: float = 0.0
    total: float = 0.0
    scale: float = 0.0
    squares: float = 0.0

    def add(self, absolute: Floats) -> None:
        """Adds finite errors; the squares are kept relative to the largest, so they cannot overflow."""
        if not absolute.size:
            return
        top = float(absolute.max())
        self.largest = max(self.largest, top)
        self.total += float(absolute.sum())
        if top > self.scale:
            self.squares *= (self.scale / top) ** 2 if math.isfinite(top) else 0.0
            self.scale = top
        if self.scale and math.isfinite(self.scale):
            self.squares += float(np.square(absolute / self.scale).sum())

    @property
    def norm(self) -> float:
        """The square root of the sum of squares."""
        return self.scale * math.sqrt(self.squares) if math.isfinite(self.scale) else math.inf


@dataclass(slots=True)
class Worst:
    """The worst element by one measure so far."""

    score: float = -1.0
    element: Element | None = None


@dataclass(slots=True)
class Tally:
    """Running counts of one comparison.

    Attributes:
        element_type: of the rows.
        bound: what is allowed.
        second: the bound of outliers, if there is one.
        changed: rows with other values.
        broken: rows that break the bound.
        beyond: rows that break the second bound.
        misplaced: parts where one side is NaN or infinite and the other is not the same.
        first: the first few that break the bound.
        worst: by `absolute`, `relative`, `ulp`, over all that changed.
        sums: a part's position → its errors.
        histogram: ulp bucket (its upper end) → count.
        nan: NaNs among the rows given, on each side.
    """

    element_type: ElementType
    bound: Bound
    second: Bound | None = None
    changed: int = 0
    broken: int = 0
    beyond: int = 0
    misplaced: int = 0
    first: list[Element] = field(default_factory=list)
    worst: dict[str, Worst] = field(default_factory=lambda: {key: Worst() for key in ("absolute", "relative", "ulp")})
    misplaced_worst: Element | None = None
    sums: list[PartSums] = field(default_factory=list)
    histogram: dict[int, int] = field(default_factory=dict)
    nan: list[int] = field(default_factory=lambda: [0, 0])

    def __post_init__(self) -> None:
        """One set of sums a part."""
        self.sums = [PartSums() for _ in self.element_type.parts]

    def add(self, indices: Indices, expected: Array, actual: Array) -> None:
        """Counts some rows.

        Args:
            indices: their places in the buffer, rising, and over all that came before.
            expected: one dimension, `element_type.storage`.
            actual: the same.
        """
        pairs = tuple(
            zip(
                self.element_type.parts,
                self.element_type.columns(expected),
                self.element_type.columns(actual),
                strict=True,
            )
        )
        changed = np.zeros(indices.shape, np.bool_)
        broken = np.zeros(indices.shape, np.bool_)
        beyond = np.zeros(indices.shape, np.bool_)
        masks = []
        for at, (part, e, a) in enumerate(pairs):
            part_broken = bounds.broken(e, a, part.scalar, self.bound)
            changed |= self._measure(at, part, indices, e, a)
            broken |= part_broken
            if self.second is not None:
                beyond |= part_broken & bounds.broken(e, a, part.scalar, self.second)
            masks.append(part_broken)
        self._list_first(indices, pairs, masks, broken)
        self.changed += int(np.count_nonzero(changed))
        self.broken += int(np.count_nonzero(broken))
        self.beyond += int(np.count_nonzero(beyond))

    def _measure(self, at: int, part: Part, indices: Indices, expected: Array, actual: Array) -> Mask:
        """Adds one part's errors to the sums, the worst and the histogram; returns where it changed."""
        scalar = part.scalar
        changed = bounds.changed(expected, actual, scalar)
        self.nan[0] += int(np.count_nonzero(ordinals.is_nan(expected, scalar)))
        self.nan[1] += int(np.count_nonzero(ordinals.is_nan(actual, scalar)))
        rows = np.flatnonzero(changed)
        if not rows.size:
            return changed
        e, a, places = expected[rows], actual[rows], indices[rows]
        absolute = bounds.absolute(e, a, scalar)
        numbers = ~np.isnan(absolute)
        if not numbers.all():
            self._misplace(part, places, e, a, numbers)
            e, a, places, absolute = e[numbers], a[numbers], places[numbers], absolute[numbers]
        self.sums[at].add(absolute)
        if not e.size:
            return changed
        self._keep_worst("absolute", absolute, part, places, e, a)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            relative = absolute / bounds.magnitude(e, scalar)
        self._keep_worst("relative", np.where(np.isfinite(relative), relative, -1.0), part, places, e, a)
        if scalar.is_float:
            steps = ordinals.ulps(e, a, scalar)
            self._keep_worst("ulp", steps.astype(np.float64), part, places, e, a)
            self._count_steps(steps)
        return changed

    def _misplace(self, part: Part, places: Indices, expected: Array, actual: Array, numbers: Mask) -> None:
        self.misplaced += int(np.count_nonzero(~numbers))
        if self.misplaced_worst is None:
            at = int(np.argmin(numbers))
            self.misplaced_worst = element(part, int(places[at]), expected, actual, at)

    def _keep_worst(
        self, name: str, scores: Floats, part: Part, places: Indices, expected: Array, actual: Array
    ) -> None:
        at = int(np.argmax(scores))
        score = float(scores[at])
        if score > self.worst[name].score:
            self.worst[name] = Worst(score, element(part, int(places[at]), expected, actual, at))

    def _count_steps(self, steps: npt.NDArray[np.uint64]) -> None:
        buckets = np.searchsorted(_BUCKETS, steps, side="left")
        for bucket, count in enumerate(np.bincount(buckets)):
            if count:
                self.histogram[bucket] = self.histogram.get(bucket, 0) + int(count)

    def _list_first(
        self, indices: Indices, pairs: tuple[tuple[Part, Array, Array], ...], masks: list[Mask], broken: Mask
    ) -> None:
        if len(self.first) >= FIRST or not broken.any():
            return
        for row in np.flatnonzero(broken)[: FIRST - len(self.first)]:
            for (part, e, a), mask in zip(pairs, masks, strict=True):
                if mask[row] and len(self.first) < FIRST:
                    self.first.append(element(part, int(indices[row]), e, a, int(row)))

    def worst_by(self, measure: str) -> Element | None:
        """The worst element: a NaN or infinity on one side only outranks any number."""
        return self.misplaced_worst or self.worst[measure].element

    def numbers(self) -> dict[str, Any]:
        """The figures of a report, as plain JSON."""
        found: dict[str, Any] = {
            "max_abs": finite(self.worst["absolute"].score),
            "max_rel": finite(self.worst["relative"].score),
            "max_ulp": finite(self.worst["ulp"].score),
            "misplaced_nan_or_inf": self.misplaced,
            "nan": {"expected": self.nan[0], "actual": self.nan[1]},
            "ulp_histogram": [[_bucket_name(at), count] for at, count in sorted(self.histogram.items())],
        }
        found["worst"] = {
            name: records.to_json(kept.element) for name, kept in self.worst.items() if kept.element is not None
        }
        return found


# 0 (-0 against 0), 1, 2, 4, 8 …: the upper end of each bucket.
_BUCKETS = np.array([0, *(1 << power for power in range(64))], np.uint64)


def _bucket_name(at: int) -> str:
    if at < 3:
        return str(int(at))
    return f"{(1 << (at - 2)) + 1}-{1 << (at - 1)}"


def finite(score: float) -> float | None:
    """A score as JSON can hold it: None for none, the largest float for an overflow."""
    if score < 0 or math.isnan(score):
        return None
    return min(score, _LARGEST)


def element(part: Part, index: int, expected: Array, actual: Array, at: int) -> Element:
    """The record of one differing part.

    Args:
        part: which part.
        index: its element's place in the buffer.
        expected: that part's column.
        actual: the same.
        at: its place in the columns.
    """
    e, a, scalar = expected[at : at + 1], actual[at : at + 1], part.scalar
    absolute = float(bounds.absolute(e, a, scalar)[0])
    magnitude = float(bounds.magnitude(e, scalar)[0])
    known = not math.isnan(absolute)
    return Element(
        index,
        part.name,
        word(e, 0, scalar),
        word(a, 0, scalar),
        finite(absolute) if known else None,
        finite(absolute / magnitude) if known and magnitude > 0 else None,
        int(ordinals.ulps(e, a, scalar)[0]) if known and scalar.is_float else None,
    )

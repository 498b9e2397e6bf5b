"""Streaming statistics of the differences between two buffers, in memory that does not grow with them.

`DifferenceStatistics` takes rows of both sides with their indices, in ascending order, and keeps counts, sums, the
worst element by each measure, the first few that break the bound, and the ULP histogram.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
import numpy.typing as npt
from msgspec import field

from gpuregress.foundation.dtypes import ElementType, Part
from gpuregress.foundation.numeric import ordinals
from gpuregress.foundation.numeric.decimals import words
from gpuregress.foundation.numeric.ordinals import Array, Mask
from gpuregress.foundation.records import Element, OutlierCounts, Rule, SideCounts, UlpFigures
from gpuregress.foundation.records.rules import Bound
from gpuregress.gpu.records import MutableRecord, Record, replace
from gpuregress.judge.compare import bounds
from gpuregress.judge.compare.bounds import Floats
from gpuregress.judge.compare.comparison_request import ComparisonRequest
from gpuregress.judge.compare.tolerance_use import ToleranceUse

Indices = npt.NDArray[np.int64]
FIRST = 10
_LARGEST = float(np.finfo(np.float64).max)


class ErrorSums(MutableRecord):
    """Sums of one part's finite errors over the buffer, for the metrics."""

    largest: float = 0.0
    total: float = 0.0
    scale: float = 0.0
    squares: float = 0.0

    def add(self, absolute: Floats) -> None:
        """Add finite errors; the squares are kept relative to the largest, so they cannot overflow."""
        if not absolute.size:
            return
        top = float(absolute.max())
        self.largest = max(self.largest, top)
        self.total += float(absolute.sum())
        if top > self.scale:
            shrink = (self.scale / top) ** 2 if math.isfinite(top) else 0.0
            self.squares *= shrink
            self.scale = top
        if self.scale and math.isfinite(self.scale):
            self.squares += float(np.square(absolute / self.scale).sum())

    @property
    def norm(self) -> float:
        """The square root of the sum of squares."""
        if not math.isfinite(self.scale):
            return math.inf
        return self.scale * math.sqrt(self.squares)


class DifferingPart(Record):
    """One differing part of an element, not yet formatted: both sides as arrays of one."""

    part: Part
    index: int
    expected: Array
    actual: Array


class WorstPart(MutableRecord):
    """The worst element by one measure so far."""

    score: float = -1.0
    differing_part: DifferingPart | None = None


class ListedElements(Record):
    """The differing elements that a report shows.

    Attributes:
        first: the first few that break the bound.
        worst: by `absolute`, `relative` and `ulp`, if there is any.
        misplaced: the first with a NaN or infinity on one side only.
    """

    first: tuple[Element, ...]
    worst: dict[str, Element]
    misplaced: Element | None

    def worst_by(self, measure: str) -> Element | None:
        """The worst element: a NaN or infinity on one side only outranks any number."""
        return self.misplaced or self.worst.get(measure)


def _no_worst() -> dict[str, WorstPart]:
    return {measure: WorstPart() for measure in ("absolute", "relative", "ulp")}


class DifferenceStatistics(MutableRecord):
    """Running statistics of one comparison.

    Attributes:
        element_type: of the rows.
        bound: of each element.
        use: of the bound.
        second: the bound of outliers, if there is one.
        changed: rows with other values.
        broken: rows that break the bound.
        beyond: rows that break the second bound.
        misplaced: parts of which one side is NaN or infinite and the other is not the same.
        parts_listed: the first few that break the bound.
        worst: by `absolute`, `relative`, `ulp`, over all changed parts.
        sums: the errors of each part.
        histogram: ulp bucket (its upper end) → count.
        nan: NaNs among the rows given, on each side.
    """

    element_type: ElementType
    bound: Bound
    use: ToleranceUse
    second: Bound | None = None
    changed: int = 0
    broken: int = 0
    beyond: int = 0
    misplaced: int = 0
    parts_listed: list[DifferingPart] = field(default_factory=list)
    worst: dict[str, WorstPart] = field(default_factory=_no_worst)
    misplaced_worst: DifferingPart | None = None
    sums: list[ErrorSums] = field(default_factory=list)
    histogram: dict[int, int] = field(default_factory=dict)
    nan: list[int] = field(default_factory=lambda: [0, 0])

    @classmethod
    def of_rule(cls, element_type: ElementType, rule: Rule) -> Self:
        """The statistics of a comparison under a rule."""
        bound, second = Bound.of_rule(rule), None
        if rule.outliers is not None:
            second = Bound.of_outliers(rule.outliers, rule)
        return cls(element_type, bound, ToleranceUse(bound, second), second)

    def __post_init__(self) -> None:
        """One set of sums a part."""
        self.sums = [ErrorSums() for _ in self.element_type.parts]

    def add(self, indices: Indices, expected: Array, actual: Array) -> Mask:
        """Add rows.

        Args:
            indices: their indices in the buffer, ascending, and above those of earlier calls.
            expected: one dimension, `element_type.storage`.
            actual: the same.

        Returns:
            A mask of the rows that break the bound.
        """
        pairs = tuple(self.element_type.column_pairs(expected, actual))
        changed = np.zeros(indices.shape, np.bool_)
        broken = np.zeros(indices.shape, np.bool_)
        beyond = np.zeros(indices.shape, np.bool_)
        masks = []
        for position, (part, e, a) in enumerate(pairs):
            part_broken = bounds.broken(e, a, part.scalar, self.bound)
            changed |= self._measure(position, part, indices, e, a)
            broken |= part_broken
            if self.second is not None:
                beyond |= part_broken & bounds.broken(e, a, part.scalar, self.second)
            masks.append(part_broken)
        self._list_first(indices, pairs, masks, broken)
        self.changed += int(np.count_nonzero(changed))
        self.broken += int(np.count_nonzero(broken))
        self.beyond += int(np.count_nonzero(beyond))
        return broken

    def _measure(self, position: int, part: Part, indices: Indices, expected: Array, actual: Array) -> Mask:
        """Add one part's errors to the sums, the worst and the histogram; return the mask of changed rows."""
        scalar = part.scalar
        changed = bounds.changed(expected, actual, scalar)
        self.nan[0] += int(np.count_nonzero(ordinals.is_nan(expected, scalar)))
        self.nan[1] += int(np.count_nonzero(ordinals.is_nan(actual, scalar)))
        rows = np.flatnonzero(changed)
        if not rows.size:
            return changed
        e, a, changed_at = expected[rows], actual[rows], indices[rows]
        absolute = bounds.absolute(e, a, scalar)
        numbers = ~np.isnan(absolute)
        if not numbers.all():
            self._misplace(part, changed_at, e, a, numbers)
            e, a, changed_at, absolute = e[numbers], a[numbers], changed_at[numbers], absolute[numbers]
        self.sums[position].add(absolute)
        if not e.size:
            return changed
        self._keep_worst("absolute", absolute, part, changed_at, e, a)
        magnitude = bounds.magnitude(e, scalar)
        steps = ordinals.ulps(e, a, scalar) if scalar.is_float else None
        self.use.add(e, a, scalar, absolute, magnitude, steps)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            relative = absolute / magnitude
        self._keep_worst("relative", np.where(np.isfinite(relative), relative, -1.0), part, changed_at, e, a)
        if steps is not None:
            self._keep_worst("ulp", steps.astype(np.float64), part, changed_at, e, a)
            self._count_steps(steps)
        return changed

    def _misplace(self, part: Part, indices: Indices, expected: Array, actual: Array, numbers: Mask) -> None:
        self.misplaced += int(np.count_nonzero(~numbers))
        if self.misplaced_worst is None:
            row = int(np.argmin(numbers))
            self.misplaced_worst = differing_part(part, int(indices[row]), expected, actual, row)

    def _keep_worst(
        self, name: str, scores: Floats, part: Part, indices: Indices, expected: Array, actual: Array
    ) -> None:
        row = int(np.argmax(scores))
        score = float(scores[row])
        if score > self.worst[name].score:
            self.worst[name] = WorstPart(score, differing_part(part, int(indices[row]), expected, actual, row))

    def _count_steps(self, steps: npt.NDArray[np.uint64]) -> None:
        buckets = np.searchsorted(_BUCKETS, steps, side="left")
        for bucket, count in enumerate(np.bincount(buckets)):
            if count:
                self.histogram[bucket] = self.histogram.get(bucket, 0) + int(count)

    def _list_first(
        self, indices: Indices, pairs: tuple[tuple[Part, Array, Array], ...], masks: list[Mask], broken: Mask
    ) -> None:
        if len(self.parts_listed) >= FIRST or not broken.any():
            return
        for row in np.flatnonzero(broken)[: FIRST - len(self.parts_listed)]:
            for (part, e, a), mask in zip(pairs, masks, strict=True):
                if mask[row] and len(self.parts_listed) < FIRST:
                    self.parts_listed.append(differing_part(part, int(indices[row]), e, a, int(row)))

    def listed(self) -> ListedElements:
        """Format the first few elements and the worst ones."""
        parts, measures = list(self.parts_listed), []
        for measure, worst in self.worst.items():
            if worst.differing_part is not None:
                parts.append(worst.differing_part)
                measures.append(measure)
        if self.misplaced_worst is not None:
            parts.append(self.misplaced_worst)
        formatted = elements(parts)
        misplaced = formatted.pop() if self.misplaced_worst is not None else None
        first = formatted[: len(self.parts_listed)]
        by_measure = dict(zip(measures, formatted[len(first) :], strict=True))
        return ListedElements(tuple(first), by_measure, misplaced)

    def figures(self, listed: ListedElements) -> UlpFigures:
        """The figures of a report."""
        return UlpFigures(
            max_abs=finite(self.worst["absolute"].score),
            max_rel=finite(self.worst["relative"].score),
            max_ulp=finite(self.worst["ulp"].score),
            misplaced_nan_or_inf=self.misplaced,
            nan=SideCounts(*self.nan),
            ulp_histogram=tuple((_bucket_name(bucket), count) for bucket, count in sorted(self.histogram.items())),
            worst=listed.worst,
        )


def ranking_measure(rule: Rule) -> str:
    """The error by which a rule ranks its worst element: `ulp`, `relative` or `absolute`."""
    if rule.ulp is not None and not rule.rtol and not rule.atol:
        return "ulp"
    if rule.rtol and not rule.atol:
        return "relative"
    return "absolute"


# 0 (-0 against 0), 1, 2, 4, 8 …: the upper end of each bucket.
_BUCKETS = np.array([0, *(1 << power for power in range(64))], np.uint64)


def _bucket_name(bucket: int) -> str:
    if bucket < 3:
        return str(bucket)
    return f"{(1 << (bucket - 2)) + 1}-{1 << (bucket - 1)}"


def finite(score: float) -> float | None:
    """A score for JSON: None for a negative score or NaN, the largest float for an overflow."""
    if score < 0 or math.isnan(score):
        return None
    return min(score, _LARGEST)


def differing_part(part: Part, index: int, expected: Array, actual: Array, row: int) -> DifferingPart:
    """Copy one row of two columns, to be formatted later.

    Args:
        part: of the columns.
        index: the row's index in the buffer.
        expected: that part's column.
        actual: the same.
        row: the row in the columns.
    """
    return DifferingPart(part, index, expected[row : row + 1].copy(), actual[row : row + 1].copy())


def elements(parts: list[DifferingPart]) -> list[Element]:
    """Format differing parts, in the same order; all parts of one scalar type at once."""
    formatted: dict[int, Element] = {}
    for scalar in {listed.part.scalar for listed in parts}:
        positions = [position for position, listed in enumerate(parts) if listed.part.scalar == scalar]
        e = np.concatenate([parts[position].expected for position in positions])
        a = np.concatenate([parts[position].actual for position in positions])
        absolute, magnitude = bounds.absolute(e, a, scalar).tolist(), bounds.magnitude(e, scalar).tolist()
        steps = [None] * len(e)
        if scalar.is_float:
            steps = ordinals.ulps(e, a, scalar).tolist()
        texts = zip(words(e, scalar), words(a, scalar), strict=True)
        for row, (position, (expected, actual)) in enumerate(zip(positions, texts, strict=True)):
            element = Element(parts[position].index, parts[position].part.name, expected, actual)
            error, size = absolute[row], magnitude[row]
            if not math.isnan(error):
                relative = finite(error / size) if size > 0 else None
                element = replace(element, absolute=finite(error), relative=relative, ulp=steps[row])
            formatted[position] = element
    return [formatted[position] for position in range(len(parts))]


def outlier_counts(request: ComparisonRequest, missed: int, beyond: int) -> OutlierCounts:
    """Compare the outliers with the rule's budget.

    Args:
        request: its rule has `outliers`.
        missed: elements that break the first bound.
        beyond: elements that break the second bound, too.
    """
    assert request.rule.outliers is not None, "the rule has outliers"
    return OutlierCounts(missed, math.floor(request.rule.outliers.fraction * request.total + 1e-9), beyond)


def outlier_problems(outliers: OutlierCounts, total: int) -> list[str]:
    """Describe how a comparison of `total` elements exceeds its budget of outliers."""
    missed, allowed, beyond = outliers.missed, outliers.allowed, outliers.beyond
    problems = []
    if missed > allowed:
        problems.append(f"{missed} of {total} miss the bound, {allowed} may")
    if beyond:
        problems.append(f"{beyond} of {total} miss the outliers' bound too, none may")
    return problems

"""Figures of a comparison beside its verdict: error measures, norms, counts, samples, the error map.

The keys of their JSON form are those of `numbers` in results.json, without those that a comparison does not have.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from gpuregress.foundation.records.further_runs import Determinism
from gpuregress.foundation.records.maps.images import BufferImage
from gpuregress.gpu.records import Record, Sparse


class Element(Record):
    """One element that differs.

    Attributes:
        index: row-major, counted from 0.
        part: the part's name, "" for a plain scalar.
        expected: the baseline's text, as a dump writes it; "" where only the actual side has it.
        actual: this run's text; "" where only the baseline has it.
        absolute: |actual - expected|, None where it has no meaning.
        relative: absolute / |expected|.
        ulp: steps between floats, None for integers.
    """

    index: int
    part: str
    expected: str
    actual: str
    absolute: float | None = None
    relative: float | None = None
    ulp: int | None = None

    @property
    def place(self) -> str:
        """`[5]`, or `[5].x` for a part."""
        if self.part:
            return f"[{self.index}].{self.part}"
        return f"[{self.index}]"


class SideCounts(Record):
    """A count on each side of a comparison."""

    expected: int
    actual: int


class OutlierCounts(Record):
    """Use of a rule's budget of outliers.

    Attributes:
        missed: elements that break the first bound.
        allowed: how many may.
        beyond: elements that break the second bound, too.
    """

    missed: int
    allowed: int
    beyond: int


class InOrderFigures(Sparse):
    """The verdict in order, with the elements that break the rule, or those with other values."""

    same: bool
    differing: int | None = None
    changed: int | None = None


class AnyOrderFigures(Sparse):
    """The verdict on the values as a multiset, with the numbers of those that only one side has, if counted."""

    same: bool
    only_expected: int | None = None
    only_actual: int | None = None


class EstimateDistance(Record):
    """Estimates of one statistic from both samples, and their distance in standard errors; None: not finite."""

    expected: float | None
    actual: float | None
    sigmas: float | None


class KolmogorovSmirnov(Record):
    """The largest distance of two empirical distribution functions, and its p-value."""

    distance: float
    p: float


class SampleFigures(Sparse):
    """Statistical tests of one part of a buffer.

    Attributes:
        left_out: NaNs and infinities.
        mean: None: not tested; so with the others.
        variance: see mean.
        ks: see mean.
    """

    left_out: SideCounts
    mean: EstimateDistance | None = None
    variance: EstimateDistance | None = None
    ks: KolmogorovSmirnov | None = None


class ErrorProfile(Record):
    """Bins along a buffer, or over a matrix row by row.

    Attributes:
        shape: (bins,) or (rows, columns).
        largest: the largest error of each bin, flat, 0 without differences; inf for a NaN against a number.
        differing: elements of each bin that differ.
        of: elements of each bin.
    """

    shape: tuple[int, ...]
    largest: tuple[float, ...]
    differing: tuple[int, ...]
    of: tuple[int, ...]


class ErrorMaps(Sparse):
    """The errors along a buffer, over its rows where it has more than one axis, and as an image with the values."""

    strip: ErrorProfile | None = None
    heat_map: ErrorProfile | None = None
    image: BufferImage | None = None


class Figures(Sparse, kw_only=True):
    """Figures of any comparison.

    Attributes:
        nan: NaNs on each side.
        outliers: the use of the rule's budget.
        metrics: error norm → its value; None: not finite.
        in_order: the verdict in order.
        any_order: the verdict as a multiset.
        statistics: part → its tests; `value` for a plain scalar.
        compared_as: the dtype of the comparison where it is not the buffer's.
        worst_thread: block and thread of the worst element, in words; `place` in JSON.
        error_maps: `picture` in JSON.
        expected: determinism of the baseline.
        actual: determinism of this run; `found` in JSON.
        runs: from which determinism is known.
        nothing_written: whether both sides were left as they were, so that nothing could be compared.
    """

    nan: SideCounts | None = None
    outliers: OutlierCounts | None = None
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    in_order: InOrderFigures | None = None
    any_order: AnyOrderFigures | None = None
    statistics: Mapping[str, SampleFigures] = field(default_factory=dict)
    compared_as: str = ""
    worst_thread: str = field(default="", name="place")
    error_maps: ErrorMaps | None = field(default=None, name="picture")
    expected: Determinism | None = None
    actual: Determinism | None = field(default=None, name="found")
    runs: int | None = None
    nothing_written: bool = False


class ErrorFigures(Figures, kw_only=True):
    """Figures of a comparison by errors.

    Attributes:
        max_abs: the largest absolute error; None: there is none.
        max_rel: the largest relative error.
        misplaced_nan_or_inf: parts of elements that are NaN or infinite on one side only.
        worst: `absolute`, `relative`, `ulp` → the worst element by that measure.
    """

    max_abs: float | None
    max_rel: float | None
    misplaced_nan_or_inf: int
    worst: Mapping[str, Element]


class UlpFigures(ErrorFigures, kw_only=True):
    """Figures of a comparison in the buffer's own dtype, with steps between its floats.

    Attributes:
        max_ulp: the largest error in steps; None: there is none.
        ulp_histogram: errors in steps, as `3-4`, and the number of elements.
    """

    max_ulp: float | None
    ulp_histogram: tuple[tuple[str, int], ...]

    def without_ulps(self) -> ErrorFigures:
        """The figures of a comparison in another dtype, whose steps mean nothing."""
        return ErrorFigures(**{name: getattr(self, name) for name in ErrorFigures.__struct_fields__})

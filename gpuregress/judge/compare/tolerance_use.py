"""Use of a tolerance: the largest part of its allowed error that an element takes.

    tolerance     |actual - expected| / (atol + rtol |expected|)
    ulp           steps / ulp
    both          the smaller of the two, as an element must keep only one
    metric        its value / its limit
    outliers      elements that miss the bound / elements that may, or the worst of them under the second bound

An element that takes at most 1 keeps the bound. A NaN on one side only, or an error where none is allowed, takes no
finite part. A rule without any of these has no use.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.dtypes import Scalar
from gpuregress.foundation.numeric import ordinals
from gpuregress.foundation.numeric.ordinals import Array, Mask
from gpuregress.foundation.records import OutlierCounts
from gpuregress.foundation.records.rules import Bound
from gpuregress.gpu.records import MutableRecord
from gpuregress.judge.compare.bounds import Floats

Steps = npt.NDArray[np.uint64]


class ToleranceUse(MutableRecord):
    """Running maxima of the use of a bound, and of a second one by the elements that break the first.

    Attributes:
        bound: of each element.
        second: of outliers, if there is one.
        largest: the largest finite part of the bound.
        largest_of_outliers: the largest finite part of the second bound.
    """

    bound: Bound
    second: Bound | None = None
    largest: float = 0.0
    largest_of_outliers: float = 0.0

    def add(
        self,
        expected: Array,
        actual: Array,
        scalar: Scalar,
        absolute: Floats,
        magnitude: Floats,
        steps: Steps | None = None,
    ) -> None:
        """Add elements that differ and are finite on both sides.

        Args:
            expected: one dimension, the scalar's storage dtype.
            actual: the same.
            scalar: how to read them.
            absolute: their errors.
            magnitude: |expected|.
            steps: `ordinals.ulps` of both sides; None: not known yet.
        """
        if self.bound.is_exact or scalar.kind == "bool":
            return
        used = _shares(expected, actual, scalar, self.bound, absolute, magnitude, steps)
        self.largest = max(self.largest, _largest_finite(used))
        if self.second is not None and not self.second.is_exact:
            out = ~(used <= 1)
            if out.any():
                used = _shares(expected[out], actual[out], scalar, self.second, absolute[out], magnitude[out])
                self.largest_of_outliers = max(self.largest_of_outliers, _largest_finite(used))

    def share(self, *, is_broken: bool, outliers: OutlierCounts | None = None) -> float | None:
        """The largest part of the bound; None for an exact one, and where what breaks it takes no finite part.

        Args:
            is_broken: whether an element breaks the bound.
            outliers: the use of the budget, if elements break the bound and the rule has one.
        """
        if self.bound.is_exact:
            return None
        if outliers is not None and outliers.allowed:
            if outliers.beyond and self.largest_of_outliers <= 1:
                return None
            return max(outliers.missed / outliers.allowed, self.largest_of_outliers)
        if is_broken and self.largest <= 1:
            return None
        return self.largest


def _shares(
    expected: Array,
    actual: Array,
    scalar: Scalar,
    bound: Bound,
    absolute: Floats,
    magnitude: Floats,
    steps: Steps | None = None,
) -> Floats:
    shares = []
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if bound.has_tolerance:
            allowed = (bound.rtol or 0.0) * magnitude + (bound.atol or 0.0)
            shares.append(absolute / allowed)
        if bound.ulp is not None and scalar.is_float:
            steps = ordinals.ulps(expected, actual, scalar) if steps is None else steps
            of_ulp = steps / np.float64(bound.ulp)
            of_ulp[_is_negative(expected, scalar) != _is_negative(actual, scalar)] = np.inf
            shares.append(of_ulp)
        if not shares:  # integers under `ulp` alone
            return np.full(len(expected), np.inf)
        return np.asarray(shares[0] if len(shares) == 1 else np.fmin(*shares))


def _is_negative(values: Array, scalar: Scalar) -> Mask:
    return np.signbit(values) if values.dtype.kind == "f" else ordinals.keys(values, scalar) < 0


def _largest_finite(shares: Floats) -> float:
    top = float(shares.max(initial=0.0))
    if np.isfinite(top):
        return top
    return float(shares[np.isfinite(shares)].max(initial=0.0))


def of_metrics(limits: Mapping[str, float], metrics: Mapping[str, float]) -> float | None:
    """The largest part of its limit that a metric takes; None without one, and where what breaks it has no finite part.

    Args:
        limits: metric → its largest value.
        metrics: from `error_norms.values`.
    """
    shares: list[float] = []
    for name, limit in limits.items():
        if not limit and metrics[name]:
            return None
        if limit:
            shares.append(metrics[name] / limit)
    if not np.isfinite(shares).all():
        return None
    return max(shares, default=None)


def largest(*shares: float | None) -> float | None:
    """The largest of the shares that there are."""
    return max((share for share in shares if share is not None), default=None)

"""Accuracy of a result against its reference, and of the accepted one, in units in the last place.

The reference may be of a wider type. The error of a result y against a reference x is |y - x| / ulp(x), where ulp(x) is
the distance of two neighbours of the result's dtype at x: 2^(floor(log2 |x|) - p + 1) for p significant bits, at least
the smallest subnormal number. A result that is rounded correctly has an error of at most 0.5.
Source: Muller, "On the definition of ulp(x)", INRIA RR-5504, 2005 (Goldberg's definition, extended to reals).
"""

from __future__ import annotations

import math
import operator
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import field

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType, Scalar
from gpuregress.foundation.numeric.ordinals import Array, spacing
from gpuregress.foundation.records import Accuracy, AccuracyReport, Baseline, Case, Dump
from gpuregress.gpu.records import MutableRecord
from gpuregress.judge.compare.difference_statistics import ErrorSums
from gpuregress.store.dumps import files, line_diff

Floats = npt.NDArray[np.float64]


class UlpErrors(MutableRecord):
    """Running maximum and root mean square of the errors of a result.

    Attributes:
        element: of the result: all parts are floats.
        reference: the element type of the other side: the same, or a wider one.
        sums: of the errors.
        count: numbers with an error, of all parts.
        misplaced: numbers that are NaN or infinite, and not the same on the other side.
    """

    element: ElementType
    reference: ElementType
    sums: ErrorSums = field(default_factory=ErrorSums)
    count: int = 0
    misplaced: int = 0

    def add(self, expected: Array, actual: Array) -> None:
        """Add rows.

        Args:
            expected: those of the reference, its storage dtype.
            actual: those of the result.
        """
        columns = zip(
            self.reference.parts,
            self.reference.columns(expected),
            self.element.parts,
            self.element.columns(actual),
            strict=True,
        )
        for wide, exact, part, rounded in columns:
            x = dtypes.to_float(exact, wide.scalar).astype(np.float64)
            y = dtypes.to_float(rounded, part.scalar).astype(np.float64)
            self._add_numbers(x, y, part.scalar)

    def _add_numbers(self, expected: Floats, actual: Floats, scalar: Scalar) -> None:
        finite = np.isfinite(expected) & np.isfinite(actual)
        alike = (expected == actual) | (np.isnan(expected) & np.isnan(actual))
        self.misplaced += int(np.count_nonzero(~finite & ~alike))
        self.count += int(np.count_nonzero(finite | alike))
        x, y = expected[finite], actual[finite]
        with np.errstate(over="ignore", under="ignore"):
            self.sums.add(np.abs(y - x) / spacing(x, scalar))

    def accuracy(self) -> Accuracy:
        """The errors of all rows."""
        rms = self.sums.norm / math.sqrt(self.count) if self.count else 0.0
        return Accuracy(float(self.sums.largest), float(rms), self.misplaced)


Trend = Literal["more accurate", "less accurate", "as accurate", "mixed"]


def is_reported(case: Case, buffer: str) -> bool:
    """Tell whether the accuracy of a buffer is reported: it has a twin of another precision, or the job asks."""
    kernel = case.reference_kernels.get(buffer)
    is_twin = kernel is not None and bool(kernel.buffer)
    return buffer in case.improves or (is_twin and _is_of_floats(case.buffers[buffer].dtype))


def report(case: Case, reference: Dump, actual: Dump, accepted: Baseline | None) -> AccuracyReport | None:
    """Measure the error of a result, and of the accepted one where the job asks for it.

    Args:
        case: the case that ran.
        reference: in its widest form.
        actual: this run's dump.
        accepted: the baseline, None without one.

    Returns:
        None where the reference has another shape, or elements that are not those of the result.

    Raises:
        DumpError: a dump does not hold what its header says.
        StorageError: one cannot be read.
    """
    if not _is_comparable(reference, actual):
        return None
    measured = measure(reference, actual)
    if accepted is None or actual.buffer not in accepted.dumps or actual.buffer not in case.improves:
        return AccuracyReport(actual.dtype, measured)
    before = accepted.dumps[actual.buffer]
    if (before.dtype, before.shape) != (actual.dtype, actual.shape):
        return AccuracyReport(actual.dtype, measured)
    was = measured
    if before.digest != actual.digest:
        files.verify(before)
        was = measure(reference, before)
    return AccuracyReport(actual.dtype, measured, was, accepted.revision, trend(was, measured))


def measure(reference: Dump, result: Dump) -> Accuracy:
    """Measure the error of a dump, piece by piece.

    Args:
        reference: of the result's element type, or of `dtypes.widened`.
        result: of the same shape.

    Raises:
        DumpError: a dump does not hold what its header says.
        StorageError: one cannot be read.
    """
    errors = UlpErrors(dtypes.parse(result.dtype), dtypes.parse(reference.dtype))
    widened = reference.dtype != result.dtype
    for pairs in line_diff.pairs(Path(reference.path), Path(result.path), every=True, widened=widened):
        errors.add(pairs.expected, pairs.actual)
    return errors.accuracy()


def trend(before: Accuracy, after: Accuracy) -> Trend:
    """Compare two accuracies; `mixed` where one measure is better and another one worse."""
    old = (before.misplaced, before.max_ulp, before.rms_ulp)
    new = (after.misplaced, after.max_ulp, after.rms_ulp)
    is_better, is_worse = any(map(operator.lt, new, old)), any(map(operator.gt, new, old))
    if is_better and is_worse:
        return "mixed"
    if is_better:
        return "more accurate"
    if is_worse:
        return "less accurate"
    return "as accurate"


def _is_comparable(reference: Dump, actual: Dump) -> bool:
    wide = dtypes.widened(dtypes.parse(actual.dtype)).name
    return reference.shape == actual.shape and reference.dtype in (actual.dtype, wide) and _is_of_floats(actual.dtype)


def _is_of_floats(dtype: str) -> bool:
    return all(part.scalar.is_float for part in dtypes.parse(dtype).parts)

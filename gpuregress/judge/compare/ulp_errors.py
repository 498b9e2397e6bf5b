"""Errors in units in the last place, against a reference that may be of a wider type.

The error of a result y against a reference x is |y - x| / ulp(x), where ulp(x) is the distance of two neighbours of the
result's dtype at x: 2^(floor(log2 |x|) - p + 1) for p significant bits, at least the smallest subnormal number.
Source: Muller, "On the definition of ulp(x)", INRIA RR-5504, 2005 (Goldberg's definition, extended to reals). A result
that is rounded correctly has an error of at most 0.5.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from msgspec import field

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType, Scalar
from gpuregress.foundation.numeric.ordinals import Array, spacing
from gpuregress.foundation.records import Accuracy
from gpuregress.gpu.records import MutableRecord
from gpuregress.judge.compare.difference_statistics import ErrorSums

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

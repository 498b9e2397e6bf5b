"""Accuracy of a case: the errors of its results, and the source lines where they arise."""

from __future__ import annotations

from typing import Literal

from gpuregress.gpu.records import Record, Sparse

Place = tuple[tuple[str, int, int], ...]
"""(file, line, column) of an instruction and of the calls that it is inlined into, innermost first."""


class RoundingSite(Record):
    """An instruction whose accuracy is watched.

    Attributes:
        kind: `rounding`: it computes a shadow; `restart`: shadows are lost at it.
        place: its source lines, () where the PTX names none.
        count: of a rounding, how often digits cancelled catastrophically; of a restart, its executions.
        bits: the most that cancelled at once.
        instruction: of a restart, as `mma.sync.aligned…`.
    """

    kind: Literal["rounding", "restart"]
    place: Place
    count: int = 0
    bits: int = 0
    instruction: str = ""


class InaccurateElement(Sparse):
    """An element of a result, and what it is in higher precision.

    Attributes:
        index: in the buffer, one number for each axis.
        value: the kernel's.
        exact: in higher precision, as many digits as distinguish it from the value.
        ulp: their distance in units in the last place of the larger one.
        part: of a vector, a complex number or a record, as `x`; "" for a scalar.
    """

    index: tuple[int, ...]
    value: str
    exact: str
    ulp: float
    part: str = ""


class BufferAccuracy(Sparse):
    """The errors of the elements of a buffer.

    Attributes:
        buffer: its name.
        dtype: of its elements.
        precision: what it is compared with: `float64`, `double-double`.
        elements: of the buffer; of a vector or a record each part of this precision counts.
        tracked: those that an instruction with a shadow has written; the others are left out.
        not_finite: of them, those of which only one of the two values is finite.
        median: of the errors of the others, ulp.
        p90: of ten errors nine are smaller.
        p99: of a hundred 99 are smaller.
        largest: error.
        histogram: (upper bound in ulp, elements up to it and above the bound before), ascending; 0: exact.
        worst: the elements with the largest errors.
        never_finite: of those that are tracked, those that are NaN or infinite on both sides.
    """

    buffer: str
    dtype: str
    precision: str
    elements: int
    tracked: int
    not_finite: int = 0
    median: float = 0.0
    p90: float = 0.0
    p99: float = 0.0
    largest: float = 0.0
    histogram: tuple[tuple[float, int], ...] = ()
    worst: tuple[InaccurateElement, ...] = ()
    never_finite: int = 0

    @property
    def compared(self) -> int:
        """The elements that have an error in ulp: both of their values are finite."""
        return self.tracked - self.not_finite - self.never_finite


class LineError(Sparse):
    """The part of a source line in the errors.

    Attributes:
        path: of the file, "" where the PTX names none.
        line: of the source.
        share: of the errors that arise at single lines, 0 to 1.
        ulp: the largest error of an element that arises here.
    """

    path: str
    line: int
    share: float
    ulp: float


class Cancellation(Sparse):
    """A source line at which digits cancel that are wrong already.

    Attributes:
        path: of the file.
        line: of the source.
        count: how often.
        bits: the most bits that cancelled at once.
    """

    path: str
    line: int
    count: int
    bits: int


class Restart(Sparse):
    """A source line at which shadows are lost: from there on, values count as exact.

    Attributes:
        path: of the file.
        line: of the source.
        instruction: of PTX.
        count: executions by threads.
    """

    path: str
    line: int
    instruction: str
    count: int


class ResultAccuracy(Sparse):
    """The accuracy of a case.

    Attributes:
        buffers: its results of floating-point types; a record with parts of two such types is there twice.
        lines: those at which errors arise, the largest share first.
        cancellations: by line.
        restarts: by line.
        lost: elements for whose shadows there was no room.
    """

    buffers: tuple[BufferAccuracy, ...] = ()
    lines: tuple[LineError, ...] = ()
    cancellations: tuple[Cancellation, ...] = ()
    restarts: tuple[Restart, ...] = ()
    lost: int = 0

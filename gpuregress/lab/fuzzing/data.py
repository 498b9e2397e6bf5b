"""Contents of buffers that are hard for kernels, as fills of a job.

NaN, infinities, subnormals, equal, sorted and reversed values. A fill follows the shape, and needs no file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Buffer, Interval, NormalDistribution, Progression, Values
from gpuregress.gpu.records import Record

Grade = Literal["own", "ordinary", "special", "extreme"]
"""`own`: the job's data; `ordinary`: other numbers of its range; `special`: NaN, infinities, -0, subnormals among
them; `extreme`: the largest and the smallest numbers of the type."""

GRADES: tuple[Grade, ...] = ("own", "ordinary", "special", "extreme")

_SIGMAS = 3.0
_FEW = 4
"""Ordinary values beside special ones."""


class EdgeContents(Record):
    """Other contents of a buffer.

    Attributes:
        buffer: its name.
        words: for people, `all NaN`.
        fill: as a job has it.
        grade: how far from the job's own data.
    """

    buffer: str
    words: str
    fill: Any
    grade: Grade

    @property
    def hardest(self) -> str:
        """The kind of its values that kernels fail at for a reason of its own: NaN, an infinity, or the grade."""
        if not isinstance(self.fill, dict):
            return self.grade
        (values,) = self.fill.values()
        if not isinstance(values, list):
            values = [values]
        numbers = [value for value in values if isinstance(value, float)]
        if any(math.isnan(number) for number in numbers):
            return "NaN"
        if any(math.isinf(number) for number in numbers):
            return "infinity"
        return self.grade


def edges(buffer: Buffer, written: Any, *, is_result: bool) -> tuple[EdgeContents, ...]:
    """Contents to try in a buffer; none where only its own make sense.

    Args:
        buffer: of a planned case.
        written: its fill as the job has it.
        is_result: whether kernels add to what it holds, so that zeros must stay.
    """
    fill = buffer.fill
    if fill is None or fill.kind == "same" or (is_result and fill.kind in ("zeros", "ones", "value")):
        return ()
    scalars = [part.scalar for part in dtypes.parse(buffer.dtype).parts]
    if all(scalar.is_float for scalar in scalars):
        contents = _floats(buffer, min(scalars, key=lambda scalar: scalar.largest))
    elif any(scalar.is_float or scalar.kind == "bool" for scalar in scalars):
        return ()
    else:
        contents = _integers(buffer, written, min(scalars, key=lambda scalar: scalar.size))
    return tuple(EdgeContents(buffer.name, words, fill_, grade) for words, fill_, grade in contents)


# --- floats -----------------------------------------------------------------------------------------------------------


def _floats(buffer: Buffer, scalar: dtypes.Scalar) -> Iterator[tuple[str, Any, Grade]]:
    low, high = _range(buffer)
    middle = (low + high) / 2
    ordinary = [low + (high - low) * share / _FEW for share in range(_FEW)]
    smallest, largest = scalar.smallest, scalar.largest
    yield "NaN among others", _choice(*ordinary, *ordinary, math.nan), "special"
    yield "all equal", {"value": middle}, "ordinary"
    yield "infinities among others", _choice(*ordinary, *ordinary, math.inf, -math.inf), "special"
    # The same random numbers choose from the list, so an element that is NaN above, as the first one, is none here.
    yield "NaN among others, at other elements", _choice(math.nan, *ordinary, *ordinary), "special"
    yield "duplicates", _choice(low, middle), "ordinary"
    yield "sorted", _progression(low, high, buffer), "ordinary"
    yield "in reversed order", _progression(high, low, buffer), "ordinary"
    yield "all NaN", {"value": math.nan}, "special"
    yield "+infinity among others", _choice(*ordinary, *ordinary, math.inf), "special"
    yield "-infinity among others", _choice(*ordinary, *ordinary, -math.inf), "special"
    yield "0 and -0", _choice(0.0, -0.0), "special"
    yield "subnormals", _choice(smallest, -smallest, 8 * smallest, 0.0), "special"
    yield "subnormals among others", _choice(*ordinary, smallest, -smallest), "special"
    yield "the largest numbers", _choice(largest, largest / 2), "extreme"
    yield "the largest negative numbers", _choice(-largest, -largest / 2), "extreme"
    yield "the largest and the smallest numbers", _choice(largest, smallest, 1.0), "extreme"
    if low <= 0.0 < high:
        yield "zeros", "zeros", "ordinary"


def _range(buffer: Buffer) -> tuple[float, float]:
    """The range of a buffer's own floats; 0 to 1 where it is not known."""
    fill = buffer.fill
    assert fill is not None
    count = math.prod(buffer.shape)
    match fill.options:
        case Interval(low, high):
            return float(low), float(high)
        case NormalDistribution(mean, std):
            return mean - _SIGMAS * std, mean + _SIGMAS * std
        case Progression(start, step):
            first, last = sorted((float(start), float(start) + float(step) * (count - 1)))
            return first, last
        case Values(values) if all(math.isfinite(value) for value in values):
            return float(min(values)), float(max(values))
    return 0.0, 1.0


def _progression(first: float, last: float, buffer: Buffer) -> Any:
    parts = len(dtypes.parse(buffer.dtype).parts)
    return {"arange": {"start": first, "step": (last - first) / max(1, math.prod(buffer.shape) * parts)}}


def _choice(*values: float) -> Any:
    return {"choice": list(values)}


# --- integers ---------------------------------------------------------------------------------------------------------


def _integers(buffer: Buffer, written: Any, scalar: dtypes.Scalar) -> Iterator[tuple[str, Any, Grade]]:
    """Integers may be indices: what is tried keeps the range of the job's own."""
    fill = buffer.fill
    assert fill is not None
    count = math.prod(buffer.shape) * len(dtypes.parse(buffer.dtype).parts)
    match fill.options:
        case Interval(low, high):
            yield from _in_range(int(low), int(high) - 1, _bounds(written), count)
        case Values(values) if fill.kind == "choice":
            yield "the largest of its values everywhere", {"value": max(values)}, "ordinary"
            yield "the smallest of its values everywhere", {"value": min(values)}, "ordinary"
        case Progression(start, step):
            yield "in reversed order", _reversed(int(start), int(step), count), "ordinary"
    if fill.kind == "permutation":
        yield "sorted", "arange", "ordinary"
        yield "in reversed order", _reversed(0, 1, count), "ordinary"
    if fill.kind == "park_miller":
        yield from _in_range(1, min(2**31 - 2, scalar.bounds[1]), (1, min(2**31 - 2, scalar.bounds[1])), count)


def _bounds(written: Any) -> tuple[Any, Any]:
    """The range as the job has it, an expression of its parameters."""
    low, high = (written["integers"][name] for name in ("low", "high"))
    return low, high - 1 if isinstance(high, int) else f"({high}) - 1"


def _in_range(low: int, last: int, named: tuple[Any, Any], count: int) -> Iterator[tuple[str, Any, Grade]]:
    yield "the largest of its range everywhere", {"value": named[1]}, "ordinary"
    yield "the smallest of its range everywhere", {"value": named[0]}, "ordinary"
    if last > low:
        yield "both ends of its range", {"choice": list(named)}, "ordinary"
    step = (last - low) // max(1, count - 1)
    if step > 0:
        yield "sorted", {"arange": {"start": named[0], "step": step}}, "ordinary"
        yield "in reversed order", {"arange": {"start": named[1], "step": -step}}, "ordinary"
    inside = [value for value in (0, 1, -1) if low < value < last]
    if inside:
        yield "those of 0, 1 and -1 that its range has", {"choice": inside}, "ordinary"


def _reversed(start: int, step: int, count: int) -> Any:
    return {"arange": {"start": start + step * (count - 1), "step": -step}}

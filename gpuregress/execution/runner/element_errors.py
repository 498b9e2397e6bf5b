"""Errors of a buffer's elements against higher precision, in units in the last place."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType, Part, Scalar
from gpuregress.foundation.numeric.ordinals import spacing
from gpuregress.foundation.records import BufferAccuracy
from gpuregress.gpu.base import Bytes, Shadow
from gpuregress.gpu.instruments import InaccurateElement
from gpuregress.gpu.records import Record

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
_BOUNDS = (0.0, 0.5, 1.0, 2.0, 4.0, 16.0, 256.0, 65536.0, float(2**53))
_MOST_WORST = 5
_PLAIN_DIGITS = 5
_DECIMALS = {"float64": 17, "float32": 9, "float16": 5, "bfloat16": 4}
"""Scalar → decimal digits that distinguish its numbers."""


class FloatParts(Record):
    """The parts of an element that are of one floating-point type.

    A scalar has one part, a float4 has four. A record has some for each of its floating-point types.

    Attributes:
        element: the whole element.
        scalar: the type of the parts.
    """

    element: ElementType
    scalar: Scalar

    @property
    def parts(self) -> tuple[Part, ...]:
        """Those parts, in the order of memory."""
        return tuple(part for part in self.element.parts if part.scalar == self.scalar)

    def slots(self, elements: int) -> npt.NDArray[np.int64]:
        """The positions of the parts of all elements in their memory, in units of the scalar's size."""
        starts = np.arange(elements, dtype=np.int64) * self.element.size
        offsets = np.array([part.offset for part in self.parts], np.int64)
        found: npt.NDArray[np.int64] = ((starts[:, None] + offsets) // self.scalar.size).reshape(-1)
        return found

    def values(self, data: Bytes) -> Doubles:
        """The parts of all elements as doubles, exactly.

        Args:
            data: the memory of the elements.
        """
        numbers = data.view(self.scalar.storage)[self.slots(len(data) // self.element.size)]
        return dtypes.to_float(numbers, self.scalar).astype(np.float64)


def float_parts(element: ElementType) -> tuple[FloatParts, ...]:
    """The parts of each floating-point type of an element; empty where it has none."""
    scalars = dict.fromkeys(part.scalar for part in element.parts if part.scalar.is_float)
    return tuple(FloatParts(element, scalar) for scalar in scalars)


class Errors(Record):
    """The errors of parts of a buffer's elements.

    Attributes:
        values: the kernel's.
        shadow: the same in higher precision.
        ulp: distance of neighbouring numbers at the larger of the two.
        distance: of the two in ulp; 0 where it is not finite or there is no shadow.
        broken: elements with only one finite value.
        never_finite: elements that are NaN or infinite in both.
    """

    values: Doubles
    shadow: Shadow
    ulp: Doubles
    distance: Doubles
    broken: Flags
    never_finite: Flags


def measure(values: Doubles, shadow: Shadow, scalar: Scalar) -> Errors:
    """Compare numbers with their values in higher precision.

    A value beyond the format's range is infinite in it: that is its rounding.
    """
    exact = np.where(np.abs(shadow.high) > scalar.largest, np.copysign(np.inf, shadow.high), shadow.high)
    exact = np.where(np.isfinite(values), shadow.high, exact)
    finite = np.isfinite(values) & np.isfinite(shadow.high)
    same = (values == exact) | (np.isnan(values) & np.isnan(exact))
    with np.errstate(invalid="ignore", over="ignore"):
        ulp = spacing(np.where(finite, np.maximum(np.abs(values), np.abs(shadow.high)), 1.0), scalar)
        distance = np.abs((values - shadow.high) - shadow.low) / ulp
    distance = np.where(finite & shadow.known, distance, 0.0)
    return Errors(values, shadow, ulp, distance, shadow.known & ~finite & ~same, shadow.known & ~finite & same)


def summarize(name: str, of: FloatParts, shape: tuple[int, ...], errors: Errors) -> BufferAccuracy:
    """The errors of a buffer's parts in a few numbers."""
    known = errors.shadow.known & ~errors.broken & ~errors.never_finite
    found = errors.distance[known]
    percentiles = [float(one) for one in np.percentile(found, (50, 90, 99, 100))] if found.size else [0.0] * 4
    order = np.lexsort((-errors.distance, ~errors.broken))
    worst = [int(at) for at in order[:_MOST_WORST] if errors.broken[at] or errors.distance[at] > 0]
    counts = np.bincount(np.searchsorted(_BOUNDS, found), minlength=len(_BOUNDS) + 1)
    bounds = (*_BOUNDS, percentiles[-1])
    return BufferAccuracy(
        name,
        of.element.name,
        "double-double" if of.scalar.name == "float64" else "float64",
        len(errors.values),
        int(errors.shadow.known.sum()),
        int(errors.broken.sum()),
        never_finite=int(errors.never_finite.sum()),
        median=percentiles[0],
        p90=percentiles[1],
        p99=percentiles[2],
        largest=percentiles[3],
        histogram=tuple((bound, int(count)) for bound, count in zip(bounds, counts, strict=True) if count),
        worst=tuple(_element(at, of, shape, errors) for at in worst),
    )


def _element(at: int, of: FloatParts, shape: tuple[int, ...], errors: Errors) -> InaccurateElement:
    value = float(errors.values[at])
    high, low = float(errors.shadow.high[at]), float(errors.shadow.low[at])
    number, part = divmod(at, len(of.parts))
    index = tuple(int(one) for one in np.unravel_index(number, shape))
    digits = _DECIMALS[of.scalar.name]
    exact = _decimal(high, low, digits + 4)
    return InaccurateElement(index, f"{value:.{digits}g}", exact, float(errors.distance[at]), of.parts[part].name)


def _decimal(high: float, low: float, digits: int) -> str:
    """The sum of two doubles with that many digits."""
    if not np.isfinite(high) or not low:
        return f"{high:.{min(digits, 17)}g}"
    from decimal import Context, Decimal  # noqa: PLC0415 - few runs ask for it

    total = Fraction(high) + Fraction(low)
    found = Context(prec=digits).divide(Decimal(total.numerator), Decimal(total.denominator))
    is_plain = -_PLAIN_DIGITS < found.adjusted() < digits
    return f"{found.normalize():f}" if is_plain else f"{found:.{digits - 1}e}"

"""Errors of a buffer's elements against higher precision, in units in the last place."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from gpuregress.devices.base import Shadow
from gpuregress.frozen import dataclass
from gpuregress.records import BufferAccuracy
from gpuregress.records.instrumentation.accuracy import InaccurateElement

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A floating-point format.

    Attributes:
        digits: bits of the significand.
        least: exponent of the smallest subnormal number.
        largest: finite number.
    """

    digits: int
    least: int
    largest: float


FORMATS = {
    "float64": FloatFormat(53, -1074, float(np.finfo(np.float64).max)),
    "float32": FloatFormat(24, -149, float(np.finfo(np.float32).max)),
    "float16": FloatFormat(11, -24, 65504.0),
    "bfloat16": FloatFormat(8, -133, 2.0**127 * (2 - 2.0**-7)),
}
"""dtype → its format, for the dtypes whose accuracy is found."""
_BOUNDS = (0.0, 0.5, 1.0, 2.0, 4.0, 16.0, 256.0, 65536.0, float(2**53))
_MOST_WORST = 5
_PLAIN_DIGITS = 5


@dataclass(frozen=True, slots=True)
class Errors:
    """The errors of a buffer's elements.

    Attributes:
        values: the kernel's.
        shadow: the same in higher precision.
        ulp: distance of neighbouring numbers at the larger of the two.
        distance: of the two in ulp; 0 where it is not finite or there is no shadow.
        broken: elements with only one finite value.
    """

    values: Doubles
    shadow: Shadow
    ulp: Doubles
    distance: Doubles
    broken: Flags


def as_doubles(data: npt.NDArray[np.generic], dtype: str) -> Doubles:
    """The elements as doubles, flat, exactly."""
    flat = data.reshape(-1)
    if dtype == "bfloat16":
        bits = flat.view(np.uint16).astype(np.uint32) << np.uint32(16)
        return bits.view(np.float32).astype(np.float64)
    return flat.astype(np.float64)


def units(values: Doubles, form: FloatFormat) -> Doubles:
    """The unit in the last place at each value; that of the smallest numbers at 0."""
    exponents = np.where(values == 0, form.least, np.frexp(np.abs(values))[1] - form.digits)
    found: Doubles = np.ldexp(1.0, np.maximum(exponents, form.least))
    return found


def measure(values: Doubles, shadow: Shadow, dtype: str) -> Errors:
    """Compare elements with their values in higher precision.

    A value beyond the format's range is infinite in it: that is its rounding.
    """
    form = FORMATS[dtype]
    exact = np.where(np.abs(shadow.high) > form.largest, np.copysign(np.inf, shadow.high), shadow.high)
    exact = np.where(np.isfinite(values), shadow.high, exact)
    finite = np.isfinite(values) & np.isfinite(shadow.high)
    same = (values == exact) | (np.isnan(values) & np.isnan(exact))
    with np.errstate(invalid="ignore", over="ignore"):
        ulp = units(np.where(finite, np.maximum(np.abs(values), np.abs(shadow.high)), 1.0), form)
        distance = np.abs((values - shadow.high) - shadow.low) / ulp
    distance = np.where(finite & shadow.known, distance, 0.0)
    return Errors(values, shadow, ulp, distance, shadow.known & ~finite & ~same)


def summarize(name: str, dtype: str, shape: tuple[int, ...], errors: Errors) -> BufferAccuracy:
    """The errors of a buffer in a few numbers."""
    known = errors.shadow.known & ~errors.broken
    found = errors.distance[known]
    percentiles = [float(one) for one in np.percentile(found, (50, 90, 99, 100))] if found.size else [0.0] * 4
    order = np.lexsort((-errors.distance, ~errors.broken))
    worst = [int(at) for at in order[:_MOST_WORST] if errors.broken[at] or errors.distance[at] > 0]
    counts = np.bincount(np.searchsorted(_BOUNDS, found), minlength=len(_BOUNDS) + 1)
    bounds = (*_BOUNDS, percentiles[-1])
    return BufferAccuracy(
        name,
        dtype,
        "double-double" if dtype == "float64" else "float64",
        len(errors.values),
        int(errors.shadow.known.sum()),
        int(errors.broken.sum()),
        median=percentiles[0],
        p90=percentiles[1],
        p99=percentiles[2],
        largest=percentiles[3],
        histogram=tuple((bound, int(count)) for bound, count in zip(bounds, counts, strict=True) if count),
        worst=tuple(_element(at, dtype, shape, errors) for at in worst),
    )


def _element(at: int, dtype: str, shape: tuple[int, ...], errors: Errors) -> InaccurateElement:
    value = float(errors.values[at])
    high, low = float(errors.shadow.high[at]), float(errors.shadow.low[at])
    index = tuple(int(one) for one in np.unravel_index(at, shape))
    digits = {"float64": 17, "float32": 9, "float16": 5, "bfloat16": 4}[dtype]
    exact = _decimal(high, low, digits + 4)
    return InaccurateElement(index, f"{value:.{digits}g}", exact, float(errors.distance[at]))


def _decimal(high: float, low: float, digits: int) -> str:
    """The sum of two doubles with that many digits."""
    if not np.isfinite(high) or not low:
        return f"{high:.{min(digits, 17)}g}"
    from decimal import Context, Decimal  # noqa: PLC0415 - few runs ask for it

    total = Fraction(high) + Fraction(low)
    found = Context(prec=digits).divide(Decimal(total.numerator), Decimal(total.denominator))
    is_plain = -_PLAIN_DIGITS < found.adjusted() < digits
    return f"{found.normalize():f}" if is_plain else f"{found:.{digits - 1}e}"

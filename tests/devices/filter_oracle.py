"""Linear filtering as an H200 does it, in numpy: the rule of `isa/texture_filtering.py`, written a second time.

Arrays have a sample in each row and a texel in each column: the corners of a cell, along x first, then y, then z.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]
_NOTHING = -1000
"""The exponent of a sum without terms."""


def weights(fractions: list[Integers]) -> Integers:
    """The weight of each corner, of 256.

    Args:
        fractions: along x, y, z, of 256; each of shape (n,).

    Returns:
        (n, 2 ** axes).
    """
    a, *others = fractions
    if not others:
        return np.stack([256 - a, a], 1)
    b = others[0]
    if len(others) == 1:
        both = (a * b + 128) >> 8
        return np.stack([256 - a - b + both, a - both, b - both, both], 1)
    found = []
    for plane in (256 - others[1], others[1]):
        right = (plane * a + 128) >> 8
        left = plane - right
        lower_right, lower_left = (right * b + 128) >> 8, (left * b + 127) >> 8
        found += [left - lower_left, right - lower_right, lower_left, lower_right]
    return np.stack(found, 1)


def blend(texels: Array, weight: Integers) -> npt.NDArray[np.float32]:
    """The weighted sum of texels.

    Args:
        texels: (n, corners): float32, float16, or 8- and 16-bit integers read as normalized floats. A texel with a
            fraction of 0 on its side is replaced by its neighbour.
        weight: (n, corners).

    Returns:
        (n,).
    """
    if texels.dtype.kind == "f":
        return _floats(texels.astype(np.float32), weight, half=texels.dtype == np.float16)
    total = (texels.astype(np.int64) * weight).sum(1)
    if texels.dtype.kind == "u":
        scaled = total * 257 if texels.dtype == np.uint8 else total
        return np.asarray((scaled + 128 >> 8) / 65535, np.float32)
    scaled = 258 * total + 32 * (total >> 12) if texels.dtype == np.int8 else total
    return np.asarray(np.maximum(scaled + 128 >> 8, -32767) / 32767, np.float32)


def _floats(values: npt.NDArray[np.float32], weight: Integers, *, half: bool) -> npt.NDArray[np.float32]:
    bits = values.view(np.uint32).astype(np.int64)
    exponent, mantissa = bits >> 23 & 255, bits & 0x7FFFFF
    finite = exponent < 255
    sizes = np.where((exponent > 0) & finite, mantissa | 1 << 23, 0)
    signed = np.where(bits >> 31 == 1, -1, 1)
    count = min(4, values.shape[1])
    planes = [
        _plane(*(part[:, first : first + count] for part in (sizes, exponent, signed, weight)), half=half)
        for first in range(0, values.shape[1], count)
    ]
    total, unit = planes[0] if len(planes) == 1 else _joined(planes)
    actual = _rounded(total, unit - 127 - (22 if half else 35), half=half)
    negative = ((signed < 0) & ((weight != 0) | (sizes == 0))).all(1)
    actual = np.where(total == 0, np.where(negative, np.float32(-0.0), np.float32(0.0)), actual)
    up, down, nan = ((part & ~finite).any(1) for part in (values == np.inf, values == -np.inf, np.isnan(values)))
    actual = np.where(up, np.float32(np.inf), np.where(down, np.float32(-np.inf), actual))
    canonical = np.uint32(0x7FFFE000 if half else 0x7FFFFFFF).view(np.float32)
    return np.where(nan | (up & down), canonical, actual)


def _plane(sizes: Integers, exponent: Integers, signed: Integers, weight: Integers, *, half: bool) -> list[Integers]:
    """The sum of aligned and truncated texels, and the greatest exponent."""
    greatest = np.where((weight != 0) & (sizes != 0), exponent, 0).max(1, keepdims=True)
    aligned = (sizes >> 9 if half else sizes << 4) >> np.clip(greatest - exponent, 0, 40)
    return [(signed * aligned * weight).sum(1), greatest[:, 0]]


def _joined(planes: list[list[Integers]]) -> list[Integers]:
    """The sum of two planes, floored to a unit that goes in steps of four exponents."""
    greatest = np.maximum(planes[0][1], planes[1][1])
    unit = greatest & ~3
    total = np.zeros_like(greatest)
    for part, exponent in planes:
        shift = exponent - unit
        total += np.where(shift >= 0, part << np.clip(shift, 0, 3), part >> np.clip(-shift, 0, 63))
    return [total, unit]


def _rounded(total: Integers, unit: Integers, *, half: bool) -> npt.NDArray[np.float32]:
    """The sum times 2^unit, rounded half away from zero; subnormal float32 are 0."""
    exact = np.ldexp(total.astype(np.float64), unit)
    bits, least = (11, -14) if half else (24, -126)
    exponent = np.frexp(exact)[1] - 1
    step = (np.maximum(exponent, least) if half else exponent) - (bits - 1)
    size = np.ldexp(np.floor(np.ldexp(np.abs(exact), -step) + 0.5), step)
    if not half:
        size = np.where(size < 2.0**least, 0.0, size)
    return np.asarray(np.copysign(size, exact), np.float32)

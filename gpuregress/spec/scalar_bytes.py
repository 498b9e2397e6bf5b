"""A scalar argument: numbers → the bytes that a kernel gets, and the text that the launch log writes."""

from __future__ import annotations

import numpy as np

from gpuregress import dtypes
from gpuregress.dtypes import ElementType, Scalar
from gpuregress.spec.expressions import Number


def pack(element: ElementType, values: tuple[Number, ...]) -> tuple[bytes, str]:
    """One element's little-endian bytes and its text.

    Args:
        element: the argument's type.
        values: a number for each part.

    Raises:
        ValueError: a number that the part cannot hold.
    """
    data = bytearray(element.size)
    words = []
    for part, value in zip(element.parts, values, strict=True):
        item, word = _pack_one(part.scalar, value)
        data[part.offset : part.offset + len(item)] = item
        words.append(word)
    return bytes(data), words[0] if len(words) == 1 else f"({', '.join(words)})"


def _pack_one(scalar: Scalar, value: Number) -> tuple[bytes, str]:
    if scalar.is_float:
        return _pack_float(scalar, float(value))
    if value != value or value in (float("inf"), float("-inf")) or value != int(value):  # noqa: PLR0124 - NaN
        raise ValueError(f"{value!r} is no whole number, and {scalar.name} holds only those")
    low, high = bounds(scalar)
    if not low <= value <= high:
        raise ValueError(f"{value!r} does not fit {scalar.name}: {low} to {high}")
    number = int(value)
    word = ("false", "true")[number] if scalar.kind == "bool" else str(number)
    return number.to_bytes(scalar.size, "little", signed=scalar.kind == "int"), word


def bounds(scalar: Scalar) -> tuple[int, int]:
    """The smallest and largest whole number of an integer type."""
    if scalar.kind == "bool":
        return 0, 1
    bits = 8 * scalar.size
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if scalar.kind == "int" else (0, 2**bits - 1)


def _pack_float(scalar: Scalar, value: float) -> tuple[bytes, str]:
    with np.errstate(over="ignore", under="ignore"):
        wide = np.array([value], dtype="<f8")
        if scalar.kind == "bfloat":
            bits = dtypes.from_float32(wide.astype("<f4"))
            read = dtypes.to_float(bits, scalar)
            data = bits.tobytes()
        else:
            read = wide.astype(scalar.storage)
            data = read.tobytes()
    if np.isfinite(value) and not np.isfinite(read[0]):
        raise ValueError(f"{value!r} is too large for {scalar.name}")
    return data, str(read[0])

"""A scalar argument: numbers → the bytes that a kernel gets, and the text that the launch log writes."""

from __future__ import annotations

import math
import struct

from gpuregress.dtypes import ElementType, Scalar
from gpuregress.spec.expressions import Number

_CODES = {2: "<e", 4: "<f", 8: "<d"}
_DOUBLE = 8
_MOST_DIGITS = 10
_BFLOAT_INFINITY = 0x7F80


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
    low, high = scalar.bounds
    if not low <= value <= high:
        raise ValueError(f"{value!r} does not fit {scalar.name}: {low} to {high}")
    number = int(value)
    word = ("false", "true")[number] if scalar.kind == "bool" else str(number)
    return number.to_bytes(scalar.size, "little", signed=scalar.kind == "int"), word


def _pack_float(scalar: Scalar, value: float) -> tuple[bytes, str]:
    try:
        data = _bfloat16(value) if scalar.kind == "bfloat" else struct.pack(_CODES[scalar.size], value)
    except OverflowError:
        raise ValueError(f"{value!r} is too large for {scalar.name}") from None
    return data, _shortest(data, scalar)


def _bfloat16(value: float) -> bytes:
    """The two bytes nearest to a number by way of float32, ties to even; a NaN is made quiet."""
    bits = int.from_bytes(struct.pack("<f", value), "little")
    if math.isnan(value):
        return ((bits >> 16) | 0x40).to_bytes(2, "little")
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    if rounded & 0x7FFF == _BFLOAT_INFINITY and math.isfinite(value):
        raise OverflowError
    return rounded.to_bytes(2, "little")


def _number(data: bytes, scalar: Scalar) -> float:
    if scalar.kind == "bfloat":
        data = b"\0\0" + data
    return float(struct.unpack(_CODES[len(data)], data)[0])


def _shortest(data: bytes, scalar: Scalar) -> str:
    """The fewest digits that give the number back; bfloat16 as the float32 that it is."""
    number = _number(data, scalar)
    if scalar.size == _DOUBLE or not math.isfinite(number) or number == 0:
        return repr(number)
    width = max(scalar.size, 4) if scalar.kind == "bfloat" else scalar.size
    wanted = struct.pack(_CODES[width], number)
    for digits in range(1, _MOST_DIGITS):
        text = repr(float(f"{number:.{digits}g}"))
        if _packs_to(text, width) == wanted:
            return text
    return repr(number)


def _packs_to(text: str, width: int) -> bytes:
    try:
        return struct.pack(_CODES[width], float(text))
    except OverflowError:
        return b""

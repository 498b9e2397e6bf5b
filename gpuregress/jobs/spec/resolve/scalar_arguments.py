"""Encoding of scalar arguments: the bytes for the kernel, and the text for the launch log."""

from __future__ import annotations

import math
import struct

from gpuregress.foundation.dtypes import ElementType, Scalar
from gpuregress.foundation.numeric import conversion
from gpuregress.jobs.spec.expressions import Number

_CODES = {2: "<e", 4: "<f", 8: "<d"}
_DOUBLE = 8
_MOST_DIGITS = 10


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
    problem = conversion.number_problem(value, scalar)
    if problem:
        raise ValueError(problem)
    if scalar.is_float:
        data = _bfloat16(value) if scalar.kind == "bfloat" else struct.pack(_CODES[scalar.size], value)
        return data, _shortest(data, scalar)
    number = int(value)
    word = ("false", "true")[number] if scalar.kind == "bool" else str(number)
    return number.to_bytes(scalar.size, "little", signed=scalar.kind == "int"), word


def _bfloat16(value: float) -> bytes:
    """The two bytes nearest to a finite number by way of float32, ties to even; a NaN is made quiet."""
    bits = int.from_bytes(struct.pack("<f", value), "little")
    if math.isnan(value):
        return ((bits >> 16) | 0x40).to_bytes(2, "little")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).to_bytes(2, "little")


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
        # Just above a power of two the nearer of two decimals that are as near may be the other one.
        for near in (number, math.nextafter(number, math.copysign(math.inf, number))):
            text = repr(float(f"{near:.{digits}g}"))
            if _packs_to(text, width) == wanted:
                return text
    return repr(number)


def _packs_to(text: str, width: int) -> bytes:
    try:
        return struct.pack(_CODES[width], float(text))
    except OverflowError:
        return b""

"""The dump's text by plain Python, slowly: what the fast writer and reader are held to."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.dtypes import ElementType, Scalar

CANONICAL = {"float16": 0x7FFF, "bfloat16": 0x7FFF, "float32": 0x7FFFFFFF, "float64": 0xFFF8000000000000}
_FORMATS = {"float16": "<e", "float32": "<f", "float64": "<d"}


def elements(raw: bytes, element_type: ElementType) -> Iterator[list[int]]:
    """Each element's parts as unsigned integers of their bits."""
    for start in range(0, len(raw), element_type.size):
        yield [
            int.from_bytes(raw[start + part.offset : start + part.offset + part.scalar.size], "little")
            for part in element_type.parts
        ]


def number(bits: int, scalar: Scalar) -> float:
    """What float bits stand for."""
    if scalar.name == "bfloat16":
        return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0])
    return float(struct.unpack(_FORMATS[scalar.name], bits.to_bytes(scalar.size, "little"))[0])


def bits_of(word: str, scalar: Scalar) -> int:
    """The bits that a word stands for, by Python's own conversions."""
    if not scalar.is_float:
        return int(word) & ((1 << 8 * scalar.size) - 1)
    if word == "nan":
        return CANONICAL[scalar.name]
    if word.startswith("nan("):
        return int(word[4:-1], 16)
    value = float(word)
    if scalar.name == "bfloat16":
        return nearest_bfloat16(value)
    if scalar.name == "float32":  # struct rounds once, from the double nearest to the word
        return int(np.float32(word).view("<u4"))
    return int.from_bytes(struct.pack(_FORMATS[scalar.name], value), "little")


def nearest_bfloat16(value: float) -> int:
    """By search: the bit pattern whose number is nearest, the even one of two."""
    sign = 0x8000 if str(value).startswith("-") else 0
    magnitude = abs(value)
    low, high = 0, 0x7F80
    while high - low > 1:
        middle = (low + high) // 2
        if number(middle, BFLOAT16) <= magnitude:
            low = middle
        else:
            high = middle
    if magnitude == float("inf"):
        return sign | 0x7F80
    upper = number(high, BFLOAT16) if high < 0x7F80 else 2.0**128
    below, above = magnitude - number(low, BFLOAT16), upper - magnitude
    return sign | (low if below < above or (below == above and low % 2 == 0) else high)


POSITIONAL = {"float32": (1e-6, 1e13), "float64": (1e-5, 1e16)}
"""Magnitudes, from and below, that are printed without an exponent."""


def word_of(bits: int, scalar: Scalar) -> str:
    """The word of a dump, by the shortest decimals of numpy; float32, float64 and integers."""
    if not scalar.is_float:
        sign = 1 << (8 * scalar.size - 1)
        return str(bits - 2 * sign if scalar.kind == "int" and bits & sign else bits)
    value = np.array([bits], f"<u{scalar.size}").view(scalar.storage)[0]
    if np.isnan(value):
        return "nan" if bits == CANONICAL[scalar.name] else f"nan(0x{bits:0{2 * scalar.size}x})"
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    low, high = np.array(POSITIONAL[scalar.name], scalar.storage)
    if value == 0 or low <= abs(value) < high:
        return str(np.format_float_positional(value, trim="0"))
    return str(np.format_float_scientific(value, trim="-", exp_digits=1))


def array_of(raw: bytes, element_type: ElementType) -> npt.NDArray[np.generic]:
    return np.frombuffer(raw, element_type.storage)


BFLOAT16 = Scalar("bfloat16", "bfloat", 2)

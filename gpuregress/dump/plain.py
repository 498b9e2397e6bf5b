"""The same lines as `format` makes, of few elements, without loading polars: that costs more than the lines themselves.

The layout is Ryu's (`0.00001`, `1e-7`, `1e+16`), as polars has it; the test holds every form against polars.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from gpuregress.dtypes import ElementType, Scalar
from gpuregress.dump import digits, halves
from gpuregress.dump.header import nan_word

MOST = 1 << 13
"""Numbers up to which this is faster than loading polars."""

_SHORT = 6
"""Decimal digits that every float32 keeps: two numbers of so few digits are never the same float32."""
_MOST_DIGITS = 9
_FIXED = {4: (-6, 13), 8: (-5, 16)}
"""Bytes → the places of the decimal point, (above, up to), at which a number is written without an exponent."""

Singles = npt.NDArray[np.float32]


def lines(array: npt.NDArray[np.generic], element_type: ElementType) -> bytes:
    """The text of elements: one a line, its parts with a space between.

    Args:
        array: one dimension, dtype `element_type.storage`.
        element_type: what it holds.
    """
    columns = zip(element_type.parts, element_type.columns(array), strict=True)
    words = [_words(np.ascontiguousarray(column), part.scalar) for part, column in columns]
    rows = words[0] if len(words) == 1 else map(" ".join, zip(*words, strict=True))
    return "".join(f"{row}\n" for row in rows).encode("ascii")


def _words(column: npt.NDArray[np.generic], scalar: Scalar) -> list[str]:
    if scalar.kind == "bool":
        column = column.view(np.uint8)  # a byte that is neither 0 nor 1 shows as its number
    if not scalar.is_float:
        return [str(value) for value in column.tolist()]
    bits = column.view(f"<u{scalar.size}")
    numbers = halves.numbers(bits, scalar) if scalar.size == 2 else column
    words = list(_float_words(numbers))
    for place in np.flatnonzero(np.isnan(numbers)).tolist():
        words[place] = nan_word(int(bits[place]), scalar)
    return words


def _float_words(numbers: npt.NDArray[np.generic]) -> Iterator[str]:
    size = numbers.dtype.itemsize
    with np.errstate(invalid="ignore"):  # signalling NaNs, whose words are put in later
        exact = np.asarray(numbers, "<f8").tolist()
    texts = [repr(value) for value in exact]
    if size == 4:
        _shorten(texts, np.asarray(numbers, "<f4"))
    for text in texts:
        yield text if text in ("0.0", "-0.0", "inf", "-inf", "nan") else _laid_out(text, *_FIXED[size])


def _laid_out(text: str, above: int, up_to: int) -> str:
    """A number in Python's form (`1.5e-07`, `150000.0`) in Ryu's.

    Args:
        text: finite, not zero.
        above: the decimal point stands further right than this, counted from the first digit, …
        up_to: … and no further right than this, or there is an exponent.
    """
    sign = "-" if text[0] == "-" else ""
    mantissa, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    shown = whole + fraction
    point -= len(shown) - len(shown.lstrip("0"))
    shown = shown.strip("0")
    if 0 < point <= up_to:
        shown = shown.ljust(point, "0")
        return f"{sign}{shown[:point]}.{shown[point:] or '0'}"
    if above < point <= 0:
        return f"{sign}0.{'0' * -point}{shown}"
    rest = f".{shown[1:]}" if len(shown) > 1 else ""
    return f"{sign}{shown[0]}{rest}e{point - 1:+}"


def _shorten(texts: list[str], numbers: Singles) -> None:
    """Puts the fewest digits of float32s in place of those of the same numbers as float64s."""
    places = [place for place, text in enumerate(texts) if _is_long(text)]
    places = [place for place in places if np.isfinite(numbers[place])]
    if not places:
        return
    wanted = numbers[places]
    found = digits.fewest(wanted.astype("<f8"), _MOST_DIGITS, lambda texts, at: _reads_back(texts, wanted[at]))
    for place, text in zip(places, found, strict=True):
        texts[place] = text


def _is_long(text: str) -> bool:
    return len(text.partition("e")[0].replace(".", "").replace("-", "").strip("0")) > _SHORT


def _reads_back(texts: list[str], wanted: Singles) -> npt.NDArray[np.bool_]:
    """Whether decimals are nearest to float32s, ties to even, rounded once."""
    doubles = np.array([float(text) for text in texts], "<f8")
    with np.errstate(over="ignore"):
        singles = doubles.astype("<f4")
        further = np.nextafter(singles, np.where(doubles > singles, np.float32(np.inf), np.float32(-np.inf)))
        halfway = (singles.astype("<f8") + further.astype("<f8")) / 2 == doubles
    for at in np.flatnonzero(halfway).tolist():  # there, what the float64 was rounded from decides
        off = Fraction(texts[at]) - Fraction(float(doubles[at]))
        pair = sorted((singles[at], further[at]))
        singles[at] = singles[at] if off == 0 else pair[1] if off > 0 else pair[0]
    return np.asarray(singles == wanted)

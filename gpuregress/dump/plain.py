"""The same lines as `format` makes, of few elements, without loading polars: that costs more than the lines themselves.

Digits: the fewest that read back to the same bits, and of those the nearest to the number (Steele and White, 1990).
Their layout is Ryu's (`0.00001`, `1e-7`, `1e+16`), as polars has it; the test holds every form against polars.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from gpuregress.dtypes import ElementType, Scalar
from gpuregress.dump import halves
from gpuregress.dump.grammar import nan_word

MOST = 1 << 13
"""Numbers up to which this is faster than loading polars."""

_SHORT = 6
"""Decimal digits that every float32 keeps: two numbers of so few digits are never the same float32."""
_LONGEST = 9
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
    digits = whole + fraction
    point -= len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    if 0 < point <= up_to:
        digits = digits.ljust(point, "0")
        return f"{sign}{digits[:point]}.{digits[point:] or '0'}"
    if above < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{point - 1:+}"


def _shorten(texts: list[str], numbers: Singles) -> None:
    """Puts the fewest digits of float32s in place of those of the same numbers as float64s."""
    places = [place for place, text in enumerate(texts) if _is_long(text)]
    places = [place for place in places if np.isfinite(numbers[place])]
    if not places:
        return
    wanted = numbers[places]
    exact = wanted.astype("<f8").tolist()
    found = [f"{value:.{_LONGEST - 1}e}" for value in exact]
    left = np.arange(len(places))
    for digits in range(_LONGEST - 1, 0, -1):
        candidates = [f"{exact[at]:.{digits - 1}e}" for at in left.tolist()]
        good = _reads_back(candidates, wanted[left])
        for at in np.flatnonzero(good).tolist():
            found[int(left[at])] = candidates[at]
        left = left[good]
        if left.size == 0:
            break
    mantissa, _ = np.frexp(np.abs(wanted))
    for at in np.flatnonzero(mantissa == np.float32(0.5)).tolist():
        found[at] = _power_of_two(found[at], wanted[at : at + 1])
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


def _power_of_two(text: str, number: Singles) -> str:
    """Below a power of two the numbers lie closer, so the nearest decimal can miss where the next one up hits."""
    exact = Decimal(float(number[0]))
    have = len(Decimal(text).as_tuple().digits) - _zeros_at_end(text)
    for digits in range(1, have):
        ways = (ROUND_FLOOR, ROUND_CEILING)
        sides = [Context(prec=digits, rounding=way).create_decimal(exact) for way in ways]
        good = [side for side in sides if _reads_back([str(side)], number)[0]]
        if good:
            return f"{min(good, key=lambda side: abs(side - exact)):e}"
    return text


def _zeros_at_end(text: str) -> int:
    digits = text.partition("e")[0].replace(".", "")
    return len(digits) - len(digits.rstrip("0"))

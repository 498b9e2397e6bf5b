"""Lines of text to arrays, to the very bits; errors name the line.

Floats are read by orjson, whose numbers are rounded correctly to float64: lines become an array of JSON. Integers, and
floats that are all whole numbers (`12.0`), are read by numpy, eight digits at a time.
"""

from __future__ import annotations

import functools
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import CANONICAL_NAN, ElementType, Scalar
from gpuregress.foundation.errors import DumpError

Array = npt.NDArray[np.generic]
Bits = npt.NDArray[np.unsignedinteger[Any]]
Floats = npt.NDArray[np.float64]

_INTEGER = re.compile(r"([+-]?)0*(\d{1,20})", re.ASCII)
_FINITE = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SPECIAL = re.compile(r"[+-]?(inf|infinity|[nN][aA][nN])")
_NAN = re.compile(r"nan\(0x([0-9a-f]+)\)")
_NO_NUMBERS = (b"u", b"l", b'"', b"[", b"{", b"\t", b"\r")
"""Where one of these is, a word can be JSON and no number: `true`, `false`, `"1"`, `[1]`; or space is ignored."""
_PIECE_BYTES = 1 << 18
"""Text parsed at a time: its numbers as objects stay in the processor's cache."""
_LONGEST, _PADDING = 20, 24
"""Digits of the greatest integer, and of whole groups of eight that hold them."""
_TOP, _REST = divmod(2**64 - 1, 10**8)
_U64 = np.uint64


class _Words:
    """The words of lines, or of a column of them; searched when they are first asked for, which takes long.

    Args:
        data: the lines, each with its end.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.text = np.frombuffer(data, np.uint8)

    @functools.cached_property
    def ends(self) -> npt.NDArray[np.intp]:
        """The offset of the separator after each word."""
        return np.flatnonzero(self.text <= ord(" "))

    @functools.cached_property
    def starts(self) -> npt.NDArray[np.intp]:
        """The offset of each word."""
        return np.append(0, self.ends[:-1] + 1)

    def column(self, position: int, columns: int) -> _Words:
        """Return the words of one of several columns."""
        words = _Words(self.data)
        words.starts, words.ends = self.starts[position::columns], self.ends[position::columns]
        return words

    def take(self, rows: npt.NDArray[np.intp] | slice) -> list[str]:
        """Return the words at these positions."""
        places = zip(self.starts[rows].tolist(), self.ends[rows].tolist(), strict=True)
        return [self.data[start:end].decode("latin-1") for start, end in places]


def rows(data: bytes, element_type: ElementType, count: int, path: Path, first_line: int) -> Array:
    """Parse whole lines of a dump.

    Args:
        data: the lines, each with its end.
        element_type: of the elements.
        count: number of lines.
        path: for messages.
        first_line: the number of the first in the file, counted from 1.

    Returns:
        One dimension, dtype `element_type.storage`.

    Raises:
        DumpError: a line does not hold such an element.
    """
    array = np.zeros(count, element_type.storage)
    start = done = 0
    while start < len(data):
        end = data.find(b"\n", start + _PIECE_BYTES) + 1 or len(data)
        piece = data[start:end]
        columns = _columns(piece, element_type)
        if columns is None:
            raise DumpError(_error_message(piece, element_type, path, first_line + done))
        elements = array[done : done + len(columns[0])]
        for target, column in zip(element_type.columns(elements), columns, strict=True):
            target.view(column.dtype)[...] = column
        start, done = end, done + len(elements)
    return array


def _columns(data: bytes, element_type: ElementType) -> list[Bits] | None:
    """Each part's bits, in an unsigned dtype of its size; None if something does not parse."""
    words, parts = _Words(data), element_type.parts
    numbers, is_json = None, False
    if element_type.is_float:
        numbers = _whole_numbers(words)
        if numbers is None:
            numbers = _json_numbers(words, len(parts))
            is_json = numbers is not None
    if not is_json or len(parts) > 1 or b" " in data:
        separators = b" " * (len(parts) - 1) + b"\n"
        if words.text[words.ends].tobytes() != separators * (words.ends.size // len(parts)):
            return None
    if element_type.only_scalar is not None:  # all words at once
        column = _parsed(words, numbers, element_type.only_scalar)
        return None if column is None else list(column.reshape(-1, len(parts)).T)
    columns: list[Bits] = []
    for position, part in enumerate(parts):
        of_part = None if numbers is None else np.ascontiguousarray(numbers[position :: len(parts)])
        column = _parsed(words.column(position, len(parts)), of_part, part.scalar)
        if column is None:
            return None
        columns.append(column)
    return columns


def _parsed(words: _Words, numbers: Floats | None, scalar: Scalar) -> Bits | None:
    if scalar.is_float:
        return _floats(words, numbers, scalar)
    return _integers(words, scalar)


# --- floats -----------------------------------------------------------------------------------------------------------


def _whole_numbers(words: _Words) -> Floats | None:
    """All words as numbers, without the sign of a zero; None unless each is an integer of 64 bits, then `.0`."""
    if not words.data.endswith(b".0\n") or words.data.find(b".0") > words.data.find(b"\n"):
        return None
    ends = words.ends - len(".0")
    if (words.text[ends] != ord(".")).any() or (words.text[ends + 1] != ord("0")).any():
        return None
    digits = _Words(words.data)
    digits.starts, digits.ends = words.starts, ends
    bits = _integers(digits, dtypes.parse("int64").parts[0].scalar)
    if bits is None:
        return None
    return bits.view("<i8").astype(np.float64)


def _json_numbers(words: _Words, columns: int) -> Floats | None:
    """All words as numbers, 0 for each that stands for no finite one; None if JSON does not know one of them."""
    if any(letter in words.data for letter in _NO_NUMBERS):
        return None
    json = np.empty(len(words.data) + 1, np.uint8)
    body = json[1:]
    line_ends = words.text == ord("\n")
    count = columns * np.count_nonzero(line_ends)
    if columns == 1:  # adding is faster than searching the words
        np.multiply(line_ends.view(np.uint8), np.uint8(ord(",") - ord("\n")), out=body)
        body += words.text
    else:
        body[:] = words.text
        body[words.ends] = ord(",")
    special = _special_rows(words)
    if special.size:
        starts, lengths = words.starts[special], words.ends[special] - words.starts[special]
        moved = starts - (np.cumsum(lengths) - lengths)
        body[np.repeat(moved, lengths) + np.arange(lengths.sum())] = ord("0")
        body[starts + 1] = ord(".")
    json[0], json[-1] = ord("["), ord("]")
    try:
        numbers: list[float] = orjson.loads(json.data)
    except orjson.JSONDecodeError:
        return None
    if len(numbers) != count:
        return None
    return np.fromiter(numbers, np.float64, count)


def _special_rows(words: _Words) -> npt.NDArray[np.intp]:
    """The words that stand for no finite number, by their first two letters: `nan`, `-inf`, `NaN`."""
    if not (b"n" in words.data or b"N" in words.data):
        return np.empty(0, np.intp)
    letters = np.zeros(256, bool)
    letters[list(b"niN")] = True
    second = words.text[np.minimum(words.starts + 1, words.ends)]
    return np.flatnonzero(letters[words.text[words.starts]] | letters[second])


def _floats(words: _Words, numbers: Floats | None, scalar: Scalar) -> Bits | None:
    """The bits of each word; None if a word stands for no number of this type.

    Args:
        words: of one column.
        numbers: what they stand for, rounded to float64; None: it is read here, by the grammar of dumps.
        scalar: their type.
    """
    special = _special_rows(words)
    if numbers is None:
        numbers = _by_grammar(words, special)
        if numbers is None:
            return None
    if not numbers.all() and _has_minus_zero(words.text):
        zeros = np.flatnonzero(numbers == 0)
        signs = words.text[words.starts[zeros]]
        numbers[zeros] = np.where(signs == ord("-"), -0.0, 0.0)
    bits = _rounded(numbers, words, scalar)
    if np.isinf(dtypes.to_float(bits.view(scalar.storage), scalar)).any():
        return None  # a number too large for its type must not pass for an infinity
    if special.size and not _insert_special(bits, words, special, scalar):
        return None
    return bits


def _has_minus_zero(text: npt.NDArray[np.uint8]) -> bool:
    """Tell whether a word can be `-0`, which JSON takes for an integer without a sign, `-0.0` or `-00.0`."""
    return bool(((text[:-2] == ord("-")) & (text[1:-1] == ord("0")) & (text[2:] <= ord("0"))).any())


def _insert_special(bits: Bits, words: _Words, rows: npt.NDArray[np.intp], scalar: Scalar) -> bool:
    """Fill in the bits of NaNs and infinities; False if a word is neither."""
    text = np.append(words.text, np.zeros(4, np.uint8))
    lengths = words.ends[rows] - words.starts[rows]
    for word in ("nan", "inf", "-inf"):  # all that are spelled so, at once
        is_word = lengths == len(word)
        for place, letter in enumerate(word.encode()):
            is_word &= text[words.starts[rows] + place] == letter
        bits[rows[is_word]] = _named_bits(word, scalar)
        rows, lengths = rows[~is_word], lengths[~is_word]
    spelled = words.take(rows)
    patterns: dict[str, int] = {}
    for word in set(spelled):
        pattern = _special_bits(word, scalar)
        if pattern is None:
            return False
        patterns[word] = pattern
    bits[rows] = [patterns[word] for word in spelled]
    return True


def _by_grammar(words: _Words, special: npt.NDArray[np.intp]) -> Floats | None:
    """Numbers in spellings that JSON does not have, such as `+1`, `.5`, `-0` and `007`, which takes longer."""
    spelled = words.take(slice(None))
    for row in special.tolist():
        spelled[row] = "0"
    if not all(map(_FINITE.fullmatch, spelled)):
        return None
    return np.array([float(word) for word in spelled])


def _special_bits(word: str, scalar: Scalar) -> int | None:
    """The bits of `inf`, `nan` and `nan(0x…)`; None if the word is none, or no NaN of this type."""
    if _SPECIAL.fullmatch(word):
        return _named_bits(word, scalar)
    match = _NAN.fullmatch(word)
    if match is None:
        return None
    bits = int(match[1], 16)
    if len(match[1]) != 2 * scalar.size:
        return None
    number = dtypes.to_float(np.array([bits], f"<u{scalar.size}").view(scalar.storage), scalar)
    if not np.isnan(number[0]):
        return None
    return bits


def _named_bits(word: str, scalar: Scalar) -> int:
    """The bits of an infinity, or of the NaN that a GPU's arithmetic gives."""
    if "inf" in word:
        return int(_round_to_bits(np.array([float(word)]), scalar)[0])
    return CANONICAL_NAN[scalar.name]


def _rounded(numbers: Floats, words: _Words, scalar: Scalar) -> Bits:
    """The bits of the nearest numbers of a type.

    A float64 halfway between two float32 numbers can be a rounded one: then its word says which is nearer.
    """
    bits = _round_to_bits(numbers, scalar)
    if scalar.name != "float32":
        return bits
    # The 29 bits that float32 does not have are 100…0 in the middle. Below its smallest normal number it lacks more.
    is_middle = numbers.view("<u8") & _U64(2**29 - 1) == _U64(2**28)
    candidates = np.flatnonzero(is_middle | (bits & np.uint32(0x7F800000) <= np.uint32(0x00800000)))
    mirrored = 2 * numbers[candidates] - bits[candidates].view("<f4")
    ties = candidates[is_middle[candidates] | (mirrored.astype("<f4") == mirrored) & (mirrored != numbers[candidates])]
    if ties.size == 0:
        return bits  # without a search for its words
    for row, word in zip(ties.tolist(), words.take(ties), strict=True):
        exact, number = Decimal(word), Decimal(float(numbers[row]))
        if exact != number:
            beside = np.nextafter(numbers[row], np.inf if exact > number else -np.inf)
            bits[row] = _round_to_bits(np.array([beside]), scalar)[0]
    return bits


def _round_to_bits(numbers: Floats, scalar: Scalar) -> Bits:
    """The bits of the numbers nearest to float64 numbers, ties to even."""
    with np.errstate(over="ignore", invalid="ignore"):
        if scalar.kind == "float":
            return numbers.astype(scalar.storage).view(f"<u{scalar.size}")
        single = numbers.astype("<f4")
        bits = single.view("<u4").copy()
        # Rounding to odd keeps what a second rounding needs to know (Boldo and Melquiond, 2008): truncate, then set the
        # last bit where anything was cut off.
        bits -= np.abs(single.astype("<f8")) > np.abs(numbers)
        bits |= single.astype("<f8") != numbers
    return dtypes.from_float32(bits.view("<f4"))


# --- integers ---------------------------------------------------------------------------------------------------------


def _integers(words: _Words, scalar: Scalar) -> Bits | None:
    """The bits of each word; None if a word is no integer of this type."""
    low, high = _bounds(scalar)
    signs = words.text[words.starts]
    negative = signs == ord("-")
    lengths = words.ends - words.starts - (negative | (signs == ord("+")))
    longest, shortest = int(lengths.max()), int(lengths.min())
    if shortest < 1:
        return None
    if longest > _LONGEST:
        return _integers_by_grammar(words, scalar)
    # The last characters of each word, eight as an integer of 64 bits with the last one in its highest byte.
    groups = -(-longest // 8)
    padded = bytes(_PADDING) + words.data
    windows = np.ndarray(len(padded) - 8 * groups + 1, f"V{8 * groups}", padded, strides=(1,))
    digits = windows[words.ends + (_PADDING - 8 * groups)].view("<u8").reshape(-1, groups)
    digits ^= _U64(0x3030303030303030)
    if shortest < 8 * groups:
        digits &= _masks(groups)[lengths]
    if ((digits | (digits + _U64(0x7676767676767676))) & _U64(0x8080808080808080)).any():
        return None
    for factor, shift, mask in _JOINS:
        digits *= factor
        digits >>= shift
        digits &= mask
    magnitudes = digits[:, -1].copy()
    if groups > 1:
        upper = digits[:, -2] if groups == 2 else digits[:, 0] * _U64(10**8) + digits[:, 1]
        if longest == _LONGEST and ((upper > _TOP) | ((upper == _TOP) & (magnitudes > _REST))).any():
            return None
        magnitudes += upper * _U64(10**8)
    if (magnitudes > np.where(negative, _U64(-low), _U64(high))).any():
        return None
    bits: Bits = np.where(negative, -magnitudes, magnitudes).astype(f"<u{scalar.size}")
    return bits


@functools.cache
def _masks(groups: int) -> npt.NDArray[np.uint64]:
    """Return for each number of digits of a word the bits of its groups of eight characters that are digits."""
    digits = np.clip(np.arange(8 * groups + 1)[:, None] - 8 * np.arange(groups)[::-1], 0, 8)
    return np.where(digits == 0, 0, ~_U64(0) << (8 * (8 - np.maximum(digits, 1))).astype(np.uint64))


_JOINS = (
    (_U64(10 * 2**8 + 1), _U64(8), _U64(0x00FF00FF00FF00FF)),
    (_U64(100 * 2**16 + 1), _U64(16), _U64(0x0000FFFF0000FFFF)),
    (_U64(10_000 * 2**32 + 1), _U64(32), _U64(0x00000000FFFFFFFF)),
)
"""Factor, shift and mask that join digits to numbers of two, four, and eight digits (Lemire, 2018)."""


def _integers_by_grammar(words: _Words, scalar: Scalar) -> Bits | None:
    """Integers with more leading zeros than any number has digits."""
    low, high = _bounds(scalar)
    numbers = []
    for word in words.take(slice(None)):
        match = _INTEGER.fullmatch(word)
        if match is None or not low <= int(match[1] + match[2]) <= high:
            return None
        numbers.append(int(match[1] + match[2]) % 2**64)
    return np.array(numbers, np.uint64).astype(f"<u{scalar.size}")


def _bounds(scalar: Scalar) -> tuple[int, int]:
    """The least and the greatest number; a byte that is neither 0 nor 1 can be a boolean's, too."""
    if scalar.kind == "bool":
        return 0, 255
    return scalar.bounds


# --- the message of an error ------------------------------------------------------------------------------------------


def _error_message(data: bytes, element_type: ElementType, path: Path, first_line: int) -> str:
    """Search the first invalid line and describe its problem."""
    for number, line in enumerate(data.split(b"\n")[:-1], first_line):
        problem = _line_problem(line.decode("utf-8", "backslashreplace"), element_type)
        if problem:
            return f"{path}:{number}: {problem}"
    return f"{path}:{first_line}: its lines do not hold {element_type.name} elements"


def _line_problem(line: str, element_type: ElementType) -> str:
    if line.endswith("\r"):
        return "the line ends as on Windows; convert the file back (dos2unix), or take it from git again"
    words = line.split(" ")
    if line == "":
        return "the line is empty"
    if len(words) != len(element_type.parts):
        return f"{len(words)} words where a {element_type.name} has {len(element_type.parts)}: {_short(line)}"
    for word, part in zip(words, element_type.parts, strict=True):
        if not _is_word(word, part.scalar):
            return f"invalid {part.scalar.name} {_short(word)}"
    return ""


def _is_word(word: str, scalar: Scalar) -> bool:
    data = word.encode("latin-1", "replace")
    words = _Words(data + b"\n")
    words.ends = np.array([len(data)])  # also where it has a space
    if scalar.is_float:
        return _floats(words, None, scalar) is not None
    return _integers_by_grammar(words, scalar) is not None


def _short(text: str) -> str:
    if len(text) > 40:
        text = text[:37] + "..."
    return repr(text)

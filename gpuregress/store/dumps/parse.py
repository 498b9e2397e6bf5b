"""Lines of text to arrays, by polars, to the very bits; errors name the line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import CANONICAL_NAN, ElementType, Scalar
from gpuregress.foundation.errors import DumpError

if TYPE_CHECKING:
    import polars as pl

Array = npt.NDArray[np.generic]

_INTEGER = re.compile(r"[+-]?\d+")
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf|nan")
_NAN = re.compile(r"nan\(0x([0-9a-f]+)\)")


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
    if count == 0:
        return array
    columns = None
    if b"\r" not in data and b"\t" not in data:
        columns = _columns(data, element_type, count)
    if columns is None:
        raise DumpError(_error_message(data, element_type, path, first_line))
    for target, column in zip(element_type.columns(array), columns, strict=True):
        target.view(column.dtype)[...] = column
    return array


def _columns(data: bytes, element_type: ElementType, count: int) -> list[Array] | None:
    """Each part's integers or float bits, in a dtype of its size; None if something does not parse."""
    import polars as pl  # noqa: PLC0415 - costs a tenth of a second, needed only where something is read

    frame = _read(data, [_polars_type(part.scalar) for part in element_type.parts])
    if frame is None and b"nan(" in data:  # NaNs with other bits are read as strings, which is slower
        types = [pl.String() if part.scalar.is_float else _polars_type(part.scalar) for part in element_type.parts]
        frame = _read(data, types)
    if frame is None or frame.height != count or any(series.null_count() for series in frame):
        return None
    columns: list[Array] = []
    infinities = 0
    for series, part in zip(frame, element_type.parts, strict=True):
        column = _bits(series, part.scalar)
        if column is None:
            return None
        infinities += _count_infinities(column, part.scalar)
        columns.append(column)
    if infinities and infinities != data.count(b"inf"):
        return None  # a number too large for its type must not pass for an infinity
    return columns


def _read(data: bytes, types: list[pl.DataType]) -> pl.DataFrame | None:
    import polars as pl  # noqa: PLC0415 - see _columns

    schema = {str(k): kind for k, kind in enumerate(types)}
    try:
        return pl.read_csv(data, has_header=False, schema=schema, separator=" ", quote_char=None, glob=False)
    except (pl.exceptions.PolarsError, ValueError):
        return None


def _polars_type(scalar: Scalar) -> pl.DataType:
    import polars as pl  # noqa: PLC0415 - see _columns

    bits = 8 * scalar.size
    if scalar.is_float and bits == 32:
        return pl.Float32()
    if scalar.is_float:
        return pl.Float64()
    kinds: dict[str, pl.DataType] = {
        "int8": pl.Int8(), "int16": pl.Int16(), "int32": pl.Int32(), "int64": pl.Int64(),
        "uint8": pl.UInt8(), "uint16": pl.UInt16(), "uint32": pl.UInt32(), "uint64": pl.UInt64(),
    }  # fmt: skip
    return kinds["uint8" if scalar.kind == "bool" else scalar.name]


def _bits(series: pl.Series, scalar: Scalar) -> Array | None:
    import polars as pl  # noqa: PLC0415 - see _columns

    if not scalar.is_float:
        return series.to_numpy()
    if series.dtype != pl.String():
        return _float_bits(series.to_numpy(), scalar)
    odd = series.str.starts_with("nan(")
    numbers = series.set(odd, "nan").cast(_polars_type(scalar), strict=False)
    if numbers.null_count():
        return None
    bits = _float_bits(numbers.to_numpy(), scalar)
    where = odd.arg_true().to_numpy()
    words = series.gather(where)
    patterns: dict[str, int] = {}
    for word in words.unique():
        pattern = _nan_bits(word, scalar)
        if pattern is None:
            return None
        patterns[word] = pattern
    bits[where] = np.array([patterns[word] for word in words], bits.dtype)
    return bits


def _float_bits(numbers: Array, scalar: Scalar) -> Array:
    if scalar.size == 2:
        bits: Array = _round_to_bits(numbers.astype("<f8", copy=False), scalar)
    else:
        bits = numbers.view(f"<u{scalar.size}")
    nans = np.isnan(numbers)
    if nans.any():
        bits = bits.copy()
        bits[nans] = CANONICAL_NAN[scalar.name]
    if not bits.flags.writeable:
        return bits.copy()
    return bits


def _round_to_bits(numbers: npt.NDArray[np.float64], scalar: Scalar) -> npt.NDArray[np.uint16]:
    """The bits of the 16-bit floats nearest to float64 numbers, ties to even, rounded once; some NaN for a NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        if scalar.kind == "float":
            return numbers.astype("<f2").view("<u2")
        single = numbers.astype("<f4")
        bits = single.view("<u4").copy()
        # Rounding to odd keeps what a second rounding needs to know (Boldo and Melquiond, 2008): truncate, then set the
        # last bit where anything was cut off.
        bits -= np.abs(single.astype("<f8")) > np.abs(numbers)
        bits |= single.astype("<f8") != numbers
    return dtypes.from_float32(bits.view("<f4"))


def _nan_bits(word: str, scalar: Scalar) -> int | None:
    """The bits of `nan(0x…)`; None if they are not a NaN of this type."""
    match = _NAN.fullmatch(word)
    if match is None or len(match[1]) != 2 * scalar.size:
        return None
    bits = int(match[1], 16)
    numbers = _numbers(np.array([bits], f"<u{scalar.size}"), scalar)
    if not np.isnan(numbers[0]):
        return None
    return bits


def _numbers(bits: Array, scalar: Scalar) -> Array:
    return dtypes.to_float(bits.view(scalar.storage), scalar)


def _count_infinities(column: Array, scalar: Scalar) -> int:
    if not scalar.is_float:
        return 0
    return int(np.isinf(_numbers(column, scalar)).sum())


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
    if not scalar.is_float:
        if _INTEGER.fullmatch(word) is None:
            return False
        kind = np.iinfo(np.uint8) if scalar.kind == "bool" else np.iinfo(scalar.name)
        return int(kind.min) <= int(word) <= int(kind.max)
    if word.startswith("nan("):
        return _nan_bits(word, scalar) is not None
    if _FLOAT.fullmatch(word) is None:
        return False
    bits = _float_bits(_as_float(word, scalar), scalar)
    return "inf" in word or not np.isinf(_numbers(bits, scalar)[0])


def _as_float(word: str, scalar: Scalar) -> npt.NDArray[np.floating[Any]]:
    with np.errstate(over="ignore"):
        return np.array([float(word)]).astype("<f4" if scalar.size == 4 else "<f8")


def _short(text: str) -> str:
    if len(text) > 40:
        text = text[:37] + "..."
    return repr(text)

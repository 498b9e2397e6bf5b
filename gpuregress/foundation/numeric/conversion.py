"""Conversion of numbers to an element's storage.

Fills, references, launch arguments and settings of checks are converted by the same rules. Whole numbers are stored
exactly or refused. A fraction may be rounded to the nearest float, but not to infinity and, unless it was drawn at
random, not to zero. `exact` allows no rounding at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType, Part, Scalar

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_BLOCK = 1 << 18


class NotRepresentable(ValueError):
    """Values that the buffer cannot hold; the message has the first one and its element."""


# --- single numbers: no numpy, for a run is planned without it -----------------------------------------------------


def number_problem(value: float, scalar: Scalar) -> str | None:
    """Describe why a number cannot be stored in a part; None if it can.

    Args:
        value: an int, a float or a bool.
        scalar: the part's type.
    """
    if not scalar.is_float:
        if not math.isfinite(value) or value != int(value):
            return f"{value!r} is not a whole number, and {scalar.name} holds only those"
        low, high = scalar.bounds
        return None if low <= value <= high else f"{value!r} does not fit {scalar.name}: {low} to {high}"
    if not isinstance(value, int) and not math.isfinite(value):
        return None
    if abs(value) >= scalar.overflow:
        return f"{value!r} is too large for {scalar.name}"
    if isinstance(value, int):
        inexact = f"{value!r} is not exact in {scalar.name}: whole numbers are exact up to 2**{scalar.digits}"
        return None if _is_exact(value, scalar.digits) else inexact
    if value and abs(value) <= scalar.smallest / 2:
        return f"{value!r} is too small for {scalar.name}: it would become 0"
    return None


def numbers_problem(values: Iterable[float], scalar: Scalar) -> str | None:
    """The first `number_problem` of several numbers."""
    return next((problem for value in values if (problem := number_problem(value, scalar))), None)


def progression_problem(start: float, step: float, count: int, scalar: Scalar) -> str | None:
    """Describe why one of start, start + step, … cannot be stored in a part; None if all can.

    Args:
        start: the first number.
        step: from one to the next.
        count: of the numbers, at least 1.
        scalar: the part's type.
    """
    numbers = (start, start + step if count > 1 else start, start + step * (count - 1))
    problem = numbers_problem(numbers, scalar)
    if problem or not scalar.is_float or not (float(start).is_integer() and float(step).is_integer()):
        return problem
    risky = _first_of_binades(int(start), int(step), count, scalar.digits)
    return numbers_problem((value for value in risky if not _is_exact(value, scalar.digits)), scalar)


def _is_exact(value: int, digits: int) -> bool:
    """Whether a whole number has at most `digits` significant bits."""
    return value == 0 or abs(value).bit_length() - (value & -value).bit_length() < digits


def _first_of_binades(start: int, step: int, count: int, digits: int) -> Iterator[int]:
    """The first two members of a progression in each binade over 2**digits: where these are exact, all are."""
    if step < 0:
        start, step = start + step * (count - 1), -step
    largest = max(abs(start), abs(start + step * (count - 1)))
    for bits in range(digits + 1, largest.bit_length() + 1):
        for low, high in ((1 << (bits - 1), (1 << bits) - 1), (-(1 << bits) + 1, -(1 << (bits - 1)))):
            first = max(0, -(-(low - start) // step)) if step else 0
            last = min(count - 1, (high - start) // step if step else 0)
            yield from (start + step * at for at in range(first, min(last, first + 1) + 1))


# --- arrays ---------------------------------------------------------------------------------------------------------


def stored(values: Array, scalar: Scalar) -> Array:
    """Round numbers to a part's storage dtype, ties to even; bfloat16 by way of float32, NaNs as a GPU makes them.

    Args:
        values: numbers in the part's range.
        scalar: the part's type.
    """
    with np.errstate(all="ignore"):
        if scalar.kind == "bfloat":
            column: Array = dtypes.from_float32(values.astype(np.float64).astype("<f4"))
        elif values.dtype == object:
            column = np.array([scalar.storage.type(value) for value in values], scalar.storage)
        else:
            column = values.astype(scalar.storage)
    return dtypes.canonical_nans(column, scalar)


def as_array(given: Any) -> Array:
    """Convert the result of a user's function to an array.

    Raises:
        NotRepresentable: it is not an array of numbers, or numpy would round some.
    """
    if np.ma.is_masked(given):
        raise NotRepresentable("an array with masked elements, which have no value")
    try:
        array = np.asarray(given)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - an `__array__` of the user's libraries may raise anything
        reason = (str(error).splitlines() or [""])[0]
        raise NotRepresentable(f"no array: {type(error).__name__}: {reason}") from None
    if array.dtype.kind in "fc" and isinstance(given, list | tuple):
        # numpy makes a list that mixes large whole numbers with others one of floats.
        for index, (value, stored_value) in enumerate(zip(np.array(given, object).flat, array.flat, strict=True)):
            if isinstance(value, int | np.integer) and int(value) != stored_value.item():
                raise NotRepresentable(f"element {index} is {value}, which numpy rounds among floats")
    return array


def convert(
    array: Array, element: ElementType, shape: Sequence[int], *, exact: bool = False, keep_nans: bool = False
) -> Array:
    """Convert an array to a buffer's shape and storage dtype.

    Args:
        array: of the storage dtype, of records with the same fields, or of plain numbers with the parts as the last
            axis; as many elements as the shape, in any shape. For bfloat16, uint16 values are its bits.
        element: the buffer's element type.
        shape: elements along each axis.
        exact: refuse also numbers that rounding would change.
        keep_nans: keep the bits of NaNs (raw bytes, a dump); else each NaN is stored as a GPU makes it.

    Raises:
        NotRepresentable: another count, no numbers, or a number out of range; the message says which.
    """
    result = np.zeros(shape, element.storage)
    columns = _columns(array, element, tuple(shape))
    for part, target, values in zip(element.parts, element.columns(result), columns, strict=True):
        flat = values.reshape(-1)
        if flat.dtype == part.scalar.storage:
            column = flat if keep_nans else dtypes.canonical_nans(flat, part.scalar)
        else:
            column = stored(flat, part.scalar)
            _refuse_changed(flat, column, part, shape, exact=exact)
        target[...] = column.reshape(shape)
    return result


def narrowed(array: Array, element: ElementType) -> Array:
    """Round an array of `dtypes.widened(element)` to the type itself.

    Raises:
        NotRepresentable: a number is too large.
    """
    result = np.zeros(array.shape, element.storage)
    sources = dtypes.widened(element).columns(array)
    for part, target, values in zip(element.parts, element.columns(result), sources, strict=True):
        target[...] = column = stored(values, part.scalar)
        if part.scalar.is_float:
            over = np.isinf(dtypes.to_float(column, part.scalar)) & np.isfinite(values)
            if over.any():
                at = int(np.argmax(over))
                raise NotRepresentable(_inexact(values.flat[at], part, np.unravel_index(at, array.shape)))
    return result


def widened(array: Array, element: ElementType) -> Array:
    """Convert an array to `dtypes.widened(element)`, exactly."""
    wide = dtypes.widened(element)
    result = np.zeros(array.shape, wide.storage)
    for part, target, column in zip(element.parts, wide.columns(result), element.columns(array), strict=True):
        with np.errstate(invalid="ignore"):  # a signalling NaN is made quiet
            target[...] = dtypes.to_float(column, part.scalar)
    return result


def _columns(array: Array, element: ElementType, shape: tuple[int, ...]) -> list[Array]:
    """The numbers for each part, flat or in the array's own shape."""
    parts, kind, count = element.parts, array.dtype.kind, math.prod(shape)
    if array.dtype == element.storage:
        _check_count(array.size, count, element, shape)
        return list(element.columns(array))
    if kind == "V" and set(array.dtype.names or ()) == {part.name for part in parts}:
        _check_count(array.size, count, element, shape)
        columns = [array[part.name] for part in parts]
        if all(column.dtype.kind in "biuf" and column.shape == array.shape for column in columns):
            return columns
    if kind == "c" and (element.storage.kind == "c" or len(parts) == 1):
        _check_count(array.size, count, element, shape)
        if len(parts) > 1:
            return [array.real, array.imag]
        _refuse_imaginary(array, element, count)
        return [array.real]
    if kind not in "biuf":
        raise NotRepresentable(f"{array.dtype}, and {element.name} is needed")
    if element.storage.kind == "c" and array.size == count:
        return [array, np.zeros_like(array)]
    _check_count(array.size, count * len(parts), element, shape)
    return list(array.reshape(count, len(parts)).T)


def _check_count(held: int, needed: int, element: ElementType, shape: tuple[int, ...]) -> None:
    if held != needed:
        raise NotRepresentable(f"{held} values and {list(shape)} of {element.name} needs {needed}")


def _refuse_imaginary(array: Array, element: ElementType, count: int) -> None:
    wrong = np.flatnonzero(array.imag != 0)
    if wrong.size:
        first = int(wrong[0])
        value = array.reshape(count)[first].item()
        raise NotRepresentable(f"element {first} is {value}, a complex number, and {element.name} holds real ones")


def _refuse_changed(values: Array, column: Array, part: Part, shape: Sequence[int], *, exact: bool) -> None:
    """Raise an error for the first value that storing changed too much."""
    scalar = part.scalar
    is_whole = values.dtype.kind in "biu" or not scalar.is_float
    # The 64 significant bits of x86's long double hold every 64-bit integer and every float64.
    large = {"i8", "u8"} & {given.str[1:] for given in (values.dtype, column.dtype)} or values.dtype == np.longdouble
    wide = np.longdouble if large else np.float64
    for start in range(0, len(values), _BLOCK):
        with np.errstate(invalid="ignore"):
            before = values[start : start + _BLOCK].astype(wide)
            after = dtypes.to_float(column[start : start + _BLOCK], scalar).astype(wide)
        wrong = (before != after) & ~(np.isnan(before) & np.isnan(after))
        if not (is_whole or exact):
            wrong &= (np.isinf(after) & np.isfinite(before)) | (after == 0)
        if wrong.any():
            at = start + int(np.argmax(wrong))
            raise NotRepresentable(_inexact(values[at], part, np.unravel_index(at, tuple(shape))))


def _inexact(value: Any, part: Part, index: Iterable[Any]) -> str:
    number = value.item()
    number = number if isinstance(number, int | float) else float(number)  # a long double
    problem = number_problem(number, part.scalar) or f"{number!r} is not exact in {part.scalar.name}"
    name = f".{part.name}" if part.name else ""
    return f"element [{','.join(map(str, index))}]{name}: {problem}"

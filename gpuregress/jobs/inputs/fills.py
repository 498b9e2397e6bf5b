"""A buffer's contents before the first launch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType, Scalar
from gpuregress.foundation.errors import HarnessError
from gpuregress.foundation.numeric import conversion, float_environment
from gpuregress.foundation.numeric.conversion import NotRepresentable, stored
from gpuregress.foundation.records import Buffer, Fill, GeneratorSeed, Interval, NormalDistribution, Progression, Values
from gpuregress.jobs.inputs import files, random_streams
from gpuregress.jobs.inputs.fill_check import PARK_MILLER_MODULUS, fill_problem

Array = npt.NDArray[Any]
Numbers = npt.NDArray[np.float64] | npt.NDArray[np.int64] | npt.NDArray[np.uint64]
Make = Callable[[int, Any, int], Numbers]
"""Count, the options of the fill's kind, seed → numbers."""


def _arange(count: int, options: Progression, _seed: int) -> Numbers:
    start, step = options.start, options.step
    if float(start).is_integer() and float(step).is_integer():
        start, step = int(start), int(step)
        low, high = sorted((start, start + step * (count - 1)))
        if low >= -(2**63) and high < 2**64 and not (low < 0 and high >= 2**63):
            # Modulo 2^64, then read as signed where all numbers are.
            steps = np.arange(count, dtype=np.uint64) * np.uint64(step % 2**64) + np.uint64(start % 2**64)
            return steps if high >= 2**63 else steps.view(np.int64)
    return np.arange(count, dtype=np.float64) * float(step) + float(start)


def _uniform(count: int, options: Interval, seed: int) -> Numbers:
    return random_streams.uniform(seed, count, float(options.low), float(options.high))


def _normal(count: int, options: NormalDistribution, seed: int) -> Numbers:
    return random_streams.normal(seed, count, float(options.mean), float(options.std))


def _integers(count: int, options: Interval, seed: int) -> Numbers:
    return random_streams.integers(seed, count, int(options.low), int(options.high))


def _park_miller(count: int, options: GeneratorSeed, _seed: int) -> Numbers:
    return random_streams.park_miller(int(options.seed), count)


FILLS: dict[str, Make | None] = {
    "zeros": lambda count, _options, _seed: np.zeros(count, np.int64),
    "ones": lambda count, _options, _seed: np.ones(count, np.int64),
    "arange": _arange,
    "uniform": _uniform,
    "normal": _normal,
    "integers": _integers,
    "permutation": lambda count, _options, seed: random_streams.permutation(seed, count),
    "park_miller": _park_miller,
    # These need more than a count: `fill` calls them itself.
    "value": None,
    "choice": None,
    "file": None,
    "python": None,
    "same": None,
}


@float_environment.default()
def fill(buffer: Buffer) -> Array:
    """A buffer's contents before the first launch.

    Args:
        buffer: with a fill.

    Returns:
        An array of the buffer's shape and its element type's storage dtype, padding zeroed.

    Raises:
        HarnessError: a file or function that does not give what the buffer needs.
    """
    made = buffer.fill
    if made is None:
        raise ValueError(f"{buffer.name} has no fill")
    element = dtypes.parse(buffer.dtype)
    if made.kind == "file":
        return files.load(buffer, element)
    if made.kind == "python":
        return files.call(buffer, element)
    if made.same is not None:
        return same(buffer, fill(made.same))
    problem = fill_problem(buffer)
    if problem:
        raise HarnessError(f"buffer {buffer.name}: {problem}")
    return _filled(buffer, made, element)


@float_environment.default()
def same(buffer: Buffer, contents: Array) -> Array:
    """A buffer's contents from those of the buffer that its fill names: the same numbers, none of them rounded.

    Args:
        buffer: with a fill `same`.
        contents: of the other buffer.

    Raises:
        HarnessError: this buffer's dtype cannot hold one of the numbers exactly.
    """
    assert buffer.fill is not None
    origin = buffer.fill.same
    assert origin is not None
    element, held = dtypes.parse(buffer.dtype), dtypes.parse(origin.dtype)
    is_like = element.name == held.name
    numbers = contents if is_like else conversion.widened(contents, held)
    try:
        return conversion.convert(numbers, element, buffer.shape, exact=True, keep_nans=is_like)
    except NotRepresentable as error:
        raise HarnessError(
            f"buffer {buffer.name}: the same as {origin.name} is asked for, which is {held.name}: {error}"
        ) from None


def _filled(buffer: Buffer, made: Fill, element: ElementType) -> Array:
    count, parts = math.prod(buffer.shape), len(element.parts)
    result = np.zeros(buffer.shape, element.storage)
    columns = element.columns(result)
    given = made.options.values if isinstance(made.options, Values) else ()
    if made.kind == "value":
        given = given * (parts if len(given) == 1 else 1)
        for column, part, value in zip(columns, element.parts, given, strict=True):
            column[...] = stored(np.array([value]), part.scalar)[0]
        return result
    make = FILLS[made.kind]
    if make is None:
        drawn = random_streams.integers(made.seed, count * parts, 0, len(given)).reshape(count, parts)
        for at, (column, part) in enumerate(zip(columns, element.parts, strict=True)):
            choices = np.concatenate([stored(np.array([value]), part.scalar) for value in given])
            column[...] = choices[drawn[:, at]].reshape(buffer.shape)
        return result
    values = make(count * parts, made.options, made.seed)
    for at, (column, part) in enumerate(zip(columns, element.parts, strict=True)):
        column[...] = _converted(made, values[at::parts], part.scalar).reshape(buffer.shape)
    return result


def _converted(made: Fill, values: Numbers, scalar: Scalar) -> Array:
    if made.kind == "park_miller" and scalar.is_float:
        return stored(values.astype(np.float64) / PARK_MILLER_MODULUS, scalar)
    if made.kind == "uniform" and isinstance(made.options, Interval):
        return _below(stored(values, scalar), scalar, float(made.options.high))
    return stored(values, scalar)


def _below(column: Array, scalar: Scalar, high: float) -> Array:
    """Rounding to a narrower float can reach `high`; such an element gets the float before, so that all stay below."""
    numbers: Array = dtypes.to_float(column, scalar)
    reached = numbers >= high
    if not reached.any():
        return column
    if scalar.kind == "bfloat":
        top = dtypes.from_float32(np.array([high], np.float32))
        while dtypes.to_float(top, scalar)[0] >= high:
            sign = np.uint16(1) if dtypes.to_float(top, scalar)[0] > 0 else np.uint16(0xFFFF)
            top = (top - sign).astype("<u2") if dtypes.to_float(top, scalar)[0] != 0 else np.array([0x8001], "<u2")
        below: Any = top[0]
    else:
        top_float = np.array(high).astype(scalar.storage)
        below = top_float if top_float < high else np.nextafter(top_float, scalar.storage.type(-np.inf))
    return np.where(reached, below, column).astype(column.dtype)

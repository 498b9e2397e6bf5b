"""References computed by the user's Python functions, in the worker.

    def block_sums(inputs: Mapping[str, Array], case: Case) -> Array

`inputs` holds the filled buffers (read-only; bfloat16 as float32, which holds them exactly); the result has the
buffer's shape, in any numeric dtype. Where the buffer's own cannot hold each value exactly, floats are compared as
float64 and all else is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress import conversion, dtypes, usermodules
from gpuregress.conversion import NotRepresentable
from gpuregress.dtypes import ElementType
from gpuregress.records import Case

Array = npt.NDArray[np.generic]


class ReferenceFailed(Exception):
    """The user's function raised, is not there, or gave something that is no such buffer; the message says which."""


@dataclass(frozen=True, slots=True)
class ReferenceResult:
    """A reference.

    Attributes:
        array: the buffer's shape, its storage dtype, rounded to nearest where need be.
        wide: the same before it was rounded, `dtypes.widened` of the buffer's type; None where nothing was rounded.
    """

    array: Array
    wide: Array | None = None


def compute(
    function: str, case: Case, buffer: str, inputs: Mapping[str, Array], given: Case | None = None
) -> ReferenceResult:
    """Call the function for a buffer's reference.

    Args:
        function: `/abs/module.py:name`.
        case: the case.
        buffer: whose reference it is.
        inputs: filled buffer → array.
        given: handed to the function; None: the case itself.

    Raises:
        ReferenceFailed: see there.
    """
    call = _load(function)
    try:
        result = call({name: _given(array, case.buffers[name].dtype) for name, array in inputs.items()}, given or case)
    except Exception as error:
        raise ReferenceFailed(f"{_shown(function)} raised {_said(error, function)}") from error
    return _shaped(result, case, buffer, function)


def _shaped(result: Any, case: Case, buffer: str, function: str) -> ReferenceResult:
    record = case.buffers[buffer]
    element = dtypes.parse(record.dtype)
    try:
        array = conversion.as_array(result)
        if array.dtype.kind not in "biufcV":
            raise ReferenceFailed(f"{_shown(function)} returned {type(result).__name__}, not an array of numbers")
        parts_last = (*record.shape, len(element.parts)) if len(element.parts) > 1 else record.shape
        if array.shape not in (record.shape, parts_last):
            raise ReferenceFailed(
                f"{_shown(function)} returned shape {list(array.shape)}; {buffer} has {list(record.shape)}"
            )
        return _standard(array, element, record.shape)
    except NotRepresentable as error:
        raise ReferenceFailed(f"{_shown(function)} returned no {record.dtype}: {error}") from None


def _standard(array: Array, element: ElementType, shape: tuple[int, ...]) -> ReferenceResult:
    """Convert an array to the buffer's type exactly; else, for floats, to float64 and rounded.

    Raises:
        NotRepresentable: float64 cannot hold it either, or the buffer's type has nothing as large.
    """
    try:
        return ReferenceResult(conversion.convert(array, element, shape, exact=True))
    except NotRepresentable:
        if dtypes.widened(element) == element:
            raise
    wide = conversion.convert(array, dtypes.widened(element), shape, exact=True)
    return ReferenceResult(conversion.narrowed(wide, element), wide)


def _load(function: str) -> Callable[[Mapping[str, Array], Case], Any]:
    try:
        return usermodules.load(function)
    except usermodules.UserModuleError as error:
        raise ReferenceFailed(str(error)) from error


def _given(array: Array, dtype: str) -> Array:
    """Return a buffer as the user's function gets it."""
    element = dtypes.parse(dtype)
    has_bfloat16 = any(part.scalar.kind == "bfloat" for part in element.parts)
    view = _with_numbers(array, element) if has_bfloat16 else array.view()
    view.flags.writeable = False
    return view


def _with_numbers(array: Array, element: ElementType) -> Array:
    """Convert the bfloat16 parts of an array to float32."""
    numbers = [
        dtypes.to_float(column, part.scalar) for part, column in zip(element.parts, element.columns(array), strict=True)
    ]
    if len(numbers) == 1:
        return numbers[0]
    result = np.zeros(
        array.shape, [(part.name, column.dtype) for part, column in zip(element.parts, numbers, strict=True)]
    )
    for part, column in zip(element.parts, numbers, strict=True):
        result[part.name] = column
    return result


def _shown(function: str) -> str:
    path, _, name = function.rpartition(":")
    return f"{Path(path).name}:{name}"


def _said(error: BaseException, function: str) -> str:
    return usermodules.describe_error(error, function.rpartition(":")[0])

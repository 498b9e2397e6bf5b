"""References computed by the user's Python functions, in the worker.

    def block_sums(inputs: Mapping[str, Array], case: Case) -> Array

`inputs` holds the filled buffers (read-only; bfloat16 as float32, which holds them exactly); `reference_values` says
what the result may be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes, usermodules
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.records import Case
from gpuregress.jobs.inputs import reference_values
from gpuregress.jobs.inputs.reference_values import ReferenceFailed, ReferenceResult

Array = npt.NDArray[np.generic]


def compute(
    function: str,
    case: Case,
    buffer: str,
    inputs: Mapping[str, Array],
    given: Case | None = None,
    *,
    is_verified: bool = False,
) -> ReferenceResult:
    """Call the function for a buffer's reference.

    Args:
        function: `/abs/module.py:name`.
        case: the case.
        buffer: whose reference it is.
        inputs: filled buffer → array.
        given: handed to the function; None: the case itself.
        is_verified: a `verify` function decides.

    Raises:
        ReferenceFailed: the function raised, is not there, or gave something that is no such buffer.
    """
    call = _load(function)
    try:
        result = call({name: _given(array, case.buffers[name].dtype) for name, array in inputs.items()}, given or case)
    except Exception as error:
        raise ReferenceFailed(f"{_shown(function)} raised {_said(error, function)}") from error
    origin = f"{_shown(function)} returned"
    return reference_values.settle(result, case.buffers[buffer], origin, is_verified=is_verified)


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

"""Gold standards: the user's own function of the inputs, run here in the worker, where a crash of it harms nobody.

    def block_sums(inputs: Mapping[str, Array], case: Case) -> Array

`inputs` holds the filled buffers (read-only; bfloat16 as float32, which holds them exactly); the result has the
buffer's shape, in any numeric dtype. Where the buffer's own cannot hold each value exactly, floats are compared as
float64 and all else is refused.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress import conversion, dtypes
from gpuregress.conversion import NotRepresentable
from gpuregress.dtypes import ElementType
from gpuregress.records import Case, ReferenceKernel

Array = npt.NDArray[np.generic]


class ReferenceFailed(Exception):
    """The user's function raised, is not there, or gave something that is no such buffer; the message says which."""


@dataclass(frozen=True, slots=True)
class Standard:
    """A gold standard.

    Attributes:
        array: the buffer's shape, its storage dtype, rounded to nearest where need be.
        wide: the same before it was rounded, `dtypes.widened` of the buffer's type; None where nothing was rounded.
    """

    array: Array
    wide: Array | None = None


def compute(function: str, case: Case, buffer: str, inputs: Mapping[str, Array]) -> Standard:
    """What the function says the buffer should hold.

    Args:
        function: `/abs/module.py:name`.
        case: handed to the function.
        buffer: whose gold standard it is.
        inputs: filled buffer → array.

    Raises:
        ReferenceFailed: see there.
    """
    call = _load(function)
    try:
        result = call({name: _given(array, case.buffers[name].dtype) for name, array in inputs.items()}, case)
    except (Exception, SystemExit) as error:
        raise ReferenceFailed(f"{_shown(function)} raised {_said(error, function)}") from error
    return _shaped(result, case, buffer, function)


def shared(kernels: Mapping[str, ReferenceKernel]) -> list[list[str]]:
    """Buffers whose gold standards come from the very same launches, together: those are run once."""
    groups: list[list[str]] = []
    for name, kernel in kernels.items():
        group = next((group for group in groups if kernels[group[0]] == kernel), None)
        if group is None:
            groups.append([name])
        else:
            group.append(name)
    return groups


def _shaped(result: Any, case: Case, buffer: str, function: str) -> Standard:
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


def _standard(array: Array, element: ElementType, shape: tuple[int, ...]) -> Standard:
    """Exactly as it is; else, where the buffer holds floats, as float64 and rounded.

    Raises:
        NotRepresentable: float64 cannot hold it either, or the buffer's type has nothing as large.
    """
    try:
        return Standard(conversion.convert(array, element, shape, exact=True))
    except NotRepresentable:
        if dtypes.widened(element) == element:
            raise
    wide = conversion.convert(array, dtypes.widened(element), shape, exact=True)
    return Standard(conversion.narrowed(wide, element), wide)


@lru_cache(maxsize=64)
def _load(function: str) -> Callable[[Mapping[str, Array], Case], Any]:
    path, _, name = function.rpartition(":")
    try:
        spec = importlib.util.spec_from_file_location(f"gpuregress_user_{Path(path).stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        if str(Path(path).parent) not in sys.path:
            sys.path.append(str(Path(path).parent))
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ReferenceFailed(f"{path} cannot be imported: {_said(error, function)}") from error
    call: Callable[[Mapping[str, Array], Case], Any] | None = getattr(module, name, None)
    if call is None or not callable(call):
        there = ", ".join(sorted(n for n, v in vars(module).items() if callable(v) and not n.startswith("_")))
        raise ReferenceFailed(f"{path} has no function {name!r}; it has: {there or 'none'}")
    return call


def _given(array: Array, dtype: str) -> Array:
    """A buffer as the user's function gets it."""
    element = dtypes.parse(dtype)
    has_bfloat16 = any(part.scalar.kind == "bfloat" for part in element.parts)
    view = _with_numbers(array, element) if has_bfloat16 else array.view()
    view.flags.writeable = False
    return view


def _with_numbers(array: Array, element: ElementType) -> Array:
    """The same with its bfloat16 parts as float32."""
    numbers = [
        dtypes.to_float(column, part.scalar) for part, column in zip(element.parts, element.columns(array), strict=True)
    ]
    if len(numbers) == 1:
        return numbers[0]
    found = np.zeros(
        array.shape, [(part.name, column.dtype) for part, column in zip(element.parts, numbers, strict=True)]
    )
    for part, column in zip(element.parts, numbers, strict=True):
        found[part.name] = column
    return found


def _shown(function: str) -> str:
    path, _, name = function.rpartition(":")
    return f"{Path(path).name}:{name}"


def _said(error: BaseException, function: str) -> str:
    """What the user's code raised, with the last line of their file that it passed."""
    path = function.rpartition(":")[0]
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    where = f" (line {lines[-1]} of {Path(path).name})" if lines else ""
    return f"{type(error).__name__}: {_first_line(error)}{where}"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0]

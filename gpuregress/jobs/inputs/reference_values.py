"""Conversion of a reference's values to its buffer's type, from a function, a file or a twin.

The values have the buffer's shape, in any numeric dtype. Where the buffer's own cannot hold each value exactly, floats
are compared as float64 and all else is refused. Where a `verify` function decides, any shape and dtype will do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.numeric import conversion
from gpuregress.foundation.numeric.conversion import NotRepresentable
from gpuregress.foundation.records import Buffer
from gpuregress.gpu.records import Record

Array = npt.NDArray[Any]


class ReferenceFailed(Exception):
    """There is no reference, or its values are no such buffer; the message says which."""


class ReferenceResult(Record):
    """A reference.

    Attributes:
        array: in its own shape, `element.storage`; rounded to nearest where need be.
        element: the buffer's type; another one only where a `verify` function decides.
        wide: the same before it was rounded, `dtypes.widened` of the buffer's type; None where nothing was rounded.
    """

    array: Array
    element: ElementType
    wide: Array | None = None


def settle(
    values: Any, buffer: Buffer, origin: str, *, is_verified: bool = False, any_shape: bool = False
) -> ReferenceResult:
    """Convert the values of a reference.

    Args:
        values: an array, or what numpy makes one of.
        buffer: whose reference it is.
        origin: what gave them, with a verb: `gold.py:f returned`.
        is_verified: a `verify` function decides: values of another shape or dtype stay as they are.
        any_shape: a flat array of as many values will do, too.

    Raises:
        ReferenceFailed: they are no numbers, of another shape, or not to be held.
    """
    element = dtypes.parse(buffer.dtype)
    try:
        array = conversion.as_array(values)
        if array.dtype.kind not in "biufcV":
            what = type(values).__name__ if not isinstance(values, np.ndarray) else f"an array of {array.dtype}"
            raise ReferenceFailed(f"{origin} {what}, not an array of numbers")
        if not array.size:
            raise ReferenceFailed(f"{origin} an array of shape {list(array.shape)}, which has no element")
        if not _is_of_shape(array, buffer, element, any_shape=any_shape):
            if is_verified:
                return _as_given(array)
            raise ReferenceFailed(f"{origin} shape {list(array.shape)}; {buffer.name} has {list(buffer.shape)}")
        try:
            return _standard(array, element, buffer.shape)
        except NotRepresentable:
            if not is_verified:
                raise
            return _as_given(array)
    except NotRepresentable as error:
        raise ReferenceFailed(f"{origin} no {buffer.dtype}: {error}") from None


def _is_of_shape(array: Array, buffer: Buffer, element: ElementType, *, any_shape: bool) -> bool:
    parts = len(element.parts)
    shapes = {buffer.shape, *([(*buffer.shape, parts)] if parts > 1 else [])}
    if any_shape:
        count = int(np.prod(buffer.shape))
        shapes |= {(count,), (count * parts,), (count, parts)}
    return array.shape in shapes


def _standard(array: Array, element: ElementType, shape: tuple[int, ...]) -> ReferenceResult:
    """Convert an array to the buffer's type exactly; else, for floats, to float64 and rounded.

    Raises:
        NotRepresentable: float64 cannot hold it either, or the buffer's type has nothing as large.
    """
    try:
        return ReferenceResult(conversion.convert(array, element, shape, exact=True), element)
    except NotRepresentable:
        if dtypes.widened(element) == element:
            raise
    wide = conversion.convert(array, dtypes.widened(element), shape, exact=True)
    return ReferenceResult(conversion.narrowed(wide, element), element, wide)


def _as_given(array: Array) -> ReferenceResult:
    """Keep an array's own shape and dtype.

    Raises:
        NotRepresentable: a dump cannot hold its dtype.
    """
    element = _element_of(array.dtype)
    return ReferenceResult(conversion.convert(array, element, array.shape, exact=True), element)


def _element_of(dtype: np.dtype[Any]) -> ElementType:
    try:
        if dtype.names is None:
            return dtypes.parse(dtype.newbyteorder("=").name)
        fields = {name: dtype[name].newbyteorder("=").name for name in dtype.names}
        return dtypes.from_fields(fields)
    except ValueError as error:
        raise NotRepresentable(f"{dtype}, of which there is no dump ({error})") from None

"""Fills of drafted buffers, from what the host code stores into them."""

from __future__ import annotations

import math

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import Scalar
from gpuregress.gpu.records import Record
from gpuregress.lab.drafts.kernel import default_fill
from gpuregress.lab.host_programs import scalars
from gpuregress.lab.host_programs.objects import HostArray
from gpuregress.lab.host_programs.scalars import HostScalar
from gpuregress.toolchain.cxx_types import dtype_of_type


class DraftedFill(Record):
    """A fill, and whether the host code tells it; else it is a guess."""

    text: str
    is_told: bool


def fill_of(memory: HostArray, dtype: str) -> DraftedFill:
    """Write what the host code puts into an array, as a fill.

    Args:
        memory: the array.
        dtype: of its elements.
    """
    contents = memory.contents
    guess = DraftedFill(default_fill(dtype), is_told=False)
    if contents.stored is None:
        return DraftedFill("zeros", contents.is_certain) if contents.is_zeroed else guess
    text = _fill_of_number(contents.stored, dtype) if not dtype.startswith("{") and dtype != "bool" else None
    if text is None:
        return guess
    return DraftedFill(text, contents.is_certain and _has_elements_of(memory, dtype))


def _fill_of_number(stored: HostScalar, dtype: str) -> str | None:
    """Write the fill for the first number of an array; None where it has none."""
    parts = dtypes.parse(dtype).parts
    kind, is_scalar = parts[0].scalar, len(parts) == 1
    low, high = sorted((stored.number, stored.top))
    if not math.isfinite(high - low) or max(abs(low), abs(high)) > 2**64:
        return None
    if stored.high is not None:
        if low < high and kind.is_float:
            return f"{{uniform: {{low: {float(low)!r}, high: {float(high)!r}}}}}"
        smallest, largest = kind.bounds
        is_range = is_scalar and smallest <= low < min(int(high), largest)
        return f"{{integers: {{low: {int(low)}, high: {min(int(high) + 1, largest)}}}}}" if is_range else None
    if stored.op == "loop" or (stored.op == "float" and stored.operands[0].op == "loop"):
        return "arange" if is_scalar else None
    if scalars.depends_on_loop(stored) or not stored.is_known:
        return None
    number = float(stored.number) if kind.is_float else wrapped(int(stored.number), kind)
    return f"{{value: {number!r}}}" if number else "zeros"


def _has_elements_of(memory: HostArray, dtype: str) -> bool:
    """Tell whether the host code's elements are those of the buffer, as far as its types are known."""
    declared = dtype_of_type(memory.element)
    return declared is None or dtypes.parse(dtype).parts[0].scalar.holds(dtypes.parse(declared).parts[0].scalar)


def wrapped(number: int, kind: Scalar) -> int:
    """Convert a number to an integer type, as C++ does.

    Args:
        number: any.
        kind: the type.
    """
    smallest, largest = kind.bounds
    return (number - smallest) % (largest - smallest + 1) + smallest

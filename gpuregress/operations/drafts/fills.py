"""Fills of drafted buffers, from what the host code stores into them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gpuregress import dtypes
from gpuregress.operations.drafts.kernel import default_fill
from gpuregress.toolchain.host_programs.objects import HostArray, Object
from gpuregress.toolchain.host_programs.scalars import HostScalar


def fill_of(memory: HostArray, dtype: str) -> str:
    """Write what the host code puts into an array, as a fill.

    Args:
        memory: the array.
        dtype: of its elements.
    """
    stored: Object | None = next((one.stored for one in memory.origins() if one.stored is not None), None)
    is_float = "float" in dtype or "double" in dtype
    is_record = dtype.startswith("{")
    if stored is None and any(one.is_zeroed for one in memory.origins()):
        return "zeros"
    if not isinstance(stored, HostScalar) or dtype == "bool" or is_record:
        return default_fill(dtype)
    if stored.high is not None:
        low, high = sorted((stored.number, stored.high))
        if is_float and math.isfinite(high - low) and low < high:
            return f"{{uniform: {{low: {float(low)!r}, high: {float(high)!r}}}}}"
        if low < high and _is_scalar(dtype):
            return f"{{integers: {{low: {int(low)}, high: {min(int(high) + 1, _largest(dtype))}}}}}"
        return default_fill(dtype)
    if stored.op == "loop" or (stored.op == "float" and stored.operands[0].op == "loop"):
        return "arange"
    if any(True for _ in _loops(stored)):
        return default_fill(dtype)
    if stored.op in ("number", "name") and stored.is_known:
        number = stored.number if is_float else int(stored.number)
        return "zeros" if number == 0 else f"{{value: {number!r}}}"
    return default_fill(dtype)


def _loops(value: HostScalar) -> Iterator[HostScalar]:
    if value.op == "loop":
        yield value
    for one in value.operands:
        yield from _loops(one)


def _is_scalar(dtype: str) -> bool:
    return len(dtypes.parse(dtype).parts) == 1


def _largest(dtype: str) -> int:
    bits = 8 * dtypes.parse(dtype).size
    return int(2**bits if dtype.startswith("u") else 2 ** (bits - 1))

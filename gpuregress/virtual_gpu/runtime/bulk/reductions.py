"""Reductions of bulk copies: an operation on each element of the target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.virtual_gpu.runtime.bulk.tiles import Bytes

Array = npt.NDArray[Any]
_NUMPY = {
    "u32": np.uint32, "s32": np.int32, "b32": np.uint32, "u64": np.uint64, "s64": np.int64, "b64": np.uint64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "int32": np.int32, "uint64": np.uint64,
    "int64": np.int64, "float16": np.float16, "float32": np.float32, "float64": np.float64,
    "float32_ftz": np.float32, "tfloat32": np.float32, "tfloat32_ftz": np.float32,
}  # fmt: skip
_BFLOAT = ("bf16", "bfloat16")
_CANONICAL = {np.dtype(np.float16): 0x7FFF, np.dtype(np.float32): 0x7FFF_FFFF}
_LEAST_NORMAL = np.float32(2.0**-126)
_FLUSHED = ("float32_ftz", "tfloat32_ftz")
_DOUBLES = ("f64", "float64")


def _inc(old: Array, new: Array) -> Array:
    return np.where(old >= new, np.uint32(0), old + np.uint32(1))


def _dec(old: Array, new: Array) -> Array:
    return np.where((old == 0) | (old > new), new, old - np.uint32(1))


def _least(old: Array, new: Array) -> Array:
    """The smaller number; of floats -0 is below +0, and a NaN is the larger one."""
    if old.dtype.kind != "f":
        return np.minimum(old, new)
    return np.where(old == new, np.where(np.signbit(new), new, old), np.fmin(old, new))


def _greatest(old: Array, new: Array) -> Array:
    if old.dtype.kind != "f":
        return np.maximum(old, new)
    return np.where(old == new, np.where(np.signbit(new), old, new), np.fmax(old, new))


_OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add, "min": _least, "max": _greatest, "inc": _inc, "dec": _dec, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


def reduced(old: Bytes, new: Bytes, operation: str, type_: str) -> Bytes:
    """Return the target's bytes after a reduction.

    Args:
        old: the target's bytes.
        new: the source's.
        operation: `add`, `min`, …
        type_: of an element, as PTX or a tensor map names it.
    """
    combine = _OPERATIONS[operation]
    with np.errstate(all="ignore"):
        if type_ in _BFLOAT:
            return _narrowed(combine(_widened(old), _widened(new)))
        one, two = old.view(_NUMPY[type_]), new.view(_NUMPY[type_])
        if type_ in _FLUSHED:
            one, two = _flushed(one), _flushed(two)
        result = combine(one, two)
        if type_ in _FLUSHED:
            result = _flushed(result)
        if type_ in _DOUBLES:  # a NaN stays as it is: the source's, else the target's
            result = np.where(np.isnan(two), two, np.where(np.isnan(one), one, result))
        canonical = _CANONICAL.get(result.dtype)
        if canonical is not None:
            bits = result.view(f"u{result.itemsize}")
            bits[np.isnan(result)] = canonical
    return np.ascontiguousarray(result).view(np.uint8)


def _flushed(values: Array) -> Array:
    """Subnormal numbers as zeros of their sign."""
    return np.where(np.abs(values) < _LEAST_NORMAL, np.copysign(np.float32(0), values), values)


def _widened(data: Bytes) -> Array:
    return (data.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)


def _narrowed(values: Array) -> Bytes:
    """Round float32 to bfloat16, to nearest even; a sum of two bfloat16 is rounded once that way, too."""
    bits = values.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)
    result = np.where(np.isnan(values), np.uint32(0x7FFF), rounded).astype(np.uint16)
    return result.view(np.uint8)

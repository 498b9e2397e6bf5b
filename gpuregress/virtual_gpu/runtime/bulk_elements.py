"""Bulk copies that have been issued and have not arrived, and what they make of the elements."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.descriptors import TensorMap
from gpuregress.virtual_gpu.runtime.memory import Region
from gpuregress.virtual_gpu.runtime.tensor_tiles import CHUNK, Bytes

# --- reductions -------------------------------------------------------------------------------------------------------
# Reductions of bulk copies: an operation on each element of the target.

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
        target, source = old.view(_NUMPY[type_]), new.view(_NUMPY[type_])
        if type_ in _FLUSHED:
            target, source = _flushed(target), _flushed(source)
        result = combine(target, source)
        if type_ in _FLUSHED:
            result = _flushed(result)
        if type_ in _DOUBLES:  # A NaN stays as it is: the source's, else the target's.
            result = np.where(np.isnan(target), target, result)
            result = np.where(np.isnan(source), source, result)
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


# --- pending copies ---------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class PendingLoad:
    """A copy to shared memory that has been read and not arrived.

    Attributes:
        target: host address.
        data: to be stored.
        block: host address of the shared memory that it arrives in.
        reduction: operation and type, or ("", "").
        places: of its 16-byte chunks, counted from the target; None: in order.
        is_store: whether it is an asynchronous store of registers.
        reads: what is noted of its reads of global memory.
        issuer: the site and the thread.
        issued: the epoch of the issue, where it is noted.
        source: of one between blocks, what is noted of its read: the host addresses of the shared memory and of the
            bytes, their number and the epoch.
    """

    target: int
    data: Bytes
    block: int
    reduction: tuple[str, str] = ("", "")
    places: npt.NDArray[np.intp] | None = None
    is_store: bool = False
    reads: list[object] = field(default_factory=list)
    issuer: tuple[int, int] = (0, 0)
    issued: int = 0
    source: tuple[int, int, int, int] | None = None

    @property
    def extent(self) -> int:
        """Bytes from the first to the last that is written."""
        return len(self.data) if self.places is None else CHUNK * (int(self.places.max()) + 1)

    def write(self) -> None:
        """Store the data in shared memory."""
        operation, type_ = self.reduction
        data = self.data
        if self.places is not None:
            memory = np.ctypeslib.as_array((ctypes.c_uint8 * self.extent).from_address(self.target))
            memory.reshape(-1, CHUNK)[self.places] = data.reshape(-1, CHUNK)
            return
        if operation:
            old = np.frombuffer(ctypes.string_at(self.target, len(data)), np.uint8)
            data = reduced(old, data, operation, type_)
        ctypes.memmove(self.target, data.ctypes.data, len(data))


@dataclass(slots=True, eq=False)
class PendingStore:
    """A copy to global memory.

    Attributes:
        source: host memory that is read.
        region: the target's.
        places: slices, or offsets, of its bytes.
        order: the source's byte that each of the target's comes from; None: in order.
        reduction: operation and type, or ("", "").
        data: what was read; None before.
        issued: the bytes' host address, their number and the epoch of the issue, where it is noted.
        written: what is noted of its write.
    """

    source: Bytes
    region: Region
    places: slice | npt.NDArray[np.int64]
    order: npt.NDArray[np.int64] | None
    reduction: tuple[str, str]
    data: Bytes | None = None
    issued: tuple[int, int, int] | None = None
    written: object = None

    @property
    def size(self) -> int:
        """Bytes that are written."""
        return len(self.source) if self.order is None else self.order.size

    def read(self) -> None:
        """Read the source, unless that was done."""
        if self.data is None:
            self.data = self.source.copy() if self.order is None else self.source[self.order]

    def write(self) -> None:
        """Store the data in global memory."""
        self.read()
        assert self.data is not None
        operation, type_ = self.reduction
        data = self.data
        if operation:
            data = reduced(np.ascontiguousarray(self.region.data[self.places]), data, operation, type_)
        self.region.data[self.places] = data
        self.source = self.data


@dataclass(slots=True)
class StoreGroups:
    """The stores of one thread: those of each group that is committed, and those that are not."""

    committed: list[list[PendingStore]] = field(default_factory=list)
    current: list[PendingStore] = field(default_factory=list)


# --- conversions ------------------------------------------------------------------------------------------------------
# Conversion of the elements that a tensor copy loads, and the fill for those outside the tensor. Measured on an H200.

_ROUNDED = ("tfloat32", "tfloat32_ftz")
_DROPPED = 13
"""Bits of the fraction that float32 has and tfloat32 has not."""
_MAGNITUDE, _INFINITY, _NAN = 0x7FFF_FFFF, 0x7F80_0000, 0x7FFF_E000
_FILL = b"\xf7\x7f"
"""Pattern of the NaN fill: one NaN of every floating-point type."""


def fill(given: TensorMap) -> bytes:
    """Return an element outside of the tensor."""
    return bytes(given.unit) if given.oob_fill == "zeros" else (_FILL * given.unit)[: given.unit]


def loaded(data: Bytes, type_: str) -> Bytes:
    """Convert what a copy has read: float32 to tfloat32, to nearest even; others and subnormal numbers stay.

    Args:
        data: bytes of whole elements.
        type_: of the map.
    """
    if type_ not in _ROUNDED:
        return data
    bits = data.view(np.uint32)
    kept = np.uint32((1 << _DROPPED) - 1)
    half = (kept >> np.uint32(1)) + (bits >> np.uint32(_DROPPED) & np.uint32(1))
    rounded = (bits & np.uint32(_MAGNITUDE)) + half & ~kept | bits & np.uint32(1 << 31)
    is_nan = bits & np.uint32(_MAGNITUDE) > _INFINITY
    return np.where(is_nan, np.uint32(_NAN), rounded).astype(np.uint32).view(np.uint8)

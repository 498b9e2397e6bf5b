"""Arrays of numpy, CuPy, Torch and others as bytes, through the protocols that they share.

`__cuda_array_interface__`, `__array_interface__` and DLPack are understood, in this order. No other library is
imported.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.errors import DeviceError

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
_BOOL = 6
_READ_ONLY = 1


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a C-contiguous array, in elements."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def _read(capsule: Any) -> tuple[_Tensor, int]:
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    is_valid = ctypes.pythonapi.PyCapsule_IsValid
    is_valid.restype, is_valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
    for name in (b"dltensor_versioned", b"dltensor"):
        if is_valid(capsule, name):
            address = pointer_of(capsule, name)
            if name == b"dltensor":
                return _Tensor.from_address(address), 0
            versioned = _Versioned.from_address(address)
            return versioned.tensor, int(versioned.flags)
    raise ValueError("__dlpack__ returned no DLPack capsule")


def _dtype(tensor: _Tensor) -> str:
    if tensor.lanes != 1:
        return ""
    if tensor.code == _BOOL and tensor.bits == 8:
        return "bool"
    return f"{_KINDS[tensor.code]}{tensor.bits}" if tensor.code in _KINDS else ""


Bytes = npt.NDArray[np.uint8]
_CONTEXT_OF_POINTER = 1


def read(address: int, size: int, library: Any = None) -> Bytes:
    """Copy bytes from a GPU, after all work that its context was given.

    Args:
        address: on the GPU.
        size: bytes.
        library: stands for `libcuda.so.1` in tests.

    Raises:
        DeviceError: there is no driver, or it refuses.
    """
    result = np.empty(size, np.uint8)
    if size:
        with _context_of(address, library or driver()) as cuda:
            _check(cuda, cuda.cuMemcpyDtoH_v2(ctypes.c_void_p(result.ctypes.data), ctypes.c_uint64(address), size))
    return result


def write(address: int, data: Bytes, library: Any = None) -> None:
    """Copy bytes to a GPU.

    Args:
        address: on the GPU.
        data: contiguous.
        library: as above.

    Raises:
        DeviceError: as above.
    """
    if data.size:
        with _context_of(address, library or driver()) as cuda:
            _check(cuda, cuda.cuMemcpyHtoD_v2(ctypes.c_uint64(address), ctypes.c_void_p(data.ctypes.data), data.size))


@functools.cache
def driver() -> Any:
    """Load the CUDA driver, which the library that made the array has loaded already.

    Raises:
        DeviceError: there is none.
    """
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise DeviceError(f"an array on a GPU was given, and there is no CUDA driver: {error}") from error


@contextmanager
def _context_of(address: int, cuda: Any) -> Iterator[Any]:
    """Make the context that owns an address current; wait until its work is done."""
    _check(cuda, cuda.cuInit(0))
    context = ctypes.c_void_p()
    pointer = ctypes.c_uint64(address)
    _check(cuda, cuda.cuPointerGetAttribute(ctypes.byref(context), _CONTEXT_OF_POINTER, pointer))
    if context.value:
        _check(cuda, cuda.cuCtxPushCurrent_v2(context))
    try:
        _check(cuda, cuda.cuCtxSynchronize())
        yield cuda
    finally:
        if context.value:
            cuda.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


def _check(cuda: Any, code: int) -> None:
    if code:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(code, ctypes.byref(text))
        words = (text.value or b"").decode(errors="replace")
        raise DeviceError(f"an array on a GPU cannot be copied: CUDA says {words or 'error'} ({code})")


_OF_HOST = (np.dtype(np.longdouble).name, np.dtype(np.clongdouble).name)
"""Floats of the host's processor alone."""
_MOST_FIELDS = 256
"""Fields of a record, whose names must fit the first line of a dump."""


@dataclass(frozen=True, slots=True)
class ArrayBytes:
    """An array as a kernel sees it: bytes without gaps.

    Attributes:
        address: of the first byte, in host memory or on a GPU.
        size: bytes.
        itemsize: bytes of an element.
        shape: elements along each axis.
        dtype: as `dtypes.parse` takes it; "" where none of ours is meant (a structure, an 8-bit float).
        is_read_only: whether it must not be written.
        is_on_gpu: whether it must be copied by the CUDA driver.
        is_fortran: whether its first axis is the fastest.
        owner: keeps the memory alive.
    """

    address: int
    size: int
    itemsize: int
    shape: tuple[int, ...]
    dtype: str
    is_read_only: bool
    is_on_gpu: bool = False
    is_fortran: bool = False
    owner: Any = field(default=None, repr=False)

    def read(self) -> Bytes:
        """Return the bytes: a view where they are in host memory, else a copy."""
        if self.is_on_gpu:
            return read(self.address, self.size)
        return self._view()

    def write(self, data: Bytes) -> None:
        """Replace the bytes.

        Args:
            data: as many.
        """
        if self.is_on_gpu:
            write(self.address, np.ascontiguousarray(data))
        else:
            self._view()[:] = data

    def overlaps(self, other: ArrayBytes) -> bool:
        """Tell whether two arrays have a byte in common."""
        if self.is_on_gpu != other.is_on_gpu or not (self.size and other.size):
            return False
        return self.address < other.address + other.size and other.address < self.address + self.size

    def to_numpy(self) -> tuple[npt.NDArray[Any], ElementType]:
        """Return a copy in our storage dtype, C-contiguous, and its element type.

        Raises:
            TypeError: no dtype of ours holds its elements.
        """
        if not self.dtype:
            raise TypeError(f"no dtype of gpuregress holds its elements of {self.itemsize} bytes")
        element = dtypes.parse(self.dtype)
        flat = self.read().copy().view(element.storage)
        array = flat.reshape(self.shape, order="F" if self.is_fortran else "C")
        return np.ascontiguousarray(array).reshape(self.shape), element

    def _view(self) -> Bytes:
        if not self.size:
            return np.zeros(0, np.uint8)
        return np.ctypeslib.as_array((ctypes.c_uint8 * self.size).from_address(self.address))


def is_array(value: Any) -> bool:
    """Tell whether a value is an array of some library; a numpy scalar is a number."""
    if isinstance(value, np.generic):
        return False
    names = ("__cuda_array_interface__", "__array_interface__", "__dlpack__")
    return isinstance(value, np.ndarray) or any(_has(value, name) for name in names)


def _has(value: Any, name: str) -> bool:
    """Tell whether an array offers a protocol; Torch raises a RuntimeError where its tensor has a gradient."""
    try:
        return hasattr(value, name)
    except Exception:  # noqa: BLE001 - any refusal of another library: the next protocol is tried
        return False


def view(value: Any) -> ArrayBytes:
    """Describe an array.

    Args:
        value: for which `is_array` is true.

    Raises:
        ValueError: its elements have gaps between them, or are not the stored ones, or it is on a device that cannot
            be read.
    """
    if isinstance(value, np.ndarray):
        return _of_numpy(value, value)
    for state in ("neg", "conj"):
        # Torch negates and conjugates such tensors when it reads them, and neither protocol tells.
        if getattr(value, f"is_{state}", bool)():
            raise ValueError(f"its memory does not hold its elements: pass resolve_{state}() of it")
    if _has(value, "__cuda_array_interface__"):
        return _of_interface(value, value.__cuda_array_interface__)
    if _has(value, "__array_interface__"):
        array = np.asarray(value)  # may be all that holds the memory, where the interface is made anew when asked
        return _of_numpy(array, (array, value))
    try:
        return _of_dlpack(value)
    except (BufferError, RuntimeError) as error:
        raise ValueError(f"{type(value).__name__} exports no memory: {error}") from None


def contents(value: Any) -> tuple[npt.NDArray[Any], ElementType]:
    """Return a copy of an array, of a number or of nested lists of them, and its element type.

    Args:
        value: an array of numpy may have gaps between its elements, and any byte order.

    Raises:
        TypeError: no dtype of ours holds its elements.
        ValueError: it is an array that `view` refuses.
    """
    if not is_array(value):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and value.dtype.names is None:
        value = value.astype(value.dtype.newbyteorder("="), order="C")
    return view(value).to_numpy()


def records(array: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ElementType]:
    """Return a copy of a structured array as records of ours, and their type.

    Members of nested structures and of arrays become fields of their own: `pos_x`, `v_0`. Padding is left out, so these
    are not the bytes that a kernel reads.

    Args:
        array: of numpy, with named fields.

    Raises:
        ValueError: a field's name or type cannot be one of ours, or there are too many.
    """
    columns = dict[str, npt.NDArray[Any]]()
    for name, column in _members("", array):
        if name in columns:
            raise ValueError(f"its dtype has two fields that become {name}: rename one")
        columns[name] = column
    if len(columns) > _MOST_FIELDS:
        raise ValueError(f"its dtype has {len(columns)} numbers, and at most {_MOST_FIELDS} are possible: split it")
    element = dtypes.from_fields({name: column.dtype.name for name, column in columns.items()})
    filled = np.zeros(array.shape, element.storage)
    for (_, target), column in zip(element.part_columns(filled), _parts(columns.values()), strict=True):
        target[...] = column.view(target.dtype) if target.dtype.kind != column.dtype.kind else column
    return filled, element


def _members(prefix: str, column: npt.NDArray[Any]) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Each number of an element with the name of its field."""
    for name in column.dtype.names or ():
        member, whole = column[name], f"{prefix}{name}"
        for place in np.ndindex(member.shape[column.ndim :]):
            label = "_".join((whole, *map(str, place)))
            part = member[(..., *place)]
            yield from _members(f"{label}_", part) if part.dtype.names else [(label, part)]


def _parts(columns: Iterable[npt.NDArray[Any]]) -> Iterator[npt.NDArray[Any]]:
    """The columns, with two for one of complex numbers."""
    for column in columns:
        yield from (column.real, column.imag) if column.dtype.kind == "c" else (column,)


def _of_numpy(array: npt.NDArray[Any], owner: Any) -> ArrayBytes:
    if array.dtype.hasobject:
        raise ValueError(f"its dtype is {array.dtype}: a kernel cannot read Python objects")
    if array.dtype.kind not in "biufcV" or array.dtype.name in _OF_HOST:
        raise ValueError(f"its dtype is {array.dtype}: a kernel has no such type")
    is_masked = isinstance(array, np.ma.MaskedArray)
    if is_masked:
        raise ValueError("it is a masked array: a kernel has no masks; pass filled(…) of it, or its data")
    if not array.dtype.isnative:
        raise ValueError(f"its dtype is {array.dtype}: a GPU has the other byte order")
    steps = tuple(stride // array.itemsize if array.itemsize else 0 for stride in array.strides)
    is_whole = array.flags.c_contiguous or array.flags.f_contiguous
    layout = _layout(array.shape, steps) if not is_whole else "C" if array.flags.c_contiguous else "F"
    dtype = "" if array.dtype.names else _known(array.dtype.name)
    address = int(array.__array_interface__["data"][0])
    read_only = not array.flags.writeable
    return ArrayBytes(
        address=address,
        size=array.nbytes,
        itemsize=array.itemsize,
        shape=array.shape,
        dtype=dtype,
        is_read_only=read_only,
        is_fortran=layout == "F",
        owner=owner,
    )


def _of_interface(owner: Any, interface: dict[str, Any]) -> ArrayBytes:
    """Describe an array by its `__cuda_array_interface__`."""
    dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    address, read_only = interface["data"]
    strides = interface.get("strides")
    steps = tuple(stride // dtype.itemsize for stride in strides) if strides else dense_strides(shape)
    layout = _layout(shape, steps)
    name = "" if interface.get("descr", [("", "")])[0][0] else _known(dtype.name)
    size = math.prod(shape) * dtype.itemsize
    return ArrayBytes(
        address=int(address or 0),
        size=size,
        itemsize=dtype.itemsize,
        shape=shape,
        dtype=name,
        is_read_only=bool(read_only),
        is_on_gpu=True,
        is_fortran=layout == "F",
        owner=owner,
    )


def _of_dlpack(value: Any) -> ArrayBytes:
    """Describe an array by its `__dlpack__`."""
    try:
        capsule = value.__dlpack__(max_version=(1, 0))
    except TypeError:  # a library from before version 1
        capsule = value.__dlpack__()
    tensor, flags = _read(capsule)
    if tensor.device_type not in (CPU, CUDA, CUDA_HOST, CUDA_MANAGED):
        raise ValueError(f"an array on DLPack's device {tensor.device_type}: only host memory and CUDA can be read")
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    strides = tuple(tensor.strides[axis] for axis in range(tensor.ndim)) if tensor.strides else dense_strides(shape)
    itemsize = tensor.bits * tensor.lanes // 8
    return ArrayBytes(
        address=(tensor.data or 0) + tensor.byte_offset,
        size=math.prod(shape) * itemsize,
        itemsize=itemsize,
        shape=shape,
        dtype=_known(_dtype(tensor)),
        is_read_only=bool(flags & _READ_ONLY),
        is_on_gpu=tensor.device_type in (CUDA, CUDA_MANAGED),  # the driver's copy waits for the work on managed memory
        is_fortran=_layout(shape, strides) == "F",
        owner=(capsule, value),
    )


def _layout(shape: tuple[int, ...], steps: tuple[int, ...]) -> str:
    """`C` or `F`; ValueError where the elements are not one after the other."""
    wide = [(extent, step) for extent, step in zip(shape, steps, strict=True) if extent != 1]
    if 0 in shape:
        return "C"
    extents = tuple(extent for extent, _ in wide)
    given = tuple(step for _, step in wide)
    if given == dense_strides(extents):
        return "C"
    if given == dense_strides(extents[::-1])[::-1]:
        return "F"
    raise ValueError("its elements are not contiguous: pass a contiguous copy")


def _known(name: str) -> str:
    """The name, where it is a dtype of ours."""
    return name if name in dtypes.known_names() else ""

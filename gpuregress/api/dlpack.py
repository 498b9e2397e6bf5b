"""Reading of DLPack capsules: where an array lies, and what it holds.

The structures are those of dlpack.h, with and without a version. numpy's own `from_dlpack` refuses bfloat16, and every
GPU. The capsule is not consumed: its own destructor frees what it refers to.
"""

from __future__ import annotations

import ctypes
from typing import Any

from gpuregress.gpu.records import Record

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


class ExportedArray(Record):
    """An array that another library exports.

    Attributes:
        address: of its first element.
        is_on_gpu: whether the CUDA driver must copy it.
        dtype: as `dtypes.parse` takes it; "" where no dtype of ours is meant.
        itemsize: bytes of an element.
        shape: elements along each axis.
        strides: elements from one to the next along each axis.
        is_read_only: whether it must not be written.
        owner: keeps the memory alive.
    """

    address: int
    is_on_gpu: bool
    dtype: str
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    is_read_only: bool
    owner: Any


def export(array: Any) -> ExportedArray:
    """Describe an array that has `__dlpack__`.

    Raises:
        ValueError: its memory is on a device that nothing here can read, or its capsule is no DLPack.
    """
    try:
        capsule = array.__dlpack__(max_version=(1, 0))
    except TypeError:  # a library from before version 1
        capsule = array.__dlpack__()
    tensor, flags = _read(capsule)
    if tensor.device_type not in (CPU, CUDA, CUDA_HOST, CUDA_MANAGED):
        raise ValueError(f"an array on DLPack's device {tensor.device_type}: only host memory and CUDA can be read")
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    strides = tuple(tensor.strides[axis] for axis in range(tensor.ndim)) if tensor.strides else dense_strides(shape)
    return ExportedArray(
        (tensor.data or 0) + tensor.byte_offset,
        tensor.device_type in (CUDA, CUDA_MANAGED),  # the driver's copy waits for the work on managed memory, too
        _dtype(tensor),
        tensor.bits * tensor.lanes // 8,
        shape,
        strides,
        bool(flags & _READ_ONLY),
        capsule,
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

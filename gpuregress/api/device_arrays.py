"""Copies between GPU memory and the host, for arrays of other libraries in this process.

The CUDA driver is called directly, in the context that owns the memory. So neither CuPy nor Torch is imported.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.errors import DeviceError

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

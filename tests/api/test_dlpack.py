"""DLPack capsules of numpy, and capsules that are none."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as arrays

from gpuregress.api import arrays as dlpack

DTYPES = ["bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64"]


class Exporting:
    """A library that has nothing but DLPack."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def __dlpack__(self, **version: Any) -> Any:
        return self._array.__dlpack__(**version)


class Old:
    """A library from before version 1, whose method takes no version."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def __dlpack__(self) -> Any:
        return self._array.__dlpack__()


@pytest.mark.parametrize("name", DTYPES)
def test_the_array_is_described(name: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(name)
    exported = dlpack.view(Exporting(array))
    assert (exported.dtype, exported.shape, exported.itemsize) == (name, (2, 3), array.itemsize)
    assert (exported.address, exported.size) == (array.ctypes.data, array.nbytes)
    assert not exported.is_on_gpu


@given(arrays.arrays(np.float32, arrays.array_shapes(max_dims=4, max_side=5)))
def test_shape_and_strides_are_numpys(array: np.ndarray[Any, np.dtype[np.float32]]) -> None:
    for given_array in (array, array.T):
        read, _ = dlpack.view(Exporting(given_array)).to_numpy()
        assert read.tobytes() == given_array.tobytes()
        assert read.shape == given_array.shape


def test_an_array_with_gaps_is_refused() -> None:
    with pytest.raises(ValueError, match="not contiguous"):
        dlpack.view(Exporting(np.arange(10)[::2]))


def test_a_view_begins_at_its_first_element() -> None:
    array = np.arange(10, dtype=np.int64)
    assert dlpack.view(Exporting(array[3:])).address == array.ctypes.data + 24


def test_a_library_from_before_version_1_is_understood() -> None:
    array = np.arange(4, dtype=np.float32)
    assert dlpack.view(Old(array)).address == array.ctypes.data


def test_a_read_only_array_says_so() -> None:
    array = np.arange(4, dtype=np.float32)
    array.flags.writeable = False
    assert dlpack.view(Exporting(array)).is_read_only


class Made:
    """A capsule with any device and type."""

    def __init__(self, device: int, code: int, bits: int, lanes: int = 1) -> None:
        self._shape = (ctypes.c_int64 * 1)(8)
        self._tensor = dlpack._Tensor(4096, device, 0, 1, code, bits, lanes, self._shape, None, 16)

    def __dlpack__(self, **_version: object) -> Any:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self._tensor), b"dltensor", None)


@pytest.mark.parametrize("device", [dlpack.CUDA, dlpack.CUDA_MANAGED])
def test_bfloat16_on_a_gpu_is_described(device: int) -> None:
    exported = dlpack.view(Made(device, 4, 16))
    assert (exported.dtype, exported.is_on_gpu, exported.address, exported.size) == ("bfloat16", True, 4112, 16)


def test_an_unknown_type_has_no_dtype_and_an_unknown_device_is_refused() -> None:
    assert dlpack.view(Made(dlpack.CPU, 17, 8)).dtype == ""
    assert dlpack.view(Made(dlpack.CPU, 2, 32, lanes=4)).itemsize == 16
    with pytest.raises(ValueError, match="device 7"):
        dlpack.view(Made(7, 2, 32))


def test_what_is_no_capsule_is_refused() -> None:
    class Wrong:
        def __dlpack__(self, **_version: object) -> object:
            return object()

    with pytest.raises(ValueError, match="no DLPack capsule"):
        dlpack.view(Wrong())

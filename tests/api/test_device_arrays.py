"""Copies from and to a GPU, with a driver that keeps its memory in a dictionary."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from gpuregress.api import arrays
from gpuregress.foundation.errors import DeviceError


class Driver:
    """A CUDA driver with one context and host memory behind each address."""

    def __init__(self, refuses: int = 0) -> None:
        self.calls: list[str] = []
        self.memory = np.arange(16, dtype=np.uint8)
        self._refuses = refuses

    def __getattr__(self, name: str) -> Any:
        def call(*_arguments: Any) -> int:
            self.calls.append(name)
            return 0

        return call

    def cuPointerGetAttribute(self, context: Any, _attribute: int, _pointer: Any) -> int:  # noqa: N802 - the driver's
        context._obj.value = 77
        return self._refuses

    def cuMemcpyDtoH_v2(self, target: Any, source: Any, size: int) -> int:  # noqa: N802
        ctypes.memmove(target, self.memory.ctypes.data + source.value - 4096, size)
        self.calls.append("copy")
        return 0

    def cuMemcpyHtoD_v2(self, target: Any, source: Any, size: int) -> int:  # noqa: N802
        ctypes.memmove(self.memory.ctypes.data + target.value - 4096, source, size)
        self.calls.append("copy")
        return 0

    def cuGetErrorString(self, _code: int, text: Any) -> int:  # noqa: N802
        text._obj.value = b"invalid argument"
        return 0


def test_bytes_are_copied_in_the_context_that_owns_them_after_its_work() -> None:
    driver = Driver()
    assert arrays.read(4098, 3, driver).tolist() == [2, 3, 4]
    assert driver.calls == ["cuInit", "cuCtxPushCurrent_v2", "cuCtxSynchronize", "copy", "cuCtxPopCurrent_v2"]
    arrays.write(4096, np.array([9, 8], np.uint8), driver)
    assert driver.memory[:3].tolist() == [9, 8, 2]


def test_no_bytes_need_no_driver() -> None:
    driver = Driver()
    assert arrays.read(0, 0, driver).size == 0
    arrays.write(0, np.zeros(0, np.uint8), driver)
    assert driver.calls == []


def test_a_refusal_is_told_in_the_drivers_words() -> None:
    with pytest.raises(DeviceError, match=r"cannot be copied: CUDA says invalid argument \(1\)"):
        arrays.read(4096, 1, Driver(refuses=1))


def test_without_a_driver_the_array_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays.driver.cache_clear()

    def missing(name: str) -> None:
        raise OSError(f"{name}: not found")

    monkeypatch.setattr("ctypes.CDLL", missing)
    with pytest.raises(DeviceError, match=r"an array on a GPU was given, and there is no CUDA driver: libcuda.so.1"):
        arrays.driver()

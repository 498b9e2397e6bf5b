"""What the device tests share: a device with one of the programs on it, and arrays that go there and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.records import Dim3, LaunchShape
from gpuregress.gpu.base import Bytes, Device, LaunchReport, Memory
from gpuregress.toolchain import programs as toolchain
from tests.devices import programs

Array = npt.NDArray[np.generic]
Value = Memory | bytes | np.generic | None


class Bench:
    """A device and a program.

    Args:
        device: entered.
        folder: where the source is written.
        name: of `programs.PROGRAMS`.
    """

    def __init__(self, device: Device, folder: Path, name: str) -> None:
        self.device = device
        self.program = toolchain.compile(programs.source(name, folder))
        self.module = device.load(self.program)

    def put(self, name: str, array: Array) -> Memory:
        """A new buffer that holds an array."""
        memory = self.device.allocate(name, array.nbytes, itemsize=array.itemsize)
        memory.write(as_bytes(array))
        return memory

    def launch(self, kernel: str, grid: int | Dim3, block: int | Dim3, *args: Value, shared: int = 0) -> LaunchReport:
        """Launches a kernel by its C++ name: memories go as pointers, None as null, numpy scalars by value."""
        mangled = self.program.entries[kernel].mangled
        packed = tuple(argument_bytes(value) for value in args)
        return self.device.launch(self.module, mangled, LaunchShape(dim3(grid), dim3(block), shared), packed)


def as_bytes(array: Array) -> Bytes:
    """An array's memory."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def read(memory: Memory, dtype: npt.DTypeLike) -> npt.NDArray[np.float64]:
    """A buffer's content; typed as float64 for mypy, of the dtype that is asked for."""
    return memory.read().view(np.dtype(dtype))


def argument_bytes(value: Value) -> bytes:
    """An argument as a kernel takes it: memory as a pointer, None as null."""
    if value is None:
        return bytes(8)
    if isinstance(value, bytes):
        return value
    if isinstance(value, np.generic):
        return value.tobytes()
    return value.address.to_bytes(8, "little")


def dim3(size: int | Dim3) -> Dim3:
    """A grid or block with the extents that are not given."""
    return (size, 1, 1) if isinstance(size, int) else size

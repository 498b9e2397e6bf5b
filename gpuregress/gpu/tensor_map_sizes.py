"""Checks of a tensor map against the memory of its buffer, the same on every device."""

from __future__ import annotations

from gpuregress.gpu.base import Memory
from gpuregress.gpu.errors import DeviceError
from gpuregress.gpu.tensor_maps import TensorMap


def check_size(memory: Memory, given: TensorMap) -> None:
    """Check that a buffer holds its tensor.

    Raises:
        DeviceError: it does not.
    """
    if given.size > memory.size:
        raise DeviceError(f"{memory.name} has {memory.size} bytes; its tensor map has {given.size}")

"""Devices by name: one literal table, each loaded when it is opened."""

from __future__ import annotations

import re
from collections.abc import Callable

from gpuregress.devices.base import Device
from gpuregress.errors import DeviceError, UsageError


def open_device(name: str) -> Device:
    """A device, not yet entered.

    Args:
        name: `cpu`, `cuda` (the first GPU) or `cuda:N`.

    Raises:
        UsageError: no such name.
        DeviceError: it is not on this machine, or what it needs is not.
    """
    kind, index = parse(name)
    return _DEVICES[kind](index)


def parse(name: str) -> tuple[str, int]:
    """A device's name as its kind and index: `cuda:1` → `("cuda", 1)`.

    Raises:
        UsageError: no such name.
    """
    match = re.fullmatch(r"(cpu)|(cuda)(?::(\d+))?", name)
    if match is None:
        raise UsageError(f"no device {name!r}: there are cpu, cuda and cuda:N (N counts GPUs from 0)")
    return (match[1] or match[2], int(match[3] or 0))


def available() -> tuple[str, ...]:
    """The devices that can be opened here: `("cpu", "cuda:0", …)`. Loads the GPU's driver, but not pycuda."""
    from gpuregress.devices.cuda import host  # noqa: PLC0415 - looks for libraries

    return ("cpu", *(f"cuda:{index}" for index in range(host.usable_gpus())))


def _open_cpu(index: int) -> Device:
    if index:
        raise DeviceError("there is one cpu")
    from gpuregress.devices.cpu.device import CpuDevice  # noqa: PLC0415 - loads LLVM

    return CpuDevice()


def _open_cuda(index: int) -> Device:
    from gpuregress.devices.cuda.device import CudaDevice  # noqa: PLC0415 - loads pycuda

    return CudaDevice(index)


_DEVICES: dict[str, Callable[[int], Device]] = {
    "cpu": _open_cpu,
    "cuda": _open_cuda,
}

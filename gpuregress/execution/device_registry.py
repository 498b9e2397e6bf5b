"""Registry of devices by name; each is imported when it is opened."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from gpuregress.execution.cuda import prerequisites
from gpuregress.foundation.errors import DeviceError, UsageError
from gpuregress.toolchain import cache

if TYPE_CHECKING:
    from gpuregress.gpu.base import Device


def open_device(name: str, *, bare: bool = False) -> Device:
    """A device, not yet entered.

    Args:
        name: `cpu`, `cuda` (the first GPU) or `cuda:N`.
        bare: buffers lie on a GPU as they are, without red zones, which would hide their ends from another tool.

    Raises:
        UsageError: no such name.
        DeviceError: it, or a prerequisite, is not on this machine.
    """
    kind, index = parse(name)
    return _DEVICES[kind](index, bare)


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
    gpus = [f"cuda:{index}" for index in range(prerequisites.usable_gpus())]
    if cpu_lack():
        return tuple(gpus)
    return ("cpu", *gpus)


def cpu_lack(user: str = "the CPU device") -> str:
    """Return the reason why the CPU device cannot be used here, and the command that fixes it; "" where it can.

    Args:
        user: what needs it, for the message.
    """
    if importlib.util.find_spec("llvmlite") is None:
        return f"{user} needs llvmlite, which is not installed: pip install 'gpuregress[cpu]'"
    return ""


def _open_cpu(index: int, _bare: bool) -> Device:  # noqa: FBT001 - called from the table
    if index:
        raise DeviceError("there is one cpu")
    lack = cpu_lack()
    if lack:
        raise DeviceError(lack)
    from gpuregress.virtual_gpu.device import CpuDevice  # noqa: PLC0415 - loads LLVM

    return CpuDevice(cache)


def _open_cuda(index: int, bare: bool) -> Device:  # noqa: FBT001 - called from the table
    from gpuregress.execution.cuda.device import CudaDevice  # noqa: PLC0415 - loads pycuda

    return CudaDevice(index, zones=not bare)


_DEVICES: dict[str, Callable[[int, bool], Device]] = {"cpu": _open_cpu, "cuda": _open_cuda}

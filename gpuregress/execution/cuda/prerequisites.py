"""Prerequisites of GPU runs on this machine: driver, GPUs, permissions, packages."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpuregress.execution.cuda import nvml
from gpuregress.foundation import usermodules
from gpuregress.gpu.records import Record

_NO_DEVICE = 100
_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76  # cuda.h, CUdevice_attribute
_STUB_LIBRARY = 34
_DRIVER_MISMATCH = 803
_INSTALL = "pip install 'gpuregress[cuda]'"
_COMPILE = (
    f"{_INSTALL} (pycuda is compiled: it needs a C++ compiler, and a CUDA toolkit with cuda.h, cudaProfiler.h and "
    "curand.h, whose nvcc is on PATH)"
)
_DRIVER_MEND = (
    "install NVIDIA's driver (Ubuntu: sudo ubuntu-drivers install; else https://www.nvidia.com/drivers), reboot"
)


class Prerequisite(Record):
    """One piece that a GPU run needs, or that makes it better.

    Attributes:
        piece: `driver`, `gpu`, `permissions`, `pycuda`, `nvjitlink`, `nvml`, `nvrtc`, `compute mode`, `persistence`.
        problem: "" if there is none.
        mend: the command that mends it, "" where there is nothing to do.
        needed: whether no GPU run is possible without it.
    """

    piece: str
    problem: str = ""
    mend: str = ""
    needed: bool = True


def prerequisites() -> tuple[Prerequisite, ...]:
    """Every piece, in the order in which they must be mended."""
    return (
        _driver(),
        _permissions(),
        _package("pycuda", "pycuda", _COMPILE),
        _package("nvjitlink", "nvidia-nvjitlink", _INSTALL, needed=False),
        _package("nvml", "nvidia-ml-py", _INSTALL, needed=False),
        _package("nvrtc", "nvidia-cuda-nvrtc", _INSTALL, needed=False),
        *_card_modes(),
    )


def usable_gpus() -> int:
    """Return the number of GPUs that a run could use: 0 where the driver or pycuda is missing."""
    if importlib.util.find_spec("pycuda") is None:
        return 0
    cards = _managed()
    if cards is not None:
        return len(cards)
    status, count = _cuda()
    return count if status == 0 else 0


def lack() -> str:
    """Return the reason why no GPU can be used here, and the command that fixes it."""
    problem = driver_lack()
    if problem:
        return f"{problem}; `gpuregress doctor` shows more"
    if importlib.util.find_spec("pycuda") is None:
        return f"pycuda is not installed: {_INSTALL}; `gpuregress doctor` shows more"
    return "`gpuregress doctor` shows more"


def driver_lack() -> str:
    """Return the reason why CUDA cannot start here, and the command that fixes it; "" where it can."""
    problems = [prerequisite for prerequisite in (_driver(), _permissions()) if prerequisite.problem]
    return f"{problems[0].problem}: {problems[0].mend}" if problems else ""


def architectures() -> dict[str, str]:
    """Each GPU's own architecture: `{"cuda:0": "sm_90"}`; empty where there is none."""
    cards = _managed()
    if cards is not None:
        return {f"cuda:{index}": arch for index, arch in enumerate(cards)}
    status, count = _cuda()
    if status != 0:
        return {}
    library, by_name = _library(), {}
    for index in range(count):
        device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        calls = (
            library.cuDeviceGet(ctypes.byref(device), index),
            library.cuDeviceGetAttribute(ctypes.byref(major), _CAPABILITY_MAJOR, device),
            library.cuDeviceGetAttribute(ctypes.byref(minor), _CAPABILITY_MINOR, device),
        )
        if not any(calls):
            by_name[f"cuda:{index}"] = f"sm_{major.value}{minor.value}"
    return by_name


def explain_import(error: BaseException) -> str:
    """Return the reason why pycuda cannot be imported, and the fix."""
    if importlib.util.find_spec("pycuda") is None:
        return f"--device cuda needs pycuda, which is not installed: {_COMPILE}"
    if _library() is None or "libcuda.so" in str(error):
        return f"there is no NVIDIA driver on this machine (libcuda.so.1 is not found): {_DRIVER_MEND}"
    return (
        f"pycuda cannot be loaded ({str(error).splitlines()[0]}): pip install --force-reinstall --no-cache-dir pycuda"
    )


def explain_init(text: str) -> str:
    """Return the reason why CUDA does not start, from the driver's message, and the fix."""
    return driver_lack() or f"CUDA does not start: {text}; `nvidia-smi` says more"


def _driver() -> Prerequisite:
    status, count = _cuda()
    if status is None:
        return Prerequisite(
            "driver", "there is no NVIDIA driver on this machine (libcuda.so.1 is not found)", _DRIVER_MEND
        )
    if status == _STUB_LIBRARY:
        return Prerequisite(
            "driver",
            "libcuda.so.1 is the toolkit's stub, not a driver",
            "take CUDA's stubs folder out of LD_LIBRARY_PATH",
        )
    if status == _DRIVER_MISMATCH:
        return Prerequisite("driver", "the driver's library and its kernel module differ in version", "sudo reboot")
    if status == _NO_DEVICE or (status == 0 and count == 0):
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
        if hidden is not None:
            return Prerequisite("gpu", f"CUDA_VISIBLE_DEVICES={hidden!r} shows no GPU", "unset CUDA_VISIBLE_DEVICES")
        return Prerequisite(
            "gpu", "the driver finds no NVIDIA GPU", "nvidia-smi; in a container: docker run --gpus all …"
        )
    if status != 0:
        return Prerequisite("driver", f"the driver does not start (CUDA error {status})", "nvidia-smi")
    return Prerequisite("driver")


def _permissions() -> Prerequisite:
    nodes = [Path("/dev/nvidiactl"), *sorted(Path("/dev").glob("nvidia[0-9]*"))]
    closed = [str(node) for node in nodes if node.exists() and not os.access(node, os.R_OK | os.W_OK)]
    if closed:
        return Prerequisite(
            "permissions", f"no permission for {', '.join(closed)}", "sudo usermod -aG video,render $USER, log in again"
        )
    return Prerequisite("permissions")


def _package(piece: str, distribution: str, mend: str, *, needed: bool = True) -> Prerequisite:
    if not usermodules.installed_version(distribution):
        return Prerequisite(piece, f"{distribution} is not installed", mend, needed)
    return Prerequisite(piece, needed=needed)


def _card_modes() -> tuple[Prerequisite, ...]:
    problems = []
    for index, card in enumerate(nvml.cards()):
        if card.get("compute_mode") == "prohibited":
            mend = f"sudo nvidia-smi -i {index} -c DEFAULT"
            problems.append(Prerequisite("compute mode", f"GPU {index} is in compute mode Prohibited", mend))
        if card.get("persistence") == "off":
            mend = f"sudo nvidia-smi -i {index} -pm 1"
            problems.append(
                Prerequisite(
                    "persistence",
                    f"GPU {index} is initialised for each run (a second or more)",
                    mend,
                    needed=False,
                )
            )
    return tuple(problems)


@lru_cache(maxsize=1)
def _managed() -> tuple[str, ...] | None:
    """The architectures of the GPUs that CUDA will show, without starting CUDA, which takes 0.1 s in each process.

    None where only CUDA itself can tell: it is not there or a stub, counts in an order of its own, a GPU is divided
    (MIG) or not permitted, or CUDA_VISIBLE_DEVICES names GPUs by other than numbers.
    """
    library, order = _library(), os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    if library is None or order != "PCI_BUS_ID" or _permissions().problem:
        return None
    if library.cuDriverGetVersion(ctypes.byref(ctypes.c_int())) != 0:
        return None
    return _visible(nvml.architectures(), os.environ.get("CUDA_VISIBLE_DEVICES"))


def _visible(cards: tuple[str, ...], wanted: str | None) -> tuple[str, ...] | None:
    """Those of the GPUs that CUDA_VISIBLE_DEVICES leaves; None where it is not a plain list of them."""
    if not cards or wanted is None:
        return cards or None
    numbers = [entry.strip() for entry in wanted.split(",")]
    if not all(entry.isdecimal() and int(entry) < len(cards) for entry in numbers) or len(set(numbers)) < len(numbers):
        return None
    return tuple(cards[int(entry)] for entry in numbers)


@lru_cache(maxsize=1)
def _library() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


@lru_cache(maxsize=1)
def _cuda() -> tuple[int | None, int]:
    """The status of cuInit (None: no library) and the number of GPUs it shows."""
    # As nvidia-smi counts: the same number means the same GPU here, in the workers and there.
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    library = _library()
    if library is None:
        return None, 0
    status = int(library.cuInit(0))
    count = ctypes.c_int(0)
    if status == 0:
        status = int(library.cuDeviceGetCount(ctypes.byref(count)))
    return status, count.value

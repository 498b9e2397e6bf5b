"""Description of a card from its driver, without NVIDIA's slower management library."""

from __future__ import annotations

import ctypes
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from gpuregress.execution.cuda import driver, nvml
from gpuregress.foundation.errors import DeviceError
from gpuregress.foundation.records import CardFacts, DeviceInfo
from gpuregress.gpu import limits

_KERNEL_MODULE = Path("/proc/driver/nvidia/version")
_RELEASE = re.compile(r"\bNVRM version:.*?\s(\d{3,}\.\d+(?:\.\d+)?)\s")


def find(api: Any, index: int) -> Any:
    """The device as pycuda has it.

    Args:
        api: `pycuda.driver`, initialised.
        index: as CUDA counts.

    Raises:
        DeviceError: no such GPU.
    """
    count = int(api.Device.count())
    if index >= count:
        there = f"cuda:0 to cuda:{count - 1}" if count > 1 else ("cuda:0" if count else "no GPU")
        raise DeviceError(f"there is no cuda:{index}; this machine has {there}")
    return api.Device(index)


def describe(api: Any, card: Any, index: int) -> DeviceInfo:
    """Name, architecture, limits, versions, UUID and PCI address.

    Args:
        api: `pycuda.driver`, initialised.
        card: pycuda's device.
        index: as CUDA counts.
    """
    values: dict[str, int] = {}
    for key, name in limits.NAMES.items():
        attribute = getattr(api.device_attribute, name, None)
        with suppress(*driver.failures()):  # an older driver does not know them all
            if attribute is not None:
                values[key] = int(card.get_attribute(attribute))
    major, minor = card.compute_capability()
    version = api.get_driver_version()
    bus = str(card.pci_bus_id())
    uuid, release = _uuid(index), _release()
    if not (uuid and release):
        facts = next(iter(nvml.cards(bus)), {})
        uuid, release = uuid or facts.get("uuid", ""), release or facts.get("driver", "")
    return DeviceInfo(
        name=f"cuda:{index}",
        model=str(card.name()),
        arch=f"sm_{major}{minor}",
        driver=f"{f'driver {release}, ' if release else ''}CUDA {version // 1000}.{version % 1000 // 10}",
        memory=int(card.total_memory()),
        limits=values,
        card=CardFacts(bus, uuid),
    )


def _uuid(index: int) -> str:
    """As nvidia-smi writes it, `GPU-6f0c…`; "" where the driver does not tell; a part of a card (MIG) has its own."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return ""
    card, raw = ctypes.c_int(), (ctypes.c_ubyte * 16)()
    if not hasattr(library, "cuDeviceGetUuid_v2") or library.cuDeviceGet(ctypes.byref(card), index) != 0:
        return ""
    if library.cuDeviceGetUuid_v2(ctypes.byref(raw), card) != 0:
        return ""
    return uuid_text(bytes(raw))


def uuid_text(raw: bytes) -> str:
    """16 bytes as `GPU-` and five groups of hexadecimal digits."""
    digits = raw.hex()
    return "GPU-" + "-".join(digits[start:end] for start, end in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))


def _release(file: Path = _KERNEL_MODULE) -> str:
    """The driver's own version, `580.95.05`; "" where its kernel module does not tell."""
    with suppress(OSError):
        match = _RELEASE.search(file.read_text(encoding="utf-8", errors="replace"))
        return match[1] if match else ""
    return ""

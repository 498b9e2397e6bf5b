"""The boundary to pycuda: the only file that imports it.

pycuda ships no type information, so everything that crosses here is `Any`; `device.py` gives the results types.
"""

from __future__ import annotations

import ctypes
import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpuregress.execution.cuda import nvml, prerequisites
from gpuregress.foundation.errors import DeviceError
from gpuregress.foundation.records import CardFacts, DeviceInfo
from gpuregress.gpu import limits

BUSY_S = 2.0
"""How long the worker of an earlier run may still be at giving its context back, seconds."""


@lru_cache(maxsize=1)
def api() -> Any:
    """`pycuda.driver`, initialised.

    Raises:
        DeviceError: pycuda, the driver or a GPU is missing; the message names it, and the fix.
    """
    try:
        import pycuda.driver as pycuda_driver  # noqa: PLC0415 - an extra; it loads the driver's library

        pycuda_driver.init()
    except (ImportError, OSError) as error:
        raise DeviceError(prerequisites.explain_import(error)) from error
    except Exception as error:
        # pycuda.driver.Error cannot be named before the import has worked.
        raise DeviceError(prerequisites.explain_init(str(error))) from error
    return pycuda_driver


def patiently(make: Callable[[], Any], seconds: float = BUSY_S) -> Any:
    """Make a context; where the GPU takes one process only (compute mode), one that is just leaving is waited for.

    Args:
        make: makes it.
        seconds: how long a busy GPU is asked again.
    """
    late = time.monotonic() + seconds
    while True:
        try:
            return make()
        except failures() as error:
            if "busy or unavailable" not in str(error) or time.monotonic() >= late:
                raise
            time.sleep(0.02)


def failures() -> tuple[type[BaseException], ...]:
    """Return the exception types that pycuda raises for a call that CUDA refused."""
    return (api().Error, MemoryError)


def keep_forever(things: Iterable[Any]) -> None:
    """Make objects immortal: after a sticky error their destructors would only print a page of warnings."""
    for thing in things:
        if thing is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


_KERNEL_MODULE = Path("/proc/driver/nvidia/version")
_RELEASE = re.compile(r"\bNVRM version:.*?\s(\d{3,}\.\d+(?:\.\d+)?)\s")


def find_card(api: Any, index: int) -> Any:
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


def describe_card(api: Any, card: Any, index: int) -> DeviceInfo:
    """Name, architecture, limits, versions, UUID and PCI address.

    Args:
        api: `pycuda.driver`, initialised.
        card: pycuda's device.
        index: as CUDA counts.
    """
    values: dict[str, int] = {}
    for key, name in limits.NAMES.items():
        attribute = getattr(api.device_attribute, name, None)
        with suppress(*failures()):  # an older driver does not know them all
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
    """As nvidia-smi writes it, `GPU-6f0c…`; "" where the driver does not tell; a part of a GPU (MIG) has its own."""
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

"""NVIDIA's management library (NVML) through ctypes: clocks, temperature and modes of the cards.

It takes some 10 ms where nvidia-smi takes 100. Names and numbers from nvml.h. Nothing here changes a card's state.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection
from typing import Any

_TEMPERATURE_GPU = 0
_CLOCK_SM, _CLOCK_MEMORY = 1, 2
_COMPUTE_MODES = ("default", "exclusive thread", "prohibited", "exclusive process")
_REASONS = {
    0x1: "idle",
    0x2: "clocks set by the user",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
    0x100: "display clocks",
}


def cards(bus_id: str = "", numbers: Collection[int] | None = None) -> tuple[dict[str, str], ...]:
    """Each card's `name`, `uuid`, `temperature`, clocks, `throttle` reasons, `compute_mode`, `persistence`, `driver`.

    Args:
        bus_id: only the card at this PCI address (`0000:1b:00.0`); all of them if "".
        numbers: ask only these cards, counted in PCI order, as each takes time; the others have empty facts.

    Returns:
        One dict a card, with the keys that the card answers; empty where the library is not there.
    """
    library = _opened()
    if library is None:
        return ()
    try:
        handles = _one(library, bus_id) if bus_id else _all(library)
        driver = _text(library, "nvmlSystemGetDriverVersion")
        return tuple(
            _facts(library, handle, driver) if numbers is None or number in numbers else {}
            for number, handle in enumerate(handles)
        )
    finally:
        library.nvmlShutdown()


def architectures() -> tuple[str, ...]:
    """Each card's `sm_90`, in PCI order; empty where one of them does not answer or is divided (MIG)."""
    library = _opened()
    if library is None:
        return ()
    # It stays open: opening it anew takes longer than all questions.
    count = ctypes.c_uint(0)
    if library.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
        return ()
    names = tuple(_architecture(library, handle) for handle in _all(library))
    return names if len(names) == count.value and all(names) else ()


def _opened() -> Any:
    """The library, initialised; None where it is not there."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    return library if library.nvmlInit_v2() == 0 else None


def _architecture(library: Any, handle: ctypes.c_void_p) -> str:
    """The architecture of one card; "" where the card does not answer or is divided."""
    major, minor, divided, pending = ctypes.c_int(), ctypes.c_int(), ctypes.c_uint(0), ctypes.c_uint(0)
    if library.nvmlDeviceGetCudaComputeCapability(handle, ctypes.byref(major), ctypes.byref(minor)) != 0:
        return ""
    # A card that cannot be divided refuses to answer.
    if library.nvmlDeviceGetMigMode(handle, ctypes.byref(divided), ctypes.byref(pending)) == 0 and divided.value:
        return ""
    return f"sm_{major.value}{minor.value}"


def throttle_reasons(mask: int) -> str:
    """The reasons for lower clocks, from NVML's bits, as words; "none" for 0."""
    known = [text for bit, text in _REASONS.items() if mask & bit]
    rest = mask & ~sum(_REASONS)
    return ", ".join([*known, *([f"0x{rest:x}"] if rest else [])]) or "none"


def _facts(library: Any, handle: ctypes.c_void_p, driver: str) -> dict[str, str]:
    temperature = _number(library, "nvmlDeviceGetTemperature", handle, _TEMPERATURE_GPU)
    sm_clock = _number(library, "nvmlDeviceGetClockInfo", handle, _CLOCK_SM)
    memory_clock = _number(library, "nvmlDeviceGetClockInfo", handle, _CLOCK_MEMORY)
    reasons = _number(library, "nvmlDeviceGetCurrentClocksThrottleReasons", handle, kind=ctypes.c_ulonglong)
    mode = _number(library, "nvmlDeviceGetComputeMode", handle)
    persistence = _number(library, "nvmlDeviceGetPersistenceMode", handle)
    facts = {
        "name": _text(library, "nvmlDeviceGetName", handle),
        "uuid": _text(library, "nvmlDeviceGetUUID", handle),
        "temperature": "" if temperature is None else f"{temperature} C",
        "sm_clock": "" if sm_clock is None else f"{sm_clock} MHz",
        "memory_clock": "" if memory_clock is None else f"{memory_clock} MHz",
        "throttle": "" if reasons is None else throttle_reasons(reasons),
        "compute_mode": "" if mode is None or mode >= len(_COMPUTE_MODES) else _COMPUTE_MODES[mode],
        "persistence": "" if persistence is None else ("on" if persistence else "off"),
        "driver": driver,
    }
    return {name: value for name, value in facts.items() if value}


def _one(library: Any, bus_id: str) -> list[ctypes.c_void_p]:
    handle = ctypes.c_void_p()
    exists = library.nvmlDeviceGetHandleByPciBusId_v2(bus_id.encode(), ctypes.byref(handle)) == 0
    return [handle] if exists else []


def _all(library: Any) -> list[ctypes.c_void_p]:
    count = ctypes.c_uint(0)
    if library.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
        return []
    handles = []
    for index in range(count.value):
        handle = ctypes.c_void_p()
        if library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) == 0:
            handles.append(handle)
    return handles


def _number(library: Any, name: str, handle: ctypes.c_void_p, *arguments: int, kind: Any = ctypes.c_uint) -> int | None:
    value = kind(0)
    if getattr(library, name)(handle, *arguments, ctypes.byref(value)) != 0:
        return None
    return int(value.value)


def _text(library: Any, name: str, *arguments: ctypes.c_void_p) -> str:
    buffer = ctypes.create_string_buffer(96)
    if getattr(library, name)(*arguments, buffer, ctypes.c_uint(len(buffer))) != 0:
        return ""
    return buffer.value.decode(errors="replace")

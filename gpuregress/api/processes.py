"""Processes of direct launches, one for each device that is used, kept until the interpreter ends."""

from __future__ import annotations

import atexit
import threading

from gpuregress.execution.workers.direct_process import LaunchProcess
from gpuregress.session import device_slots
from gpuregress.session.device_slots import DeviceSelection

_LOCK = threading.Lock()
_PROCESSES: dict[str, LaunchProcess] = {}


def device(name: str) -> DeviceSelection:
    """Select the device with a name.

    Args:
        name: `cpu`, `cuda`, `cuda:N` or `auto`.

    Raises:
        UsageError: there is no such name.
        DeviceError: there is no such device.
    """
    return device_slots.select(name, 1)


def process_of(selected: DeviceSelection) -> LaunchProcess:
    """Return the process of a device; nothing is started before its first launch."""
    slot = selected.slots[0]
    with _LOCK:
        if not _PROCESSES:
            atexit.register(close)
        return _PROCESSES.setdefault(slot.label, LaunchProcess(slot))


def close() -> None:
    """End all processes; the next launch starts another one."""
    with _LOCK:
        for process in _PROCESSES.values():
            process.close()

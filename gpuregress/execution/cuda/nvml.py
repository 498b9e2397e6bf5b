"""Clocks, temperature and modes of the GPUs from NVIDIA's management library, NVML.

It is asked through the package nvidia-ml-py, and takes some 10 ms where nvidia-smi takes 100. Nothing here changes a
GPU's state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

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
    """Each GPU's `name`, `uuid`, `temperature`, clocks, `throttle` reasons, `compute_mode`, `persistence`, `driver`.

    Args:
        bus_id: only the GPU at this PCI address (`0000:1b:00.0`); all of them if "".
        numbers: ask only these GPUs, counted in PCI order, as each takes time; the others have empty facts.

    Returns:
        One dict a GPU, with the keys that the GPU answers; empty without the package or the library.
    """
    library = _opened()
    if library is None:
        return ()
    try:
        handles = _handles(library)
        if bus_id:
            card = _answer(library, library.nvmlDeviceGetHandleByPciBusId, bus_id)
            handles = [] if card is None else [card]
        driver = _answer(library, library.nvmlSystemGetDriverVersion) or ""
        facts: list[dict[str, str]] = []
        for number, handle in enumerate(handles):
            is_asked = numbers is None or number in numbers
            facts.append(_facts(library, handle, driver) if is_asked else {})
        return tuple(facts)
    finally:
        library.nvmlShutdown()


def architectures() -> tuple[str, ...]:
    """Each GPU's `sm_90`, in PCI order; empty where one of them does not answer or is divided (MIG)."""
    library = _opened()
    if library is None:
        return ()
    # It stays open: opening it anew takes longer than all questions.
    names = tuple(_architecture(library, handle) for handle in _handles(library))
    if len(names) != _answer(library, library.nvmlDeviceGetCount) or not all(names):
        return ()
    return names


def throttle_reasons(mask: int) -> str:
    """The reasons for lower clocks, from NVML's bits, as words; "none" for 0."""
    words = [text for bit, text in _REASONS.items() if mask & bit]
    unknown = mask & ~sum(_REASONS)
    if unknown:
        words.append(f"0x{unknown:x}")
    return ", ".join(words) or "none"


def _opened() -> Any:
    """The package with the library initialised; None where one of them is not there."""
    try:
        import pynvml  # noqa: PLC0415 - of the extra `cuda`; takes 30 ms
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


def _answer(library: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of the library returns; None where the GPU or an older driver does not answer."""
    try:
        return function(*arguments)
    except library.NVMLError:
        return None


def _handles(library: Any) -> list[Any]:
    count = _answer(library, library.nvmlDeviceGetCount) or 0
    handles = [_answer(library, library.nvmlDeviceGetHandleByIndex, index) for index in range(count)]
    return [handle for handle in handles if handle is not None]


def _architecture(library: Any, handle: Any) -> str:
    """The architecture of one GPU; "" where the GPU does not answer or is divided."""
    capability = _answer(library, library.nvmlDeviceGetCudaComputeCapability, handle)
    mode = _answer(library, library.nvmlDeviceGetMigMode, handle)  # None of a GPU that cannot be divided
    if capability is None or (mode is not None and mode[0]):
        return ""
    return "sm_{}{}".format(*capability)


def _facts(library: Any, handle: Any, driver: str) -> dict[str, str]:
    temperature = _answer(library, library.nvmlDeviceGetTemperature, handle, library.NVML_TEMPERATURE_GPU)
    sm_clock = _answer(library, library.nvmlDeviceGetClockInfo, handle, library.NVML_CLOCK_SM)
    memory_clock = _answer(library, library.nvmlDeviceGetClockInfo, handle, library.NVML_CLOCK_MEM)
    reasons = _answer(library, library.nvmlDeviceGetCurrentClocksThrottleReasons, handle)
    mode = _answer(library, library.nvmlDeviceGetComputeMode, handle)
    persistence = _answer(library, library.nvmlDeviceGetPersistenceMode, handle)
    facts = {
        "name": _answer(library, library.nvmlDeviceGetName, handle),
        "uuid": _answer(library, library.nvmlDeviceGetUUID, handle),
    }
    if temperature is not None:
        facts["temperature"] = f"{temperature} C"
    if sm_clock is not None:
        facts["sm_clock"] = f"{sm_clock} MHz"
    if memory_clock is not None:
        facts["memory_clock"] = f"{memory_clock} MHz"
    if reasons is not None:
        facts["throttle"] = throttle_reasons(reasons)
    if mode is not None and mode < len(_COMPUTE_MODES):
        facts["compute_mode"] = _COMPUTE_MODES[mode]
    if persistence is not None:
        facts["persistence"] = "on" if persistence else "off"
    facts["driver"] = driver
    return {name: value for name, value in facts.items() if value}

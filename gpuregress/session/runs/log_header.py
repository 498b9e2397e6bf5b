"""Header of a run's launch log: device, driver, compiler, host, gpuregress and every seed."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence

from gpuregress import __version__, toolchain
from gpuregress.devices.cuda import nvml
from gpuregress.records import Case, Program
from gpuregress.session.device_slots import DeviceSelection
from gpuregress.workers.worker_process import DeviceSlot

_CARD_FACTS = ("name", "uuid", "driver", "temperature", "sm_clock", "memory_clock", "throttle")


def facts(cases: Sequence[Case], devices: DeviceSelection, programs: Iterable[Program]) -> dict[str, str]:
    """Each fact's name and text, in order.

    Args:
        cases: those that run.
        devices: where.
        programs: of their sources.
    """
    compilers = dict.fromkeys(program.compiler for program in programs)
    header = {
        "gpuregress": __version__,
        "host": f"{platform.node()}, {platform.platform()}, Python {platform.python_version()}",
        "device": devices.name,
        "compiler": ", ".join(compilers) or toolchain.compiler_version(),
    }
    if devices.is_remote:
        header["cluster"] = devices.why
    elif devices.kind == "cuda":
        header |= _cards(devices.slots)
    return header | _seeds(cases)


def _seeds(cases: Sequence[Case]) -> dict[str, str]:
    """Every seed: `seed of JOB` and `seed of JOB.BUFFER`, by case where the cases of a job have different ones."""
    seeds: dict[str, set[int]] = {}
    for case in cases:
        seeds.setdefault(case.job, set()).add(case.seed)
    lines = {}
    for case in cases:
        name = case.job if len(seeds[case.job]) == 1 else case.name
        lines[f"seed of {name}"] = str(case.seed)
        for buffer in case.buffers.values():
            if buffer.fill is not None:
                lines[f"seed of {name}.{buffer.name}"] = str(buffer.fill.seed)
        for seeded in case.seeds:
            for filled, fill in seeded.fills.items():
                lines[f"seed of {name}.{filled} under {seeded.seed}"] = str(fill.seed)
    return lines


def _cards(slots: Sequence[DeviceSlot]) -> dict[str, str]:
    """What NVIDIA's management library says of each card that is used: `NVIDIA H200, GPU-…, driver 580.95, 34 C …`."""
    cards = nvml.cards()
    facts_of = {}
    for slot in slots:
        wanted = slot.environment.get("CUDA_VISIBLE_DEVICES", "")
        card = next((card for at, card in enumerate(cards) if _is(card.get("uuid", ""), at, wanted)), None)
        if card is not None:
            facts_of[slot.label] = ", ".join(_text(key, card[key]) for key in _CARD_FACTS if key in card)
    return facts_of


def _is(uuid: str, at: int, wanted: str) -> bool:
    """Whether CUDA_VISIBLE_DEVICES' entry means this card: its number in PCI order, or the beginning of its UUID."""
    return wanted == str(at) if wanted.isdigit() else bool(wanted) and uuid.startswith(wanted)


def _text(key: str, value: str) -> str:
    words = {"driver": "driver", "sm_clock": "SM", "memory_clock": "memory", "throttle": "clocks held back by"}
    if key == "throttle" and value == "none":
        return "clocks not held back"
    return f"{words[key]} {value}" if key in words else value

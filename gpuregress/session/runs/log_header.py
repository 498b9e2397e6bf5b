"""Header of a run's launch log: device, driver, compiler, host, gpuregress and every seed."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence

from gpuregress import __version__, toolchain
from gpuregress.foundation.records import Case, Program
from gpuregress.session.device_slots import DeviceSelection

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
        "host": f"{platform.node()}, {_system()}, Python {platform.python_version()}",
        "device": devices.name,
        "compiler": ", ".join(compilers) or toolchain.compiler_version(),
    }
    if devices.is_remote:
        header["cluster"] = devices.why
    elif devices.kind == "cuda":
        header |= _cards(devices)
    return header | _seeds(cases)


def _system() -> str:
    """The operating system, as `platform.platform()` names it, which starts a process to ask for the processor."""
    if platform.system() != "Linux":
        return platform.platform()
    libc = "".join(platform.libc_ver())
    return "-".join(("Linux", platform.release(), platform.machine(), *(("with", libc) if libc else ())))


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


def _cards(devices: DeviceSelection) -> dict[str, str]:
    """What is known of each card that is used: `NVIDIA H200, GPU-…, driver 580.95, 34 C …`."""
    return {
        label: ", ".join(_text(key, card[key]) for key in _CARD_FACTS if key in card)
        for label, card in devices.cards.items()
    }


def _text(key: str, value: str) -> str:
    words = {"driver": "driver", "sm_clock": "SM", "memory_clock": "memory", "throttle": "clocks held back by"}
    if key == "throttle" and value == "none":
        return "clocks not held back"
    return f"{words[key]} {value}" if key in words else value

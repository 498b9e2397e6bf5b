"""From `--device` and `--jobs` to the places where workers run."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuregress.devices import registry
from gpuregress.devices.cpu.parallel import cores
from gpuregress.devices.cuda import host
from gpuregress.errors import DeviceError, UsageError
from gpuregress.workers.process import DeviceSlot

_WANTED = re.compile(r"auto|cpu|cuda(?::(\d+))?")


@dataclass(frozen=True, slots=True)
class DeviceSelection:
    """Where a run takes place.

    Attributes:
        kind: `cpu` or `cuda`, as a job's `devices` names it.
        name: for people: `cpu`, `cuda:0`, `cuda:0, cuda:1`.
        why: how `auto` came to it, "" where the user named it.
        slots: a place for each worker.
        arch: `sm_90`, the GPUs' own; "" for the cpu device, which has none.
    """

    kind: str
    name: str
    why: str
    slots: tuple[DeviceSlot, ...]
    arch: str = ""


def likely(wanted: str) -> DeviceSlot | None:
    """The first slot on a GPU that `choose` will most likely come to, found without asking the driver.

    Args:
        wanted: as for `choose`.

    Returns:
        None for the CPU device, and where no GPU shows.
    """
    match = _WANTED.fullmatch(wanted)
    if match is None or wanted == "cpu" or importlib.util.find_spec("pycuda") is None:
        return None
    slot = _gpu_slot(f"cuda:{match.group(1) or 0}", os.environ)
    is_there = Path(f"/dev/nvidia{slot.environment['CUDA_VISIBLE_DEVICES']}").exists()
    return slot if is_there else None


def choose(wanted: str, jobs: int | None = None) -> DeviceSelection:
    """Works out where to run.

    Args:
        wanted: `auto`, `cpu`, `cuda` (every GPU of this host) or `cuda:N`.
        jobs: how many workers; one a core or one a GPU where not given.

    Raises:
        UsageError: `wanted` is none of these.
        DeviceError: there is no such device.
    """
    match = _WANTED.fullmatch(wanted)
    if match is None:
        raise UsageError(f"no device is called {wanted!r}: say auto, cpu, cuda (all GPUs) or cuda:N")
    if wanted == "cpu":
        return _cpu("", jobs)
    gpus = [name for name in registry.available() if name.startswith("cuda:")]
    if wanted == "auto":
        return _cuda(gpus, f"{len(gpus)} GPU{'s' if len(gpus) > 1 else ''} found", jobs) if gpus else _cpu("", jobs)
    if match.group(1) is not None:
        if wanted not in gpus:
            there = f"there is {', '.join(gpus)}" if gpus else host.lack()
            raise DeviceError(f"no such device: {wanted}; {there}")
        gpus = [wanted]
    if not gpus:
        raise DeviceError(f"no such device: cuda; {host.lack()}")
    return _cuda(gpus, "", jobs)


def ordered(choice: DeviceSelection, block_order: str) -> DeviceSelection:
    """The same slots, the CPU's with another order of the blocks: `reversed`, `random:SEED`, "" for the usual one."""
    if not block_order or choice.kind != "cpu":
        return choice
    from gpuregress.devices.cpu.parallel.block_order import VARIABLE  # noqa: PLC0415 - numpy, which a start does without

    told = tuple(
        dataclasses.replace(slot, environment={**slot.environment, VARIABLE: block_order}) for slot in choice.slots
    )
    return dataclasses.replace(choice, slots=told)


def _cpu(why: str, jobs: int | None) -> DeviceSelection:
    workers = jobs or cores.available()
    return DeviceSelection("cpu", "cpu", why, (DeviceSlot("cpu", "cpu", cores.share(workers)),) * workers)


def _cuda(gpus: Sequence[str], why: str, jobs: int | None) -> DeviceSelection:
    architectures = host.architectures()
    arch = architectures.get(gpus[0], "")
    alike = [name for name in gpus if architectures.get(name, "") == arch]
    if len(alike) < len(gpus):
        why = f"{why}; " if why else ""
        why += f"{', '.join(name for name in gpus if name not in alike)} is left out: not {arch} as {gpus[0]}"
    gpus, count = alike, jobs or len(alike)
    slots = tuple(_gpu_slot(gpus[number % len(gpus)], os.environ) for number in range(count))
    return DeviceSelection("cuda", ", ".join(dict.fromkeys(slot.label for slot in slots)), why, slots, arch)


def _gpu_slot(name: str, environment: Mapping[str, str]) -> DeviceSlot:
    """A worker that sees one card only, and so calls it cuda:0; the user's own CUDA_VISIBLE_DEVICES is kept to."""
    number = int(name.partition(":")[2])
    visible = [entry.strip() for entry in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if entry.strip()]
    card = visible[number] if number < len(visible) else str(number)
    order = environment.get("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    return DeviceSlot("cuda:0", name, {"CUDA_VISIBLE_DEVICES": card, "CUDA_DEVICE_ORDER": order})

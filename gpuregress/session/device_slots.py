"""Selection of the device slots on which workers run, from `--device` and `--jobs`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import field

from gpuregress.execution import device_registry as registry
from gpuregress.execution.cuda import nvml, prerequisites
from gpuregress.execution.workers import worker_spawn
from gpuregress.execution.workers.worker_process import DeviceSlot
from gpuregress.foundation.errors import DeviceError, UsageError
from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.parallel import cores
from gpuregress.virtual_gpu.parallel.block_order import VARIABLE

if TYPE_CHECKING:
    from gpuregress.execution.cluster.members import Devices
    from gpuregress.foundation.records import Case  # the start of the first worker does without

_DEVICE = re.compile(r"auto|cpu|cuda(?::(\d+))?")


class DeviceSelection(Record):
    """The devices of a run.

    Attributes:
        kind: `cpu` or `cuda`, as a job's `devices` names it.
        name: for people: `cpu`, `cuda:0`, `cuda:0, cuda:1`.
        why: how `auto` came to it, "" where the user named it.
        slots: one for each worker.
        arch: `sm_90`, the GPUs' own; "" for the cpu device, which has none.
        is_remote: whether they belong to the hosts of a cluster.
        cards: slot's label → what NVIDIA's management library says of its GPU.
    """

    kind: str
    name: str
    why: str
    slots: tuple[DeviceSlot, ...]
    arch: str = ""
    is_remote: bool = False
    cards: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def lack(self, case: Case) -> str:
        """Why its job keeps a case from running here; "" where it can run."""
        if self.kind not in case.devices:
            return f"its job runs on {', '.join(case.devices)} only"
        if self.is_remote and case.program is not None:
            return "it runs a whole program, which is not sent to the hosts of a cluster: run it with --cluster none"
        if self.arch and case.source.card not in ("", self.arch):
            return f"its job has `card: {case.source.card}`, and the GPU is {self.arch}"
        return ""

    def slot(self, label: str) -> DeviceSlot:
        """The slot of this name; hosts that joined the run later have one, too."""
        for slot in self.slots:
            if slot.label == label:
                return slot
        return DeviceSlot(self.kind, label)


def select(device: str, jobs: int | None = None) -> DeviceSelection:
    """Select the devices of a run. Nothing else decides where one runs; `worker_spawn` only guesses.

    Args:
        device: `auto`, `cpu`, `cuda` (every GPU of this host) or `cuda:N`.
        jobs: the number of workers; None: one a core or one a GPU.

    Raises:
        UsageError: `device` is none of these.
        DeviceError: there is no such device, or a package that it needs is missing.
    """
    match = _DEVICE.fullmatch(device)
    if match is None:
        raise UsageError(f"no device is called {device!r}: say auto, cpu, cuda (all GPUs) or cuda:N")
    if device == "cpu":
        return _cpu(jobs)
    gpus = [name for name in registry.available() if name.startswith("cuda:")]
    if device == "auto":
        if not gpus:
            return _cpu(jobs)
        return _cuda(gpus, f"{len(gpus)} GPU{'s' if len(gpus) > 1 else ''} found", jobs)
    if match.group(1) is not None:
        if device not in gpus:
            there = f"there is {', '.join(gpus)}" if gpus else prerequisites.lack()
            raise DeviceError(f"no such device: {device}; {there}")
        gpus = [device]
    if not gpus:
        raise DeviceError(f"no such device: cuda; {prerequisites.lack()}")
    return _cuda(gpus, "", jobs)


def of_cluster(devices: Devices, labels: Sequence[str]) -> DeviceSelection:
    """Return the devices of a cluster as those of a run.

    Args:
        devices: of the cluster.
        labels: of its slots, `cpu@node1`.
    """
    slots = tuple(DeviceSlot(devices.kind, label) for label in labels)
    return DeviceSelection(devices.kind, devices.kind, devices.why, slots=slots, arch=devices.arch, is_remote=True)


def with_block_order(devices: DeviceSelection, block_order: str) -> DeviceSelection:
    """Set the order of blocks on the CPU's slots: `reversed`, `random:SEED`, "" for the usual one."""
    if not block_order or devices.kind != "cpu":
        return devices

    slots = tuple(replace(slot, environment={**slot.environment, VARIABLE: block_order}) for slot in devices.slots)
    return replace(devices, slots=slots)


def _cpu(jobs: int | None) -> DeviceSelection:
    lack = registry.cpu_lack()
    if lack:
        raise DeviceError(lack)
    workers = jobs or cores.available()
    return DeviceSelection("cpu", "cpu", "", (DeviceSlot("cpu", "cpu", cores.share(workers)),) * workers)


def _cuda(gpus: Sequence[str], why: str, jobs: int | None) -> DeviceSelection:
    architectures = prerequisites.architectures()
    arch = architectures.get(gpus[0], "")
    alike = [name for name in gpus if architectures.get(name, "") == arch]
    if len(alike) < len(gpus):
        others = ", ".join(name for name in gpus if name not in alike)
        left_out = f"{others} is left out: not {arch} as {gpus[0]}"
        why = f"{why}; {left_out}" if why else left_out
    slots = []
    for number in range(jobs or len(alike)):
        name = alike[number % len(alike)]
        # Each worker sees its own GPU only, as cuda:0; the user's own CUDA_VISIBLE_DEVICES is respected.
        environment = worker_spawn.gpu_environment(int(name.partition(":")[2]))
        slots.append(DeviceSlot("cuda:0", name, environment))
    label = ", ".join(dict.fromkeys(slot.label for slot in slots))
    return DeviceSelection("cuda", label, why, slots=tuple(slots), arch=arch, cards=_cards(slots))


def _cards(slots: Sequence[DeviceSlot]) -> dict[str, dict[str, str]]:
    """What NVIDIA's management library says of each GPU that is used."""
    visible = [slot.environment.get("CUDA_VISIBLE_DEVICES", "") for slot in slots]
    # Each GPU takes some 10 ms to answer, so only those that are used are asked. UUIDs have no numbers.
    numbers = None
    if all(entry.isdecimal() for entry in visible):
        numbers = {int(entry) for entry in visible}
    cards = nvml.cards(numbers=numbers)
    facts_of = {}
    for slot, entry in zip(slots, visible, strict=True):
        for number, card in enumerate(cards):
            if _is_visible(card.get("uuid", ""), number, entry):
                facts_of[slot.label] = card
                break
    return {label: card for label, card in facts_of.items() if card}


def _is_visible(uuid: str, number: int, entry: str) -> bool:
    """Whether an entry of CUDA_VISIBLE_DEVICES means a GPU: its number in PCI order, or the beginning of its UUID."""
    if entry.isdigit():
        return entry == str(number)
    return bool(entry) and uuid.startswith(entry)

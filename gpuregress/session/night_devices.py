"""Devices of a night: which cases run on which device, and one summary of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from msgspec.structs import asdict

from gpuregress.execution import device_registry as registry
from gpuregress.execution.cuda import prerequisites
from gpuregress.foundation.records import (
    Case,
    JobOwner,
    LackingDevice,
    NightChanges,
    NightFailure,
    NightRemark,
    RunSummary,
)
from gpuregress.gpu.records import Record, replace
from gpuregress.report import case_lines
from gpuregress.session import merging

KINDS = ("cuda", "cpu")


class DeviceShare(Record):
    """The cases of a night that run on one device.

    Attributes:
        device: as for `--device`.
        cases: their names; None: all.
    """

    device: str
    cases: frozenset[str] | None = None


class NightDevices(Record):
    """The devices of a night.

    Attributes:
        shares: one for each device, at least one.
        lacking: devices that jobs name and this host lacks.
    """

    shares: tuple[DeviceShare, ...]
    lacking: tuple[LackingDevice, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The devices on which something runs."""
        return tuple(share.device for share in self.shares)


def divide(cases: Sequence[Case], here: Collection[str], known: Collection[str] = ()) -> NightDevices:
    """Divide the cases of a night among the devices that their jobs name.

    A job that names none runs on a GPU if there is one, else on the CPU device. A case that can run on no device of
    this host belongs to the first share, which skips it.

    Args:
        cases: of all jobs.
        here: the kinds of devices of this host.
        known: kinds that the last night lacked, too.
    """
    present = [kind for kind in KINDS if kind in here] or ["cpu"]  # whose run says what it lacks
    shares: dict[str, list[str]] = {kind: [] for kind in present}
    lacking: Counter[str] = Counter()
    nowhere: list[str] = []
    for case in cases:
        usable = [kind for kind in present if kind in case.devices]
        named = case.settings.on or tuple(usable[:1])
        runs_on = [kind for kind in named if kind in usable]
        for kind in runs_on:
            shares[kind].append(case.name)
        if not runs_on:
            nowhere.append(case.name)
        for kind in named or case.devices:
            if kind not in shares:
                lacking[kind] += 1
    used = [kind for kind in present if shares[kind]] or present[:1]
    shares[used[0]] += nowhere
    lacking_devices = []
    for kind, count in lacking.items():
        why = prerequisites.lack() if kind == "cuda" else registry.cpu_lack()
        lacking_devices.append(LackingDevice(kind, count, why, kind not in known))
    return NightDevices(tuple(DeviceShare(kind, frozenset(shares[kind])) for kind in used), tuple(lacking_devices))


def of_this_host() -> frozenset[str]:
    """The kinds of devices that can be opened here."""
    return frozenset(name.partition(":")[0] for name in registry.available())


def combined(summaries: Sequence[RunSummary]) -> RunSummary:
    """Combine the summaries of a night's runs; if there are several, their devices follow the names of cases."""
    first, *others = summaries
    if not others:
        return first
    joined = merging.join([_marked(summary) for summary in summaries])
    elsewhere = [f"the results on {summary.device} are those of run {summary.run}" for summary in others]
    changes = [summary.changes for summary in map(_marked, summaries) if summary.changes is not None]
    return replace(joined, notes=tuple(dict.fromkeys((*joined.notes, *elsewhere))), changes=_changes(changes))


def _marked(summary: RunSummary) -> RunSummary:
    """Append a run's device to the names of its cases."""
    mark = case_lines.mark(summary.device)
    verdicts = tuple(
        replace(reached, case=f"{reached.case}{mark}", job=f"{reached.job}{mark}") for reached in summary.verdicts
    )
    changes = summary.changes
    if changes is not None:
        named: dict[str, Any] = {}
        for field, value in asdict(changes).items():
            if isinstance(value, tuple):
                named[field] = tuple(_named(entry, mark) for entry in value)
        changes = replace(changes, **named)
    unfinished = tuple(f"{name}{mark}" for name in summary.unfinished)
    return replace(summary, verdicts=verdicts, changes=changes, unfinished=unfinished)


def _named(entry: NightFailure | NightRemark | LackingDevice | JobOwner | str, mark: str) -> object:
    if isinstance(entry, str):
        return f"{entry}{mark}"
    if isinstance(entry, JobOwner):
        return replace(entry, job=f"{entry.job}{mark}")
    if isinstance(entry, LackingDevice) or (isinstance(entry, NightFailure) and entry.status == "missing"):
        return entry
    return replace(entry, case=f"{entry.case}{mark}")


def _changes(all_changes: Sequence[NightChanges]) -> NightChanges | None:
    """Combine the changes on all devices."""
    if not all_changes:
        return None
    joined: dict[str, Any] = {}
    for field, value in asdict(all_changes[0]).items():
        if isinstance(value, tuple):
            joined[field] = merging.concatenated(all_changes, field)
    unknown = dict.fromkeys(changes.unknown for changes in all_changes if changes.unknown)
    return replace(all_changes[0], unknown="; ".join(unknown), **joined)

"""Devices of a night: which cases run on which device, and one summary of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from msgspec.structs import asdict

from gpuregress.execution import device_registry as registry
from gpuregress.execution.cuda import prerequisites
from gpuregress.foundation.records import Case, LackingDevice, NightChanges, NightFailure, NightRemark, RunSummary
from gpuregress.gpu.records import Record, replace
from gpuregress.judge import parameter_spaces, verdict
from gpuregress.report import device_marks

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
    present = [kind for kind in KINDS if kind in here]
    shares: dict[str, list[str]] = {kind: [] for kind in present}
    lacking: Counter[str] = Counter()
    nowhere: list[str] = []
    for case in cases:
        named = case.settings.on or tuple(kind for kind in present if kind in case.devices)[:1]
        runs = [kind for kind in named if kind in shares and kind in case.devices]
        for kind in runs:
            shares[kind].append(case.name)
        lacking.update(kind for kind in named or case.devices if kind not in shares)
        if not runs:
            nowhere.append(case.name)
    used = [kind for kind in present if shares[kind]] or present[:1]
    shares[used[0]] += nowhere
    whys = {"cuda": prerequisites.lack() if lacking["cuda"] else ""}
    return NightDevices(
        tuple(DeviceShare(kind, frozenset(shares[kind])) for kind in used),
        tuple(LackingDevice(kind, count, whys.get(kind, ""), kind not in known) for kind, count in lacking.items()),
    )


def of_this_host() -> frozenset[str]:
    """The kinds of devices that can be opened here."""
    return frozenset(name.partition(":")[0] for name in registry.available())


def combined(summaries: Sequence[RunSummary]) -> RunSummary:
    """One summary of a night's runs; where there are several, names of jobs and cases have their device behind them."""
    first, *others = summaries
    if not others:
        return first
    marked = [_marked(summary) for summary in summaries]
    verdicts = tuple(reached for summary in marked for reached in summary.verdicts)
    codes = {summary.exit_code for summary in marked}
    codes -= {5} if len(codes) > 1 else set()  # something was run
    elsewhere = [f"the results on {summary.device} are those of run {summary.run}" for summary in others]
    return replace(
        marked[0],
        device=", ".join(summary.device for summary in marked),
        seconds=sum(summary.seconds for summary in marked),
        verdicts=verdicts,
        notes=tuple(dict.fromkeys((*(note for summary in marked for note in summary.notes), *elsewhere))),
        remarks=tuple(dict.fromkeys(remark for summary in marked for remark in summary.remarks)),
        missing=tuple(gone for summary in marked for gone in summary.missing),
        unfinished=tuple(name for summary in marked for name in summary.unfinished),
        spaces=parameter_spaces.summarize(verdicts),
        state=next((summary.state for summary in marked if summary.state != "finished"), "finished"),
        exit_code=130 if 130 in codes else next(code for code in verdict.EXIT_PRECEDENCE if code in codes),
        is_kept=all(summary.is_kept for summary in marked),
        changes=_changes([summary.changes for summary in marked if summary.changes is not None]),
    )


def _marked(summary: RunSummary) -> RunSummary:
    """A run whose cases have its device behind their names."""
    mark = device_marks.mark(summary.device)
    verdicts = tuple(
        replace(reached, case=f"{reached.case}{mark}", job=f"{reached.job}{mark}") for reached in summary.verdicts
    )
    changes = summary.changes
    if changes is not None:
        fields = asdict(changes)
        named: dict[str, Any] = {
            name: tuple(_named(entry, mark) for entry in value) for name, value in fields.items() if _is_list(value)
        }
        changes = replace(changes, **named)
    unfinished = tuple(f"{name}{mark}" for name in summary.unfinished)
    return replace(summary, verdicts=verdicts, changes=changes, unfinished=unfinished)


def _is_list(value: object) -> bool:
    return isinstance(value, tuple)


def _named(entry: NightFailure | NightRemark | LackingDevice | str, mark: str) -> object:
    if isinstance(entry, str):
        return f"{entry}{mark}"
    if isinstance(entry, LackingDevice) or (isinstance(entry, NightFailure) and entry.status == "missing"):
        return entry
    return replace(entry, case=f"{entry.case}{mark}")


def _changes(all_changes: Sequence[NightChanges]) -> NightChanges | None:
    """The changes of all devices together."""
    if not all_changes:
        return None
    first = all_changes[0]
    fields = [name for name, value in asdict(first).items() if _is_list(value)]
    joined: dict[str, Any] = {
        name: tuple(entry for changes in all_changes for entry in getattr(changes, name)) for name in fields
    }
    unknown = "; ".join(dict.fromkeys(changes.unknown for changes in all_changes if changes.unknown))
    return replace(first, unknown=unknown, **joined)

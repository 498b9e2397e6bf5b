"""Nightly run: one at a time, on every device; an expected case that is missing is a failure."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpuregress.execution.cluster import pool
from gpuregress.foundation import storage
from gpuregress.foundation.document import units
from gpuregress.foundation.errors import GpuregressError, HarnessError, NothingToDo, StorageError
from gpuregress.foundation.records import Case, RunSummary
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import plan
from gpuregress.session import missing_cases, night_devices, session
from gpuregress.session.missing_cases import LastNight
from gpuregress.session.night_devices import DeviceShare, NightDevices
from gpuregress.session.run_request import NOTHING_EXPECTED, ExpectedCases, RunRequest
from gpuregress.session.runs import journal, results
from gpuregress.session.runs.journal import Journal
from gpuregress.store.dumps import run_names
from gpuregress.store.project import Project

GRACE_S = 300.0
"""The time after the deadline in which a night writes its results."""


@contextlib.contextmanager
def watched(until: float | None, deadline: str, stop: Callable[[str], None] | None = None) -> Iterator[None]:
    """Watch the block.

    Args:
        until: the deadline, seconds of time.monotonic; None: no watch.
        deadline: in words.
        stop: for tests; ends the process.
    """
    if until is None:
        yield
        return
    over = threading.Event()
    stuck = threading.get_ident()

    def watch() -> None:
        if not over.wait(max(0.0, until + GRACE_S - time.monotonic())):
            grace = f"{GRACE_S / 60:g} min" if GRACE_S >= 60 else f"{GRACE_S:g} s"
            end = stop or _end_process
            end(f"the night did not end within {grace} after its deadline of {deadline}: {_place(stuck)}")

    threading.Thread(target=watch, daemon=True, name="night watch").start()
    try:
        yield
    finally:
        over.set()


def _place(thread: int) -> str:
    """Where a thread is, in words."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - documented; there is no other way
    if frame is None:
        return "it is gone"
    return f"it hangs in {Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def _end_process(message: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"gpuregress: {message}\n".encode())
    os._exit(HarnessError.exit_code)


LOCK = ".nightly.lock"


class NightTerms(Record):
    """What is asked of a night beside its cases.

    Attributes:
        deadline_s: seconds after which it stops; None: when all is done.
        resume: continue the last night, which was cut short.
        every_device: run on every device that the jobs name, and not on the request's.
        here: the kinds of devices of this host; for tests.
    """

    deadline_s: float | None = None
    resume: bool = False
    every_device: bool = False
    here: Callable[[], frozenset[str]] = night_devices.of_this_host


ANY_TERMS = NightTerms()


def run(project: Project, request: RunRequest, terms: NightTerms = ANY_TERMS) -> RunSummary:
    """Run under the project's lock, and compare the cases with those that are expected.

    A job that is wrong is an `error`, and the others run. Each device has a run of its own.

    Args:
        request: what to run.
        terms: what is asked beside that.

    Returns:
        The runs of all devices together.

    Raises:
        RunLocked: another nightly run holds the lock.
        NothingToDo: no night was cut short, and one should be continued.
        GpuregressError: the errors of `session.run`, except JobErrors.
    """
    until, deadline = None, ""
    if terms.deadline_s is not None:
        until = time.monotonic() + terms.deadline_s
        deadline = units.seconds_text(terms.deadline_s)
    with storage.lock(project.runs / LOCK), watched(until, deadline):
        expected = missing_cases.expected(project) if request.takes_all else NOTHING_EXPECTED
        request = replace(request, kind="nightly", expected=expected, until=until, deadline=deadline)
        before = _unfinished_night(project) if terms.resume else {}
        night = _Night(project, request, terms, before)
        summary = night.run()
        if summary.state != "finished" or not request.takes_all:
            return summary
        return _recorded(project, summary, night, expected)


@dataclass(slots=True)
class _Night:
    """A night: a run on each device, one after the other.

    Attributes:
        request: of the whole night.
        terms: what is asked beside that.
        before: kind of device → its run of the night that is continued.
        summaries: of the runs so far.
        lost: kinds of devices that the last night had, and that this host lacks.
        lacking: kinds of devices that jobs name, and that this host lacks.
    """

    project: Project
    request: RunRequest
    terms: NightTerms
    before: dict[str, Journal]
    summaries: list[RunSummary] = field(default_factory=list)
    lost: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The devices on which something ran."""
        return tuple(dict.fromkeys(one.device.partition(":")[0] for one in self.summaries))

    def run(self) -> RunSummary:
        """Run on each device; ^C and SIGTERM end the night."""
        devices = self._devices()
        for share in devices.shares:
            self.summaries.append(self._run(share, devices))
            if self.summaries[-1].state != "finished":
                break
        return night_devices.combined(self.summaries)

    def _devices(self) -> NightDevices:
        """Divide the cases; where they cannot be planned, the run reports why."""
        if not self.terms.every_device:
            devices = [*self.before, self.request.device]  # the continued night's comes first
            return NightDevices((DeviceShare(devices[0]),))
        request = self.request
        selection = plan.CaseFilter(request.name_glob, request.tags)
        overrides = plan.CaseOverrides(request.repeat, request.timeout)
        try:
            planned = plan.make(self.project, request.selectors, selection, overrides, keep_going=True)
        except GpuregressError:
            return NightDevices((DeviceShare(request.device),))
        last = missing_cases.last_night(self.project)
        divided = self._divided(planned.cases, last.lacking)
        self.lacking = tuple(one.device for one in divided.lacking)
        if request.takes_all:
            self.lost = tuple(kind for kind in self.lacking if kind in last.devices)
        if not planned.cases:
            return NightDevices((DeviceShare(request.device),))
        self.request = replace(request, planned=planned)
        return divided

    def _divided(self, cases: Sequence[Case], known: Sequence[str]) -> NightDevices:
        """Divide the cases among the devices of this host, or of the cluster that runs them."""
        settings = self.project.settings.cluster
        address = settings.scheduler if self.request.cluster is None else self.request.cluster
        if not address:
            return night_devices.divide(cases, self.terms.here(), known)

        divided = night_devices.divide(cases, pool.kinds_of(address, settings.wait), known)
        why = f"no worker of the cluster at {address} has it"
        return replace(divided, lacking=tuple(replace(one, why=why) for one in divided.lacking))

    def _run(self, share: DeviceShare, devices: NightDevices) -> RunSummary:
        is_first = not self.summaries
        request = replace(self.request, device=share.device, only=share.cases, is_first=is_first)
        if is_first:
            whys = {one.device: one.why for one in devices.lacking}
            lost = {kind: _lost(kind, whys.get(kind, "")) for kind in self.lost}
            expected = replace(request.expected, problems={**request.expected.problems, **lost})
            request = replace(request, lacking=devices.lacking, lost=bool(lost), expected=expected)
        else:
            night = self.summaries[0].run
            request = replace(request, expected=NOTHING_EXPECTED, night=night)
        read = self.before.get(share.device.partition(":")[0])
        if read is not None:
            if read.state == "finished":
                return results.summary_of(read)
            request = replace(request, resumes=read.path.parent)
        return session.run(self.project, request.planned or request.selectors, request)


def _lost(kind: str, why: str) -> str:
    if why:
        why = f": {why}"
    return f"{kind}: the last night ran on it, and this host lacks it now{why} (`--device cpu` leaves it out)"


def _unfinished_night(project: Project) -> dict[str, Journal]:
    """Find the runs of the last night, by the kind of their device.

    Raises:
        NothingToDo: it has finished, or there is none.
        StorageError: a journal of it was edited or cut short.
    """
    runs: dict[str, Journal] = {}
    name = ""
    for folder in reversed(run_names.every(project.runs)):
        if not (folder / journal.FILE).is_file():
            continue
        read = journal.read(folder)
        if read.start.kind != "nightly":
            continue
        night = read.start.night or read.start.run
        if name not in ("", night):
            break
        name = night
        runs.setdefault(read.start.device.partition(":")[0], read)
    if not runs:
        raise NothingToDo(f"there is no night in {project.runs} to continue")
    if all(read.state == "finished" for read in runs.values()):
        raise NothingToDo(f"the last night, run {name}, has finished: there is nothing to continue")
    return runs


def _recorded(project: Project, summary: RunSummary, night: _Night, expected: ExpectedCases) -> RunSummary:
    """Record the cases that the next night expects beside the accepted ones, those infeasible now, and the devices."""
    infeasible: set[str] = set()
    feasible: set[str] = set()
    for device_summary in night.summaries:
        for verdict in device_summary.verdicts:
            if verdict.infeasible:
                infeasible.add(verdict.case)
            elif verdict.revision:  # a broken job has none
                feasible.add(verdict.case)
    known = (feasible - infeasible) | set(expected.cases)
    record = LastNight(
        run=night.summaries[0].run,
        cases=tuple(known - expected.accepted),
        infeasible=tuple(known & infeasible),
        others=tuple(one.run for one in night.summaries[1:]),
        devices=(*night.kinds, *night.lost),
        lacking=night.lacking,
    )
    try:
        missing_cases.record_night(project, record)
    except StorageError as error:
        return replace(summary, notes=(*summary.notes, str(error)), exit_code=StorageError.exit_code)
    return summary

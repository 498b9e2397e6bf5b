"""Nightly run: one at a time, on every device; an expected case that is missing is a failure."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from gpuregress.foundation import storage
from gpuregress.foundation.document import units
from gpuregress.foundation.errors import GpuregressError, NothingToDo, StorageError
from gpuregress.foundation.records import Case, RunSummary
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import plan
from gpuregress.session import missing_cases, session
from gpuregress.session.missing_cases import LastNight
from gpuregress.session.nights import devices as night_devices
from gpuregress.session.nights import watch as night_watch
from gpuregress.session.nights.devices import DeviceShare, NightDevices
from gpuregress.session.run_request import NOTHING_EXPECTED, ExpectedCases, Machinery, RunRequest
from gpuregress.session.runs import journal, results, run_folders
from gpuregress.session.runs.journal import Journal
from gpuregress.store.project import Project

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


def run(
    project: Project, request: RunRequest, machinery: Machinery | None = None, terms: NightTerms = ANY_TERMS
) -> RunSummary:
    """Run under the project's lock, and compare the cases with those that are expected.

    A job that is wrong is an `error`, and the others run. Each device has a run of its own.

    Args:
        project: whose.
        request: what to run.
        machinery: for tests.
        terms: what is asked beside that.

    Returns:
        The runs of all devices together.

    Raises:
        RunLocked: another nightly run holds the lock.
        NothingToDo: no night was cut short, and one should be continued.
        GpuregressError: the errors of `session.run`, except JobErrors.
    """
    until = None if terms.deadline_s is None else time.monotonic() + terms.deadline_s
    deadline = "" if terms.deadline_s is None else units.seconds_text(terms.deadline_s)
    with storage.lock(project.runs / LOCK), night_watch.watched(until, deadline):
        expected = missing_cases.expected(project) if request.takes_all else NOTHING_EXPECTED
        request = replace(request, kind="nightly", expected=expected, until=until, deadline=deadline)
        before = _unfinished_night(project) if terms.resume else {}
        night = _Night(project, request, machinery, terms, before)
        summary = night.run()
        if summary.interrupted or not request.takes_all:
            return summary
        return _recorded(project, summary, night, expected)


class _Night:
    """A night: a run on each device, one after the other.

    Args:
        project: whose.
        request: of the whole night.
        machinery: for tests.
        terms: what is asked beside that.
        before: kind of device → its run of the night that is continued.
    """

    def __init__(
        self,
        project: Project,
        request: RunRequest,
        machinery: Machinery | None,
        terms: NightTerms,
        before: dict[str, Journal],
    ) -> None:
        self._project, self._request, self._terms, self._before = project, request, terms, before
        self._machinery = machinery or session.Machinery()
        self.summaries: list[RunSummary] = []
        self.lost: tuple[str, ...] = ()
        self.lacking: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The devices on which something ran."""
        return tuple(dict.fromkeys(one.device.partition(":")[0] for one in self.summaries))

    def run(self) -> RunSummary:
        """Run on each device; ^C and SIGTERM end the night."""
        devices = self._devices()
        for share in devices.shares:
            self.summaries.append(self._run(share, devices))
            if self.summaries[-1].interrupted:
                break
        return night_devices.combined(self.summaries)

    def _devices(self) -> NightDevices:
        """Divide the cases; where they cannot be planned, the run reports why."""
        if not self._terms.every_device:
            device = next(iter(self._before), self._request.device) if self._before else self._request.device
            return NightDevices((DeviceShare(device),))
        planner, request = self._machinery.planner or plan.make, self._request
        selection = plan.CaseFilter(request.name_glob, request.tags)
        overrides = plan.CaseOverrides(request.repeat, request.timeout)
        try:
            planned = planner(self._project, request.selectors, selection, overrides, keep_going=True)
        except GpuregressError:
            return NightDevices((DeviceShare(request.device),))
        last = missing_cases.last_night(self._project)
        divided = self._divided(planned.cases, last.lacking)
        self.lacking = tuple(one.device for one in divided.lacking)
        self.lost = tuple(kind for kind in self.lacking if kind in last.devices) if request.takes_all else ()
        if not planned.cases:
            return NightDevices((DeviceShare(request.device),))
        self._machinery = replace(self._machinery, planner=_Planned(planner, planned))
        return divided

    def _divided(self, cases: Sequence[Case], known: Sequence[str]) -> NightDevices:
        """Divide the cases among the devices of this host, or of the cluster that runs them."""
        settings, address = self._project.settings.cluster, self._request.cluster
        address = settings.scheduler if address is None else address
        if not address:
            return night_devices.divide(cases, self._terms.here(), known)
        from gpuregress.execution.cluster import pool  # noqa: PLC0415 - few nights need it

        divided = night_devices.divide(cases, pool.kinds_of(address, settings.wait), known)
        why = f"no worker of the cluster at {address} has it"
        return replace(divided, lacking=tuple(replace(one, why=why) for one in divided.lacking))

    def _run(self, share: DeviceShare, devices: NightDevices) -> RunSummary:
        is_first = not self.summaries
        request = replace(self._request, device=share.device, only=share.cases, is_first=is_first)
        if is_first:
            whys = {one.device: one.why for one in devices.lacking}
            lost = {kind: _lost(kind, whys.get(kind, "")) for kind in self.lost}
            expected = replace(request.expected, problems={**request.expected.problems, **lost})
            request = replace(request, lacking=devices.lacking, lost=bool(lost), expected=expected)
        else:
            night = self.summaries[0].run
            request = replace(request, expected=NOTHING_EXPECTED, night=night)
        read = self._before.get(share.device.partition(":")[0])
        if read is not None and read.state == "finished":
            return results.summary_of(read)
        if read is not None:
            request = replace(request, resumes=read.path.parent)
        return session.run(self._project, request, machinery=self._machinery)


class _Planned:
    """A planner that has planned the cases of the night already.

    Args:
        planner: plans anything else.
        planned: by the first call.
    """

    def __init__(self, planner: Callable[..., plan.Plan], planned: plan.Plan) -> None:
        self._planner, self._planned = planner, planned

    def __call__(self, project: Project, selectors: Any, *more: Any, **options: Any) -> plan.Plan:
        """Return the plan of the night, or make another one: that of some jobs has no filter."""
        return self._planned if more else self._planner(project, selectors, **options)


def _lost(kind: str, why: str) -> str:
    because = f": {why}" if why else ""
    return f"{kind}: the last night ran on it, and this host lacks it now{because} (`--device cpu` leaves it out)"


def _unfinished_night(project: Project) -> dict[str, Journal]:
    """Find the runs of the last night, by the kind of their device.

    Raises:
        NothingToDo: it has finished, or there is none.
        StorageError: a journal of it was edited or cut short.
    """
    runs: dict[str, Journal] = {}
    name = ""
    for folder in reversed(run_folders.every(project.runs)):
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
    verdicts = [verdict for one in night.summaries for verdict in one.verdicts]
    infeasible = {verdict.case for verdict in verdicts if verdict.infeasible}
    names = {verdict.case for verdict in verdicts if verdict.revision}  # a broken job has none
    known = {*(names - infeasible), *expected.cases}
    record = LastNight(
        night.summaries[0].run,
        tuple(known - expected.accepted),
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

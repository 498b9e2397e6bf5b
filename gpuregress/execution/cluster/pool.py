"""Pool of the hosts of a cluster, which runs cases as `workers.pool` does on one machine.

Each slot is a thread of a Dask worker, or a GPU that it declares. A case whose host is lost runs again elsewhere, once,
and says so. A case that loses two hosts is an error.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import field

from gpuregress.execution.cluster import task_files
from gpuregress.execution.cluster.link import CaseLost, CaseReplied, ClusterLink, ClusterLost, MembersChanged
from gpuregress.execution.cluster.members import ClusterMember, Devices, select
from gpuregress.execution.cluster.messages import CaseReply, CaseRequest
from gpuregress.execution.cluster.replies import Unpacker
from gpuregress.execution.cluster.task_files import TaskFiles
from gpuregress.execution.workers.pool import CasePool, CaseStarted
from gpuregress.execution.workers.unfinished_cases import refused
from gpuregress.foundation import storage
from gpuregress.foundation.errors import DeviceError, GpuregressError, StorageError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Case, Outcome, Task, prepare, to_json
from gpuregress.gpu.records import Record, replace
from gpuregress.store.launch_log import LaunchLog

MOST_LOSSES = 2
"""Hosts that a case may lose before it is an error."""


@dataclass(slots=True)
class _Slot:
    """A place for one case at a time on a member."""

    member: ClusterMember
    label: str
    ticket: int | None = None


class PoolOptions(Record):
    """Settings of a pool.

    Attributes:
        device: `auto`, `cpu` or `cuda`.
        jobs: cases at a time at most; None: as many as the cluster has slots.
        wait_s: patience with the scheduler, with a first worker, and with another one when all are gone.
        environment: what is added to the environment of worker processes.
        command: starts a worker process; empty: the usual one.
    """

    device: str = "auto"
    jobs: int | None = None
    wait_s: float = 30.0
    environment: Mapping[str, str] = field(default_factory=dict)
    command: Sequence[str] = ()


class ClusterPool(CasePool):
    """The hosts of a cluster, as a context manager.

    Args:
        address: of the scheduler.
        run: name of the run, unique among all clients of the cluster.
        scratch: a folder for files that are fetched.
        options: settings.
        stop: set when the user asks to stop.

    Raises:
        DeviceError: no scheduler answers, or no worker can be used.
        UsageError: the device means nothing on a cluster.
        Interrupted: the user asked to stop.
    """

    def __init__(self, address: str, run: str, scratch: Path, options: PoolOptions, stop: StopSignal) -> None:
        super().__init__(stop)
        self._address = address
        self._run = run
        self._options = options
        self._slots: list[_Slot] = []
        self._members: tuple[ClusterMember, ...] = ()
        self._refused: dict[str, str] = {}
        self._running: dict[int, tuple[Task, _Slot]] = {}
        self._lost: dict[str, tuple[ClusterMember, ...]] = {}
        self._sends_all: set[str] = set()
        self._tickets = 0
        self._notes: dict[str, list[str]] = {}
        self._unusable: dict[str, str] = {}
        self._dead = ""
        self._lonely_since: float | None = None
        self._files = TaskFiles()
        self._unpacker = Unpacker()
        prepare(CaseReply)  # before the link's thread reads one; see `host.HostAgent`
        self._link = ClusterLink(address, run, options.wait_s, scratch)
        self._selector.register(self._link, selectors.EVENT_READ)
        try:
            self.devices = self._join()
        except BaseException:
            self.close()
            raise
        self._update_slots()

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of devices that the members have, `cpu` and `cuda`."""
        kinds = set()
        for kind in ("cpu", "cuda"):
            if any(member.slots(kind) for member in self._members):
                kinds.add(kind)
        return frozenset(kinds)

    @property
    def labels(self) -> tuple[str, ...]:
        """The slots by name, `cpu@node1`; as many as there are at this moment."""
        return tuple(slot.label for slot in self._slots)

    @property
    def notes(self) -> tuple[str, ...]:
        """Workers that were refused, and hosts that were lost with their cases."""
        notes = [f"{address} of the cluster is not used: {why}" for address, why in self._refused.items()]
        for name, cases in self._notes.items():
            notes.append(f"{name} was lost during the run; its launch logs are lost with it: {', '.join(cases)}")
        return tuple(notes)

    def warm(self, count: int) -> None:
        """Start a worker process on each of the first slots."""
        for slot in self._slots[:count]:
            self._link.warm(self._request(None, slot), slot.member)

    def close(self) -> None:
        """End all that runs on the hosts, and the connection."""
        self._selector.close()
        self._link.close()

    def again(self, task: Task, why: str) -> None:
        """Run a task once more, as if it had lost no host."""
        self._lost.pop(task.case.name, None)
        self._sends_all.discard(task.case.name)
        super().again(task, why)

    # --- members ------------------------------------------------------------------------------------------------------

    def _join(self) -> Devices:
        """Wait for the scheduler, which has its limit, and for a first worker that can be used."""
        deadline: float | None = None
        while True:
            self._wait(deadline)
            for event in self._link.events():
                if isinstance(event, ClusterLost):
                    raise DeviceError(event.why)
                if isinstance(event, MembersChanged):
                    self._members, self._refused = event.members, dict(event.refused)
                    deadline = deadline or time.monotonic() + self._options.wait_s
            if self._members:
                return select(self._options.device, self._members, self._address)
            if self._refused or (deadline is not None and time.monotonic() >= deadline):
                raise DeviceError(self._no_workers())

    def _update_slots(self) -> None:
        """Keep the slots of the members that are still there, and add those of new ones."""
        kind = self.devices.kind
        slots_of: defaultdict[str, list[_Slot]] = defaultdict(list)
        for slot in self._slots:
            slots_of[slot.member.facts.worker].append(slot)
        self._slots = []
        for member in self._members:
            if member.facts.worker in self._unusable:
                continue
            slots = slots_of[member.facts.worker]
            for number in range(len(slots), member.slots(kind)):
                device = "cpu" if kind == "cpu" else f"cuda:{number}"
                slots.append(_Slot(member, f"{device}@{member.host}"))
            for slot in slots:
                slot.member = member
            self._slots += slots
        if self._slots:
            self._lonely_since = None
        elif self._lonely_since is None:
            self._lonely_since = time.monotonic()

    def _no_workers(self) -> str:
        if self._refused:
            reasons = "; ".join(f"{address}: {why}" for address, why in self._refused.items())
            return f"no worker of the cluster at {self._address} can be used: {reasons}"
        wait = f"{self._options.wait_s:g} s"
        return (
            f"the cluster at {self._address} has no worker, and none came within {wait}: start one with `dask worker`"
        )

    # --- handing out --------------------------------------------------------------------------------------------------

    @property
    def _room(self) -> int:
        if self._dead:  # the tasks that are left are refused
            return max(1, len(self._slots))
        return max(0, len(self._slots) - len(self._waiting))

    @property
    def _is_busy(self) -> bool:
        return bool(self._running or self._waiting)

    def _hand_out(self) -> Iterator[CaseStarted | Outcome]:
        if self._dead:
            while self._waiting:
                yield refused(self._waiting.popleft(), self._dead)
            return
        for slot in self._slots:
            while slot.ticket is None and slot.member.is_ready:
                if len(self._running) >= (self._options.jobs or len(self._slots)):
                    return
                task = self._next_for(slot)
                if task is None:
                    break
                yield from self._start(task, slot)

    def _next_for(self, slot: _Slot) -> Task | None:
        """Take the first task that this slot may run: not one that lost this host, while there are other hosts."""
        for position, task in enumerate(self._waiting):
            if not self.devices.accept(slot.member, task.case):
                continue
            lost = {member.host for member in self._lost.get(task.case.name, ())}
            if slot.member.host not in lost or not self._has_other_host(task.case, lost):
                del self._waiting[position]
                return task
        return None

    def _has_other_host(self, case: Case, lost: Collection[str]) -> bool:
        return any(slot.member.host not in lost and self.devices.accept(slot.member, case) for slot in self._slots)

    def _start(self, task: Task, slot: _Slot) -> Iterator[CaseStarted | Outcome]:
        task = replace(task, device_label=slot.label)
        try:
            request = self._request(task, slot)
        except StorageError as error:
            yield refused(task, str(error), error="StorageError")
            return
        self._tickets += 1
        slot.ticket = self._tickets
        self._running[self._tickets] = task, slot
        self._link.submit(self._tickets, request, slot.member)
        yield CaseStarted(task.case.name, slot.label)

    def _request(self, task: Task | None, slot: _Slot) -> CaseRequest:
        """Make the request of a task; without one, that of a worker process which waits for a case.

        Raises:
            StorageError: a file that the case needs cannot be read.
        """
        request = CaseRequest(
            run=self._run,
            worker=slot.member.facts.worker,
            case="",
            task={},
            folder="",
            device="cpu" if self.devices.kind == "cpu" else "cuda:0",
            label=slot.label,
            environment=dict(self._options.environment),
            command=tuple(self._options.command),
        )
        if task is None:
            return request
        known = {}
        if task.case.name not in self._sends_all:
            known = {name: tuple(digests) for name, digests in task.known.items()}
        return replace(
            request,
            case=task.case.name,
            task=to_json(replace(task, known={})),
            folder=str(Path(task.dumps).parent),
            files=self._files.of(task),
            folders=task_files.folders_of(task),
            known=known,
        )

    # --- listening ----------------------------------------------------------------------------------------------------

    def _listen(self) -> Iterator[CaseStarted | Outcome]:
        """Wait for events; a slot that became free has its next case before an outcome is judged."""
        lonely_until = None
        if self._lonely_since is not None and not self._dead:
            lonely_until = self._lonely_since + self._options.wait_s
        self._wait(lonely_until)
        outcomes: list[Outcome] = []
        # All events are taken before an outcome is judged, which may take long.
        for event in self._link.events():
            if isinstance(event, CaseReplied):
                outcomes += self._on_reply(event)
            elif isinstance(event, CaseLost):
                outcomes += self._on_loss(event.ticket)
            elif isinstance(event, MembersChanged):
                self._members = event.members
                self._refused = dict(event.refused)
                for member in event.members:
                    why = self._unusable.get(member.facts.worker)
                    if why:
                        self._refused[member.address] = why
                self._update_slots()
            elif not self._dead:
                outcomes += self._on_end(event.why)
        if self._lonely_since is not None and time.monotonic() - self._lonely_since >= self._options.wait_s:
            outcomes += self._on_end(f"all workers of the cluster are gone: {self._no_workers()}")
        yield from self._hand_out()
        yield from outcomes

    def _on_reply(self, event: CaseReplied) -> list[Outcome]:
        if event.ticket not in self._running:  # the case has its outcome already
            return []
        task, slot = self._running.pop(event.ticket)
        slot.ticket = None
        reply = event.reply
        if reply.kind == "unusable":
            return self._on_unusable(task, slot, reply.message)
        if reply.kind != "done":
            return [self._marked(refused(task, reply.message, error="HarnessError"), slot.member)]
        try:
            self._unpacker.log(task, reply)
            outcome = self._unpacker.outcome(task, reply, event.files)
        except GpuregressError as error:
            outcome = refused(task, str(error), error=type(error).__name__)
        finally:
            for path in event.files.kept.values():
                path.unlink(missing_ok=True)
        # None: an accepted dump that was to be copied is gone, so the host must send it.
        if outcome is None:
            self._sends_all.add(task.case.name)
            self._waiting.appendleft(task)
            return []
        return [self._marked(outcome, slot.member)]

    def _on_unusable(self, task: Task, slot: _Slot, why: str) -> list[Outcome]:
        """Use a member with a broken device no more; its case runs elsewhere, unless it has broken another one."""
        self._unusable[slot.member.facts.worker] = why
        self._refused[slot.member.address] = why
        self._update_slots()
        lost = self._lose(task, slot.member)
        if self._slots and len(lost) < MOST_LOSSES:
            self._waiting.appendleft(task)
            return []
        return [self._marked(refused(task, why), slot.member)]

    def _lose(self, task: Task, member: ClusterMember) -> tuple[ClusterMember, ...]:
        """Note a host that a case lost, and return all of them."""
        lost = self._lost[task.case.name] = (*self._lost.get(task.case.name, ()), member)
        return lost

    def _on_loss(self, ticket: int) -> list[Outcome]:
        """Run the case of a lost host again, before all others; it is an error the second time."""
        if ticket not in self._running:
            return []
        task, slot = self._running.pop(ticket)
        slot.ticket = None
        if slot in self._slots:
            self._slots.remove(slot)
        lost = self._lose(task, slot.member)
        self._notes.setdefault(slot.member.name, []).append(task.case.name)
        with contextlib.suppress(StorageError), contextlib.closing(LaunchLog(Path(task.log))) as log:
            log.lose(task.case.name, slot.member.name)
        if len(lost) < MOST_LOSSES and not self._dead:
            self._waiting.appendleft(task)
            return []
        names = " and then ".join(member.name for member in lost)
        why = self._dead or f"its host was lost each time it ran: {names}; does the case take its host down?"
        return [self._marked(refused(task, why), None)]

    def _on_end(self, why: str) -> list[Outcome]:
        """End all cases: nothing can run any more."""
        self._dead = why
        outcomes = [self._marked(refused(task, why), None) for task, _ in self._running.values()]
        self._running = {}
        self._slots = []
        self._lonely_since = None
        return outcomes

    def _marked(self, outcome: Outcome, member: ClusterMember | None) -> Outcome:
        """Note where a case ran, and which hosts it lost."""
        observed = replace(
            outcome.observations,
            host=member.host if member is not None else "",
            lost_hosts=tuple(lost.name for lost in self._lost.get(outcome.case, ())),
        )
        return replace(outcome, observations=observed)


def kinds_of(address: str, wait_s: float) -> frozenset[str]:
    """Ask a cluster for the kinds of its devices.

    Args:
        address: of the scheduler.
        wait_s: patience with it, and with a first worker.

    Raises:
        DeviceError: no scheduler answers, or no worker can be used.
        Interrupted: the user asked to stop.
    """
    options = PoolOptions(wait_s=wait_s)
    with (
        StopSignal() as stop,
        storage.scratch() as scratch,
        ClusterPool(address, os.urandom(6).hex(), scratch, options, stop) as pool,
    ):
        return pool.kinds

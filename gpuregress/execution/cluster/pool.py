"""Pool of the hosts of a cluster, which runs cases as `workers.pool` does on one machine.

Each slot is a thread of a Dask worker, or a GPU that it declares. Cases that are short travel in batches, which take
about `_BATCH_S` by the times of the job's cases before them. A case whose host is lost runs again elsewhere, once, and
says so. A case that loses two hosts is an error. Of a batch that is lost with its host nobody knows which case ran: so
none is blamed, and each runs again alone.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path

from msgspec import field

from gpuregress.execution.cluster import link, sent_files
from gpuregress.execution.cluster.link import BatchLost, BatchReplied, CaseResult, ClusterLink, MembersChanged
from gpuregress.execution.cluster.members import ClusterMember, Devices, select
from gpuregress.execution.cluster.messages import CaseReply, CaseRequest
from gpuregress.execution.cluster.replies import Unpacker
from gpuregress.execution.cluster.sent_files import TaskFiles
from gpuregress.execution.workers.pool import CasePool, CaseStarted
from gpuregress.execution.workers.unfinished_cases import refused
from gpuregress.foundation import storage
from gpuregress.foundation.errors import ClusterLost, DeviceError, GpuregressError, StorageError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Case, Outcome, Task, prepare, to_plain
from gpuregress.foundation.wording import first_names
from gpuregress.gpu.records import Record, replace
from gpuregress.store.launch_log import LaunchLog

MOST_LOSSES = 2
"""Hosts that a case may lose, alone, before it is an error."""
_BATCH_S = 0.4
"""Expected time of a batch: long beside what a message costs, short beside what waits for it."""
_LEAST_S = 0.05
"""A batch at the end is not shorter than this, where there are more cases: each costs a message."""
_MOST_CASES = 100
_MOST_NAMED = 10
_ROUNDS = 3
"""Batches for each slot into which what is left is divided at least, so that all slots end together."""


@dataclass(slots=True)
class _Slot:
    """A place for one case at a time on a member.

    Attributes:
        tickets: of the batches that were given to it: one that runs, and one of short cases after it, so that it does
            not wait while the client judges.
        is_gone: whether a batch of it was lost; the batch after it had not begun.
    """

    member: ClusterMember
    label: str
    tickets: list[int] = dataclass_field(default_factory=list)
    is_gone: bool = False


@dataclass(slots=True)
class _Batch:
    """Cases that travel together.

    Attributes:
        is_short: whether they are expected to take no longer than a batch should.
    """

    tasks: list[Task]
    slot: _Slot
    is_short: bool


@dataclass(slots=True)
class _JobTimes:
    """The mean time of the cases of each job that ended in this run."""

    _sums: dict[str, tuple[float, int]] = dataclass_field(default_factory=dict)

    def add(self, case: Case, seconds: float) -> None:
        """Count a case."""
        total, count = self._sums.get(case.job, (0.0, 0))
        self._sums[case.job] = total + seconds, count + 1

    def expected_s(self, case: Case) -> float:
        """The seconds that a case is expected to take; that of a batch where nothing is known of its job."""
        total, count = self._sums.get(case.job, (_BATCH_S, 1))
        return max(total / count, _BATCH_S / _MOST_CASES)

    @property
    def mean_s(self) -> float:
        """The mean of all cases."""
        total, count = (sum(parts) for parts in zip(*self._sums.values(), strict=True)) if self._sums else (_BATCH_S, 1)
        return max(total / count, _BATCH_S / _MOST_CASES)


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
        self._running: dict[int, _Batch] = {}
        self._times = _JobTimes()
        self._lost: dict[str, tuple[ClusterMember, ...]] = {}
        self._losses: Counter[str] = Counter()
        self._alone: set[str] = set()
        self._sends_all: set[str] = set()
        self._tickets = 0
        self._notes: dict[str, list[str]] = {}
        self._unusable: dict[str, str] = {}
        self._lonely_since: float | None = None
        self._homeless_since: float | None = None
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
            named = first_names(cases, _MOST_NAMED)
            notes.append(f"{name} was lost during the run; its launch logs are lost with it: {named}")
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
        self._losses.pop(task.case.name, None)
        self._sends_all.discard(task.case.name)
        super().again(task, why)

    # --- members ------------------------------------------------------------------------------------------------------

    def _join(self) -> Devices:
        """Wait for the scheduler, which has its limit, and for a first worker that can be used."""
        deadline: float | None = None
        while True:
            self._wait(deadline)
            for event in self._link.events():
                if isinstance(event, link.ClusterLost):
                    raise DeviceError(event.why)
                if isinstance(event, MembersChanged):
                    self._members, self._refused = event.members, dict(event.refused)
                    deadline = deadline or time.monotonic() + self._options.wait_s
            if self._members:
                try:
                    return select(self._options.device, self._members, self._address)
                except DeviceError as error:  # a worker that was refused may have such a device
                    raise DeviceError("; ".join((str(error), *self.notes))) from None
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
        short = int(_BATCH_S / self._times.mean_s)
        each = 2 * short if short > 1 else 1  # a batch that runs, and the one after it
        return max(0, each * len(self._slots) - len(self._waiting))

    @property
    def _is_busy(self) -> bool:
        return bool(self._running or self._waiting)

    def _hand_out(self) -> Iterator[CaseStarted | Outcome]:
        for is_second in (False, True):
            for slot in self._slots:
                while slot.member.is_ready and self._takes(slot, is_second=is_second):
                    if not slot.tickets and self._busy_slots >= (self._options.jobs or len(self._slots)):
                        break
                    tasks = self._next_batch(slot, is_second=is_second)
                    if not tasks:
                        break
                    yield from self._start(tasks, slot)
        yield from self._given_up()

    def _given_up(self) -> Iterator[Outcome]:
        """Give up waiting cases whose architecture only hosts had that left, and that did not come back in time."""
        homeless = [task for task in self._waiting if not self._has_other_host(task.case, ())]
        if not homeless or not self._slots:
            self._homeless_since = None
            return
        now = time.monotonic()
        if self._homeless_since is None:
            self._homeless_since = now
        if now - self._homeless_since < self._options.wait_s:
            return
        for task in homeless:
            self._waiting.remove(task)
            why = f"no worker of the cluster at {self._address} has {self.devices.arch_for(task.case)} any more"
            yield self._marked(refused(task, why), None)

    def _takes(self, slot: _Slot, *, is_second: bool) -> bool:
        """Whether a slot takes a batch now: its first one, or a second one after short cases."""
        if is_second:
            return len(slot.tickets) == 1 and self._running[slot.tickets[0]].is_short
        return not slot.tickets

    @property
    def _busy_slots(self) -> int:
        return sum(bool(slot.tickets) for slot in self._slots)

    def _next_batch(self, slot: _Slot, *, is_second: bool) -> list[Task]:
        """Take cases for a slot: one, or short ones that take as long as a batch should."""
        limit_s = _BATCH_S
        if self._feed is None or self._feed.is_over:
            share_s = len(self._waiting) * self._times.mean_s / (_ROUNDS * len(self._slots))
            limit_s = min(limit_s, max(share_s, _LEAST_S))
        tasks: list[Task] = []
        expected_s = 0.0
        while len(tasks) < _MOST_CASES:
            task = self._next_for(slot)
            if task is None:
                break
            expected_s += self._times.expected_s(task.case)
            is_single = task.case.name in self._alone
            is_long = expected_s > limit_s if tasks else expected_s >= _BATCH_S
            if (is_single or is_long) and (tasks or is_second):
                self._waiting.appendleft(task)
                break
            tasks.append(task)
            if is_single:
                break
        return tasks

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

    def _start(self, tasks: Sequence[Task], slot: _Slot) -> Iterator[CaseStarted | Outcome]:
        requests = []
        batch = _Batch([], slot, is_short=True)
        for waiting in tasks:
            task = replace(waiting, device_label=slot.label)
            try:
                requests.append(self._request(task, slot))
            except StorageError as error:
                yield refused(task, str(error), error="StorageError")
                continue
            batch.tasks.append(task)
        if not requests:
            return
        expected_s = sum(self._times.expected_s(task.case) for task in batch.tasks)
        batch.is_short = expected_s < _BATCH_S or len(batch.tasks) > 1
        self._tickets += 1
        slot.tickets.append(self._tickets)
        self._running[self._tickets] = batch
        self._link.submit(self._tickets, requests, slot.member)
        for task in batch.tasks:
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
            task=to_plain(replace(task, known={})),
            folder=str(Path(task.dumps).parent),
            files=self._files.of(task),
            folders=sent_files.folders_of(task),
            known=known,
        )

    # --- listening ----------------------------------------------------------------------------------------------------

    def _listen(self) -> Iterator[CaseStarted | Outcome]:
        """Wait for events; a slot that became free has its next cases before an outcome is judged.

        Raises:
            ClusterLost: the scheduler is gone, or all workers are.
        """
        since = (self._lonely_since, self._homeless_since)
        self._wait(*(began + self._options.wait_s for began in since if began is not None))
        outcomes: list[Outcome] = []
        end = ""
        # All events are taken before an outcome is judged, which may take long.
        for event in self._link.events():
            if isinstance(event, BatchReplied):
                outcomes += self._on_reply(event)
            elif isinstance(event, BatchLost):
                outcomes += self._on_loss(event.ticket)
            elif isinstance(event, MembersChanged):
                self._members = event.members
                self._refused = dict(event.refused)
                for member in event.members:
                    why = self._unusable.get(member.facts.worker)
                    if why:
                        self._refused[member.address] = why
                self._update_slots()
            else:
                end = event.why
        if self._lonely_since is not None and time.monotonic() - self._lonely_since >= self._options.wait_s:
            end = end or f"all workers of the cluster are gone: {self._no_workers()}"
        if end:
            yield from outcomes
            raise ClusterLost(end)
        yield from self._hand_out()
        yield from outcomes

    def _on_reply(self, event: BatchReplied) -> list[Outcome]:
        batch = self._running.pop(event.ticket, None)
        if batch is None:
            return []
        batch.slot.tickets.remove(event.ticket)
        outcomes: list[Outcome] = []
        again: list[Task] = []
        for task, result in zip(batch.tasks, event.results, strict=False):
            outcome = self._outcome(task, result, batch.slot)
            if outcome is None:
                again.append(task)
            else:
                outcomes.append(outcome)
        unbegun = batch.tasks[len(event.results) :]
        if event.failed:
            self._alone.update(task.case.name for task in unbegun)
        self._waiting.extendleft(reversed([*again, *unbegun]))
        return outcomes

    def _outcome(self, task: Task, result: CaseResult, slot: _Slot) -> Outcome | None:
        """The outcome of a case that a host has begun; None where it must run again."""
        reply = result.reply
        if reply.kind == "unusable":
            return self._on_unusable(task, slot, reply.message)
        if reply.kind != "done":
            return self._marked(refused(task, reply.message, error="HarnessError"), slot.member)
        try:
            self._unpacker.log(task, reply)
            outcome = self._unpacker.outcome(task, reply, result.files)
        except GpuregressError as error:
            outcome = refused(task, str(error), error=type(error).__name__)
        finally:
            for path in result.files.kept.values():
                path.unlink(missing_ok=True)
        # None: an accepted dump that was to be copied is gone, so the host must send it.
        if outcome is None:
            self._sends_all.add(task.case.name)
            return None
        self._times.add(task.case, outcome.seconds)
        return self._marked(outcome, slot.member)

    def _on_unusable(self, task: Task, slot: _Slot, why: str) -> Outcome | None:
        """Use a member with a broken device no more; its case runs elsewhere, unless it has broken another one."""
        self._unusable[slot.member.facts.worker] = why
        self._refused[slot.member.address] = why
        self._update_slots()
        self._lose(task, slot.member, is_blamed=True)
        if self._slots and self._losses[task.case.name] < MOST_LOSSES:
            return None
        return self._marked(refused(task, why), slot.member)

    def _lose(self, task: Task, member: ClusterMember, *, is_blamed: bool) -> None:
        """Note a host that a case lost."""
        self._lost[task.case.name] = (*self._lost.get(task.case.name, ()), member)
        self._losses[task.case.name] += is_blamed
        self._alone.add(task.case.name)

    def _on_loss(self, ticket: int) -> list[Outcome]:
        """Run the cases of a lost host again, before all others; one that was alone is an error the second time."""
        batch = self._running.pop(ticket, None)
        if batch is None:
            return []
        slot, outcomes, again = batch.slot, [], []
        is_blamed = len(batch.tasks) == 1 and slot.tickets[0] == ticket and not slot.is_gone
        slot.tickets.remove(ticket)
        slot.is_gone = True
        if slot in self._slots:
            self._slots.remove(slot)
        for task in batch.tasks:
            self._lose(task, slot.member, is_blamed=is_blamed)
            self._notes.setdefault(slot.member.name, []).append(task.case.name)
            with contextlib.suppress(StorageError), contextlib.closing(LaunchLog(Path(task.log))) as log:
                log.lose(task.case.name, slot.member.name)
            if self._losses[task.case.name] < MOST_LOSSES:
                again.append(task)
                continue
            names = " and then ".join(member.name for member in self._lost[task.case.name])
            why = f"its host was lost each time it ran: {names}; does the case take its host down?"
            outcomes.append(self._marked(refused(task, why), None))
        self._waiting.extendleft(reversed(again))
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

"""Pool of worker processes, one on each device slot.

Each case has a time limit. After a fault its worker is replaced; a crash loses no other case.
"""

from __future__ import annotations

import itertools
import os
import selectors
import signal
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from gpuregress.execution.workers import unfinished_cases
from gpuregress.execution.workers.channel import Message
from gpuregress.execution.workers.watchdog import LAUNCHES, Phase, Step, patience
from gpuregress.execution.workers.worker_process import DeviceSlot, StoppedLaunch, Worker
from gpuregress.foundation.errors import GpuregressError, HarnessError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Case, DeviceInfo, Outcome, Task, from_json
from gpuregress.gpu.records import MutableRecord, Record, replace
from gpuregress.gpu.schedules import WATCHED_SLOWDOWN
from gpuregress.toolchain import cache

if TYPE_CHECKING:
    from gpuregress.execution.workers.worker_process import Worker
    from gpuregress.foundation.records import Task

# Time limits of launches: seconds of the clock, or CPU time where a task has a limit of its own.
# Such a limit is a multiple of what the launches took before. A busy machine gives them less CPU time than then,
# and would let one that is well seem to hang.
_OWN = (Phase.LAUNCHING, Phase.TRYING, Phase.WATCHING)
_LEAST_SHARE = 0.5
"""Of its limit, the CPU time that a launch must have had before it is ended."""
_LEAST_S = 0.05
"""Seconds between two looks at the CPU time."""


def limit_s(task: Task, phase: Phase) -> float:
    """Return the limit of a phase: the case's, but for launches that have one of their own.

    It is longer where all accesses are watched.
    """
    limit = task.launch_limit_s if _has_own(task, phase) else task.case.limits.timeout
    if phase is Phase.WATCHING:
        return WATCHED_SLOWDOWN * limit
    return limit


def put_off(worker: Worker, now: float) -> None:
    """Put off the end of launches with a limit of their own that had too little CPU time, up to the case's limit.

    Args:
        worker: whose phase may be over.
        now: seconds on the clock of its watch.
    """
    watch, task = worker.watch, worker.task
    if task is None or not watch.is_over(now) or not _has_own(task, watch.phase):
        return
    most_s = task.case.limits.timeout * watch.limit / task.launch_limit_s
    left_s = watch.began + most_s - now
    lacking_s = _LEAST_SHARE * watch.limit - (worker.cpu_s() - worker.cpu_before_s)
    if left_s > 0 and lacking_s > 0:
        watch.deadline = now + min(left_s, max(lacking_s, _LEAST_S))


def _has_own(task: Task, phase: Phase) -> bool:
    return phase in _OWN and task.launch_limit_s > 0


_FAILED_STARTS = 2
_CHECKED = ("out-of-bounds", "misaligned", "assert", "trap", "status")
"""Kinds of faults that end a launch of the CPU device before anything of its process is harmed."""


class CaseStarted(Record):
    """Event: a worker took a case."""

    case: str
    slot: str


class CaseNotCompiled(Record):
    """Event: a case cannot run, for its source does not compile or lacks a kernel that the job launches."""

    case: Case
    error: GpuregressError


class TaskFeed(Protocol):
    """Tasks that become ready while others run."""

    @property
    def is_over(self) -> bool:
        """Tell whether every task was taken."""

    @property
    def is_ready(self) -> bool:
        """Tell whether `take` returns without waiting."""

    @property
    def deadline(self) -> float | None:
        """The latest moment of a change, seconds of time.monotonic; None: unknown."""

    def fileno(self) -> int:
        """A descriptor that becomes readable when there is something new; -1: there is none to wait for."""

    def take(self, room: int) -> Iterator[Task | CaseNotCompiled]:
        """The tasks that are ready, at most `room`, and any number of cases that cannot run."""


class CasePool(ABC):
    """Pool that runs cases; `WorkerPool` on this machine, `cluster.pool.ClusterPool` on the hosts of a cluster.

    Args:
        stop: set when the user asks to stop.
    """

    def __init__(self, stop: StopSignal | None) -> None:
        self._stop = stop
        self._waiting: deque[Task] = deque()
        self._feed: TaskFeed | None = None
        self._until: float | None = None
        self._selector = selectors.DefaultSelector()
        if stop is not None:
            self._selector.register(stop, selectors.EVENT_READ, None)

    def __enter__(self) -> Self:
        """The pool."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all that runs."""
        self.close()

    @abstractmethod
    def close(self) -> None:
        """End all that runs."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the run, beside the outcomes of its cases."""
        return ()

    @abstractmethod
    def warm(self, count: int) -> None:
        """Start worker processes for up to `count` cases, so that they are ready when the first case is compiled."""

    def run(
        self, tasks: Iterable[Task], feed: TaskFeed | None = None, until: float | None = None
    ) -> Iterator[CaseStarted | Outcome | CaseNotCompiled]:
        """Run every task; outcomes come in the order they end, exactly one for each task.

        Args:
            tasks: those that are ready.
            feed: those that become ready meanwhile; its cases that cannot run are reported as they are found.
            until: seconds of time.monotonic at which it stops, whatever runs then; None: when all is done.

        Raises:
            Interrupted: the user asked to stop.
        """
        self._waiting = deque(tasks)
        self._feed = feed
        self._until = until
        descriptor = -1 if feed is None else feed.fileno()
        if descriptor >= 0:
            self._selector.register(descriptor, selectors.EVENT_READ, None)
        try:
            while until is None or time.monotonic() < until:
                yield from self._take()
                yield from self._hand_out()
                if not self._is_busy:
                    if feed is None or feed.is_over:
                        return
                    if feed.is_ready:
                        continue
                yield from self._listen()
        finally:
            if descriptor >= 0:
                self._selector.unregister(descriptor)

    def again(self, task: Task, why: str) -> None:
        """Run a task once more; its launch under way is blamed for nothing."""
        unfinished_cases.log_retry(task, why, task.first_launch)
        self._waiting.append(task)

    def withdraw(self, is_unwanted: Callable[[Case], bool]) -> list[Task]:
        """Take back the tasks that no worker has yet and that are not wanted any more."""
        unwanted = [task for task in self._waiting if is_unwanted(task.case)]
        self._waiting = deque(task for task in self._waiting if not is_unwanted(task.case))
        return unwanted

    def _take(self) -> Iterator[CaseNotCompiled]:
        """Keep a task ready for each slot."""
        if self._feed is None or self._feed.is_over:
            return
        for item in self._feed.take(self._room):
            if isinstance(item, CaseNotCompiled):
                yield item
            else:
                self._waiting.append(item)

    def _wait(self, *deadlines: float | None) -> list[Any]:
        """Wait for something to read, at most until the first deadline; return the data of what is readable."""
        feed_deadline = self._feed.deadline if self._feed is not None else None
        ready = self._selector.select(patience(self._until, feed_deadline, *deadlines))
        if self._stop is not None:
            self._stop.check()
        return [key.data for key, _ in ready]

    @property
    @abstractmethod
    def _room(self) -> int:
        """The number of tasks to take from the feed."""

    @property
    @abstractmethod
    def _is_busy(self) -> bool:
        """Whether there is an outcome to wait for."""

    @abstractmethod
    def _hand_out(self) -> Iterator[CaseStarted | Outcome]:
        """Give waiting tasks to free slots."""

    @abstractmethod
    def _listen(self) -> Iterator[CaseStarted | Outcome]:
        """Wait for messages and limits, and act on them."""


class _SlotState(MutableRecord):
    """A slot and how its last worker ended."""

    slot: DeviceSlot
    worker: Worker | None = None
    suspect: bool = False
    failed_starts: int = 0
    lost: str = ""


class WorkerPool(CasePool):
    """Workers on a set of slots, as a context manager: no child is left when it is over.

    Args:
        slots: where workers may run, one at a time on each.
        scratch: a folder for what workers print.
        command: starts a worker, the usual one where None; tests put a fake device here.
        stop: set when the user asks to stop.
        tries_slow_code: run a case again, optimised, whose code is slow without; else its own limit holds at once.
        keeps_faulted: keep a worker whose kernel failed in a way that the CPU device checks before it happens.
    """

    def __init__(
        self,
        slots: Sequence[DeviceSlot],
        scratch: Path,
        *,
        command: Sequence[str] | None = None,
        stop: StopSignal | None = None,
        tries_slow_code: bool = True,
        keeps_faulted: bool = False,
    ) -> None:
        super().__init__(stop)
        self._slots = [_SlotState(slot) for slot in slots]
        self._scratch = scratch
        self._command = command
        self._started = 0
        self._tried: set[str] = set()
        self._stopped: dict[str, StoppedLaunch] = {}
        self._tries_slow_code = tries_slow_code
        self._keeps_faulted = keeps_faulted

    @property
    def is_lost(self) -> bool:
        """Whether no slot can run a case any more."""
        return all(state.lost for state in self._slots)

    def warm(self, count: int) -> None:
        """Start the workers of the first slots."""
        for state in self._slots[:count]:
            self._worker_of(state)

    def close(self) -> None:
        """End every worker: all are signalled first, then waited for, except idle ones on a GPU."""
        workers = [state.worker for state in self._slots if state.worker is not None]
        for state in self._slots:
            state.worker = None
        for worker in workers:
            if worker.task is not None or worker.watch.phase is Phase.STARTING:
                worker.signal(signal.SIGKILL)
        for worker in workers:
            if worker.watch.phase is Phase.IDLE and worker.slot.device.startswith("cuda"):
                worker.release()
            else:
                worker.end()
        self._selector.close()

    def abandon(self) -> None:
        """End the workers that still run a case, which nobody waits for; the others are free for another run."""
        self._tried.clear()
        self._stopped.clear()
        for state in self._slots:
            if state.worker is not None and state.worker.task is not None:
                state.worker.signal(signal.SIGKILL)
                self._dismiss(state, state.worker, is_suspect=state.slot.device != "cpu")

    @property
    def _room(self) -> int:
        return max(0, len(self._slots) - len(self._waiting))

    @property
    def _is_busy(self) -> bool:
        return any(state.worker is not None and state.worker.task for state in self._slots)

    # --- handing out --------------------------------------------------------------------------------------------------

    def _hand_out(self) -> Iterator[CaseStarted | Outcome]:
        for state in self._slots:
            if not self._waiting:
                return
            folders = _user_folders(self._waiting[0].case)
            idle = state.worker
            if idle is not None and idle.is_free and folders and idle.user_folders not in (frozenset(), folders):
                # The user's code of this case must not meet what that of another folder left in the process.
                self._dismiss(state, idle, is_suspect=False)
            if state.lost:
                continue
            worker = self._worker_of(state)
            if worker.is_free:
                task = replace(self._waiting.popleft(), device_label=state.slot.label)
                # What an earlier case has imported stays in the process.
                worker.user_folders = folders or worker.user_folders
                worker.submit(task)
                yield CaseStarted(task.case.name, state.slot.label)
        if self._waiting and self.is_lost:
            why = "; ".join(dict.fromkeys(state.lost for state in self._slots))
            while self._waiting:
                yield unfinished_cases.refused(self._waiting.popleft(), why)

    def _worker_of(self, state: _SlotState) -> Worker:
        if state.worker is None:
            self._started += 1
            captured = self._scratch / f"worker-{self._started}.txt"
            state.worker = Worker(state.slot, self._command, captured, after_fault=state.suspect)
            self._selector.register(state.worker.channel, selectors.EVENT_READ, state)
        return state.worker

    # --- listening ----------------------------------------------------------------------------------------------------

    def _listen(self) -> Iterator[Outcome]:
        ready = self._wait(*(state.worker.watch.deadline for state in self._slots if state.worker is not None))
        # The consumer of an outcome may take long: messages of that time come first.
        now = time.monotonic()
        for state in ready:
            if state is not None:
                yield from self._read(state)
        for state in self._slots:
            yield from self._enforce(state, now)

    def _read(self, state: _SlotState) -> Iterator[Outcome]:
        worker = state.worker
        if worker is None:
            return
        try:
            messages, alive = worker.messages()
        except HarnessError as error:  # a damaged message: what the worker says of its case cannot be known
            self._dismiss(state, worker)
            if worker.task is not None:
                yield unfinished_cases.refused(worker.task, str(error), error="HarnessError")
            return
        for message in messages:
            outcome = self._on_message(state, worker, message)
            if outcome is not None:
                yield outcome
        if not alive and state.worker is worker:
            yield from self._on_exit(state, worker)

    def _on_message(self, state: _SlotState, worker: Worker, message: Message) -> Outcome | None:
        now = time.monotonic()
        if message["say"] == "ready":
            state.failed_starts = 0
            state.suspect = False
            worker.ready = True
            worker.device = from_json(DeviceInfo, message["device"])
            worker.watch.enter(Phase.PREPARING if worker.task else Phase.IDLE, now)
        elif message["say"] == "refused":
            worker.refusal = message["message"]
        elif message["say"] == "phase" and worker.task is not None and worker.watch.late is None:
            phase = Phase(message["phase"])
            if phase is Phase.TRYING and (not self._tries_slow_code or worker.task.case.name in self._tried):
                phase = Phase.LAUNCHING
            worker.watch.enter(phase, now, limit_s(worker.task, phase))
            worker.cpu_before_s = worker.cpu_s()
        elif message["say"] == "interim" and worker.watch.late is None:
            worker.interim = message
        elif message["say"] == "stopped":
            facts = {"lines": message["lines"], "source_line": message["source_line"]}
            worker.stopped = from_json(StoppedLaunch, facts)
        elif message["say"] == "outcome" and worker.watch.late is None:
            is_last = message.get("last", False)
            return self._finish(state, worker, from_json(Outcome, message["outcome"]), now, is_last=is_last)
        return None

    def _finish(self, state: _SlotState, worker: Worker, outcome: Outcome, now: float, *, is_last: bool) -> Outcome:
        worker.task = None
        worker.watch.enter(Phase.IDLE, now)
        is_harmless = outcome.state == "done"
        if self._keeps_faulted and state.slot.device == "cpu" and outcome.fault is not None:
            is_harmless = outcome.fault.kind in _CHECKED
        if not is_harmless or outcome.observations.sticky:
            self._dismiss(state, worker)
        elif is_last:
            self._dismiss(state, worker, is_suspect=False)
        return outcome

    # --- when it goes wrong -------------------------------------------------------------------------------------------

    def _dismiss(self, state: _SlotState, worker: Worker, *, is_suspect: bool = True) -> None:
        """End a worker; the next one on this slot must prove that the device is healthy, if this one is suspect."""
        self._selector.unregister(worker.channel)
        state.worker = None
        state.suspect = is_suspect
        if not worker.end(grace_s=0.2 if is_suspect else 2.0):
            state.lost = unfinished_cases.lost(worker)

    def _on_exit(self, state: _SlotState, worker: Worker) -> Iterator[Outcome]:
        """Handle a closed channel: the worker refused to start, crashed, or was killed at its limit."""
        task, late = worker.task, worker.watch.late
        self._dismiss(state, worker)
        if not worker.ready:
            state.failed_starts += 1
            why = worker.refusal or unfinished_cases.startup_error(worker)
            if state.failed_starts >= _FAILED_STARTS or worker.refusal or late is not None:
                state.lost = why
            if task is not None and not all(other.lost for other in self._slots if other is not state):
                self._waiting.appendleft(task)  # it never began, and there are other slots
            elif task is not None:
                yield unfinished_cases.refused(task, why, worker.tail() if not worker.refusal else ())
        elif task is not None and late is Phase.TRYING:
            self._stopped[task.case.name] = worker.stopped
            self._try_again(task)
        elif task is not None:
            if late in LAUNCHES:
                _note_slow(task, is_slow=False)
            if late is None:
                outcome = unfinished_cases.crashed(worker, task)
            else:
                outcome = unfinished_cases.overdue(worker, task, late, self._stopped.pop(task.case.name, None))
            outcome = replace(outcome, device=worker.device)
            if worker.interim is not None:
                outcome = unfinished_cases.under_schedule(worker.interim, task, outcome)
            yield outcome

    def _try_again(self, task: Task) -> None:
        """Run a case again whose code was not optimised: it is now, and has the whole limit of the case."""
        _note_slow(task, is_slow=True)
        self._tried.add(task.case.name)
        unfinished_cases.log_retry(task, "slow without optimisation; runs again, optimised")
        self._waiting.appendleft(task)

    def _enforce(self, state: _SlotState, now: float) -> Iterator[Outcome]:
        worker = state.worker
        if worker is None:
            return
        put_off(worker, now)
        step = worker.watch.step(now)
        if step is Step.TERMINATE:
            worker.signal(signal.SIGTERM)
        elif step is Step.KILL:
            worker.signal(signal.SIGKILL)
        elif step is Step.GIVE_UP:
            state.lost = unfinished_cases.lost(worker)
            self._selector.unregister(worker.channel)
            worker.channel.close()
            state.worker = None
            if worker.task is not None:
                yield unfinished_cases.refused(worker.task, state.lost)


def _user_folders(case: Case) -> frozenset[str]:
    """The folders of the user's functions that a worker calls for a case."""
    return frozenset(
        os.path.dirname(function.rpartition(":")[0])  # noqa: PTH120 - thousands of cases
        for function in case.user_functions
    )


def _note_slow(task: Task, *, is_slow: bool) -> None:
    """Note that a launch of a case took long, before its code was optimised or after."""
    varied = itertools.chain.from_iterable(task.variants.values())
    for program in (*task.programs, *task.references.values(), *varied):
        cache.note_slow(program.key, is_slow=is_slow)

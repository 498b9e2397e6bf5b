"""Functions that Dask calls on a host of the cluster.

`run_cases` is the only task. The others are short and are called outside of Dask's queue of tasks. Their argument
`dask_worker` is filled in by Dask.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpuregress.execution import device_registry
from gpuregress.execution.cluster import messages, replies
from gpuregress.execution.cluster.messages import CaseReply, CaseRequest, HostFacts, SentFile
from gpuregress.execution.cluster.replies import CaseFolders, task_on_host
from gpuregress.execution.cluster.sent_files import ContentStore
from gpuregress.execution.cuda import prerequisites
from gpuregress.execution.workers.pool import WorkerPool
from gpuregress.execution.workers.worker_process import DeviceSlot
from gpuregress.execution.workers.worker_spawn import gpu_environment
from gpuregress.foundation import storage
from gpuregress.foundation.errors import HarnessError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Outcome, Task, prepare, to_json
from gpuregress.toolchain import cache
from gpuregress.toolchain.cache import code_digest
from gpuregress.virtual_gpu.parallel import cores

# Agent of a Dask worker: the worker processes, folders and files of the cases that run there.
# Dask cannot stop a task that runs. So a thread looks several times a second whether a running task is still
# wanted: the scheduler takes it away when the client cancels it, ends, or is killed. Then the case's processes are
# killed.
WATCH_S = 0.2
IDLE_S = 60.0
FORGOTTEN_S = 3600.0
KEPT_BYTES = 1 << 30
"""Dumps of earlier cases of a run, from which references are taken."""

Reply = tuple[CaseReply, dict[str, bytes]]


@dataclass(slots=True)
class _Running:
    """A case that runs here: its run, whether it is still wanted, and what ends it."""

    run: str
    is_wanted: Callable[[], bool]
    stop: StopSignal


@dataclass(slots=True)
class _Idle:
    """A pool of one worker process that waits for a case."""

    pool: WorkerPool
    stop: StopSignal
    held: contextlib.ExitStack
    since: float


@dataclass(slots=True)
class _Run:
    """What a run has on this host.

    Attributes:
        placed: path of a file on the client → the digest of what is laid out here.
        finished: folders of cases whose dumps were sent, oldest first, with their sizes.
        used: when it was last needed, seconds of time.monotonic.
    """

    folder: Path
    placed: dict[str, str] = field(default_factory=dict)
    finished: deque[tuple[Path, int]] = field(default_factory=deque)
    used: float = 0.0


_Key = tuple[str, str, tuple[tuple[str, str], ...], tuple[str, ...]]
"""Device, label, environment and command of a worker process."""


class HostAgent:
    """The agent of one Dask worker.

    Args:
        identity: of the Dask worker.
        folder: for what cases write; Dask removes it with the worker.
        store: of the host.
        cards: the number of GPUs that the worker declares.
        is_alive: returns whether the Dask worker goes on.
    """

    def __init__(
        self,
        identity: str,
        folder: Path,
        store: ContentStore,
        cards: int = 0,
        is_alive: Callable[[], bool] = lambda: True,
    ) -> None:
        self.identity = identity
        self.store = store
        self._folder = folder
        self._is_alive = is_alive
        self._cards = list(range(cards))
        self._lock = threading.Lock()
        self._runs: dict[str, _Run] = {}
        self._running: list[_Running] = []
        self._idle: dict[_Key, list[_Idle]] = {}
        self._made = 0
        self._watch: threading.Thread | None = None
        # Dask runs cases in threads, and msgspec 0.22 crashes the process where two threads resolve the types of one
        # class at the same time.
        for kind in (CaseRequest, Task, Outcome):
            prepare(kind)

    def run_cases(self, requests: Sequence[bytes], is_wanted: Callable[[], bool]) -> Iterator[Reply]:
        """Run cases one after the other, until the batch takes too long, or a reply says that others cannot run.

        Args:
            requests: encoded, of one slot.
            is_wanted: returns whether the client still waits for the replies.

        Raises:
            Interrupted: it does not.
        """
        decoded = [messages.request_of(request) for request in requests]
        files = {file.digest: file for request in decoded for file in request.files}
        missing = self.store.missing(files.values())
        if missing and decoded[0].worker == self.identity:
            yield CaseReply("missing", missing=missing), {}
            return
        until = time.monotonic() + messages.LONGEST_BATCH_S
        sent = 0
        for request in decoded:
            reply, contents = self.run_case(request, is_wanted)
            yield reply, contents
            sent += sum(map(len, contents.values()))
            is_usable = reply.kind in ("done", "failed")
            if not is_usable or time.monotonic() >= until or sent >= replies.INLINE_BYTES:
                return

    def run_case(self, request: CaseRequest, is_wanted: Callable[[], bool]) -> Reply:
        """Run a case in a watched worker process.

        Args:
            request: of the client.
            is_wanted: returns whether the client still waits for the reply.

        Raises:
            Interrupted: it does not.
        """
        if request.worker != self.identity:
            return CaseReply("stale"), {}
        missing = self.store.missing(request.files)
        if missing:
            return CaseReply("missing", missing=missing), {}
        try:
            folders = self._folders(request)
            lacking = self._lay_out(request, folders)
            if lacking:
                return CaseReply("missing", missing=lacking), {}
            with self._card(request.device) as card:
                outcome = self._outcome(request, task_on_host(request, folders), card, is_wanted)
            if isinstance(outcome, str):
                return CaseReply("unusable", message=outcome), {}
            packed = replies.packed(request, outcome, folders)
        except (HarnessError, OSError) as error:
            return CaseReply("failed", message=f"{request.label}: {error}"), {}
        self._finish(request.run, folders.case, is_kept=any(file.how == "kept" for file in packed[0].files))
        return packed

    def warm(self, request: CaseRequest) -> None:
        """Start a worker process before there is a case for it."""
        if request.device == "cpu":
            slot = self._slot(request, 0)
            idle = self._taken(slot, request) or self._opened(slot, request)
            idle.pool.warm(1)
            self._put_back(slot, request, idle)

    def piece(self, run: str, path: str, offset: int, size: int) -> bytes:
        """Read a piece of a file that a case of a run left for the client.

        Args:
            run: its name.
            path: `CASE-FOLDER/DUMP`, from `case_folder`.
            offset: of the piece.
            size: bytes at most.

        Raises:
            StorageError: it is not there.
        """
        file = storage.safe_join(self._run(run).folder, path)
        with storage.disk_errors(file, "read"), file.open("rb") as source:
            source.seek(offset)
            return source.read(size)

    def drop_case(self, run: str, case: str) -> None:
        """Forget what a case left for the client."""
        self._finish(run, self._run(run).folder / case_folder(case), is_kept=False)

    def end_run(self, run: str) -> None:
        """End the running cases of a run, and remove its files."""
        with self._lock:
            for running in self._running:
                if running.run == run:
                    running.stop.set()
            ended = self._runs.pop(run, None)
            idle: list[_Idle] = []
            if not self._running:
                idle += itertools.chain.from_iterable(self._idle.values())
                self._idle.clear()
        for process in idle:
            process.held.close()
        if ended is not None:
            shutil.rmtree(ended.folder, ignore_errors=True)

    def close(self) -> None:
        """End all processes and remove all files."""
        with self._lock:
            for running in self._running:
                running.stop.set()
        for run in list(self._runs):
            self.end_run(run)

    # --- files --------------------------------------------------------------------------------------------------------

    def _run(self, name: str) -> _Run:
        with self._lock:
            if name not in self._runs:
                self._made += 1
                self._runs[name] = _Run(self._folder / f"run-{self._made}")
            self._runs[name].used = time.monotonic()
            return self._runs[name]

    def _folders(self, request: CaseRequest) -> CaseFolders:
        run = self._run(request.run)
        case = run.folder / case_folder(request.case)
        with storage.disk_errors(case):
            shutil.rmtree(case, ignore_errors=True)
            case.mkdir(parents=True, mode=0o700)
        return CaseFolders(run.folder / "files", case, run.folder / "shared")

    def _lay_out(self, request: CaseRequest, folders: CaseFolders) -> tuple[str, ...]:
        """Place the files of a case below the run's folder; return the digests of those that are gone."""
        run = self._run(request.run)
        for file in request.files:
            if run.placed.get(file.path) == file.digest:
                continue
            if not self.store.place(file, storage.safe_join(folders.files, file.path.lstrip("/"))):
                return (file.digest,)
            run.placed[file.path] = file.digest
        return ()

    def _finish(self, run: str, folder: Path, *, is_kept: bool) -> None:
        """Remove the dumps of the oldest cases; the others are needed where cases share a reference."""
        if is_kept:
            return
        kept = self._run(run).finished
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        with self._lock:
            kept.append((folder, size))
            doomed = []
            while sum(size for _, size in kept) > KEPT_BYTES:
                doomed.append(kept.popleft()[0])
        for old_folder in doomed:
            shutil.rmtree(old_folder, ignore_errors=True)

    # --- processes ----------------------------------------------------------------------------------------------------

    def _outcome(self, request: CaseRequest, task: Task, card: int, is_wanted: Callable[[], bool]) -> Outcome | str:
        """Run a task; the reason where the device cannot be used any more."""
        slot = self._slot(request, card)
        idle = self._taken(slot, request) or self._opened(slot, request)
        running = _Running(request.run, is_wanted, idle.stop)
        with self._lock:
            self._running.append(running)
        self._start_watch()
        try:
            outcomes = [event for event in idle.pool.run((task,)) if isinstance(event, Outcome)]
        except BaseException:
            idle.held.close()
            raise
        finally:
            with self._lock:
                self._running.remove(running)
        if idle.pool.is_lost:
            idle.held.close()
            return outcomes[0].message
        if idle.stop.is_set:
            idle.held.close()
        else:
            self._put_back(slot, request, idle)
        return outcomes[0]

    def _slot(self, request: CaseRequest, card: int) -> DeviceSlot:
        """The device of a case; on the CPU each case has one core, as Dask counts them."""
        environment = cores.share(cores.available())
        if request.device.startswith("cuda"):
            environment = gpu_environment(card)
        return DeviceSlot(request.device, request.label, {**environment, **request.environment})

    def _opened(self, slot: DeviceSlot, request: CaseRequest) -> _Idle:
        with contextlib.ExitStack() as held:
            scratch, stop = held.enter_context(storage.scratch()), held.enter_context(StopSignal(handles=False))
            pool = WorkerPool((slot,), scratch, command=request.command or None, stop=stop)
            held.enter_context(pool)
            return _Idle(pool, stop, held.pop_all(), time.monotonic())

    def _taken(self, slot: DeviceSlot, request: CaseRequest) -> _Idle | None:
        with self._lock:
            pools = self._idle.get(_key(slot, request), [])
            return pools.pop() if pools else None

    def _put_back(self, slot: DeviceSlot, request: CaseRequest, idle: _Idle) -> None:
        idle.since = time.monotonic()
        with self._lock:
            self._idle.setdefault(_key(slot, request), []).append(idle)
        self._start_watch()

    @contextlib.contextmanager
    def _card(self, device: str) -> Iterator[int]:
        """Take a GPU that no other case has; Dask gives this worker no more cases than it has GPUs."""
        if not device.startswith("cuda"):
            yield 0
            return
        with self._lock:
            if not self._cards:
                raise HarnessError("it has no GPU left for this case: declare only those that it has, as in GPU=1")
            card = self._cards.pop(0)
        try:
            yield card
        finally:
            with self._lock:
                self._cards.insert(0, card)

    # --- watch --------------------------------------------------------------------------------------------------------

    def _start_watch(self) -> None:
        with self._lock:
            if self._watch is None:
                self._watch = threading.Thread(target=self._look, name="gpuregress watch", daemon=True)
                self._watch.start()

    def _look(self) -> None:
        """Stop cases that nobody waits for, end processes without work, and forget runs whose client is gone."""
        while True:
            time.sleep(WATCH_S)
            is_alive, now = self._is_alive(), time.monotonic()
            with self._lock:
                for running in self._running:
                    if not is_alive or not running.is_wanted():
                        running.stop.set()
                old: list[_Idle] = []
                for pools in self._idle.values():
                    for idle in list(pools):
                        if now - idle.since > IDLE_S or not is_alive:
                            pools.remove(idle)
                            old.append(idle)
                forgotten = [name for name, run in self._runs.items() if now - run.used > FORGOTTEN_S]
            for idle in old:
                idle.held.close()
            for name in forgotten:
                self.end_run(name)
            if not is_alive:
                return


def _key(slot: DeviceSlot, request: CaseRequest) -> _Key:
    return slot.device, slot.label, tuple(sorted(slot.environment.items())), request.command


def case_folder(case: str) -> str:
    """Name the folder of a case on its host: its digest, for the name may be long and have slashes."""
    return f"case-{storage.digest_text(case.encode())}"


AGENTS: dict[str, HostAgent] = {}
_LOCK = threading.Lock()
_RUNS = ("executing", "long-running")
"""States of a task of a Dask worker that is still wanted."""
_ALIVE = ("running", "paused", "closing_gracefully")


def hello(dask_worker: Any) -> dict[str, Any]:
    """Return the facts of a Dask worker and its host, as JSON."""
    agent = _agent(dask_worker)
    architectures: tuple[str, ...] = ()
    if gpu_count(dask_worker.state.total_resources):
        architectures = tuple(prerequisites.architectures().values())
    facts = HostFacts(
        worker=agent.identity,
        host=socket.gethostname(),
        store=agent.store.identity,
        code=code_digest(),
        architectures=architectures,
        cpu_lack=device_registry.cpu_lack(),
    )
    plain: dict[str, Any] = to_json(facts)
    return plain


def run_cases(requests: list[bytes]) -> list[tuple[bytes, dict[str, bytes]]]:
    """Run cases one after the other; the task of Dask.

    Args:
        requests: encoded `CaseRequest`s, of one slot.

    Returns:
        For each case that was begun the encoded `CaseReply`, and compressed files by digest. The cases after these
        have not begun: the batch took too long or brings too much, or the worker cannot run them.
    """
    from distributed import get_worker  # noqa: PLC0415 - an extra; only Dask calls this

    worker: Any = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state in _RUNS

    agent = _agent(worker)
    return [(messages.encode(reply), contents) for reply, contents in agent.run_cases(requests, is_wanted)]


def warm(request: bytes, dask_worker: Any) -> None:
    """Start a worker process before there is a case for it.

    Args:
        request: an encoded `CaseRequest`, of which the device counts.
        dask_worker: from Dask.
    """
    _agent(dask_worker).warm(messages.request_of(request))


def missing(files: list[tuple[str, str, int]], dask_worker: Any) -> tuple[str, ...]:
    """Return the digests of files that the host lacks; each is given by path, digest and size."""
    return _agent(dask_worker).store.missing(SentFile(*file) for file in files)


def add_piece(file: tuple[str, str, int], sender: str, offset: int, data: bytes, dask_worker: Any) -> None:
    """Take a piece of a file; see `ContentStore.add_piece`."""
    _agent(dask_worker).store.add_piece(SentFile(*file), sender, offset, data)


def piece(run: str, path: str, offset: int, dask_worker: Any) -> bytes:
    """Return a compressed piece of a dump that was not sent with its reply."""
    return replies.compressed(_agent(dask_worker).piece(run, path, offset, messages.PIECE))


def drop_case(run: str, case: str, dask_worker: Any) -> None:
    """Forget the dumps of a case."""
    _agent(dask_worker).drop_case(run, case)


def end_run(run: str, dask_worker: Any) -> None:
    """End the processes of a run on this host, and remove its files."""
    _agent(dask_worker).end_run(run)


def gpu_count(resources: dict[str, float]) -> int:
    """Count the GPUs that a Dask worker declares."""
    return int(resources.get("GPU", 0))


def _agent(worker: Any) -> HostAgent:
    with _LOCK:
        if worker.id not in AGENTS:
            folder = Path(worker.local_directory) / "gpuregress"
            cards = gpu_count(worker.state.total_resources)
            store = ContentStore(cache.folder() / "cluster")
            AGENTS[worker.id] = HostAgent(worker.id, folder, store, cards, lambda: worker.status.name in _ALIVE)
        return AGENTS[worker.id]

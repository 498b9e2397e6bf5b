"""Client's connection to a cluster: a thread with the event loop of a Dask client.

The thread watches the members of the cluster, and takes each batch of cases through its conversation with a host. What
happens goes to an inbox; a descriptor becomes readable with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import threading
import time
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import field

from gpuregress.execution.cluster import host, members, messages, replies
from gpuregress.execution.cluster.host import case_folder
from gpuregress.execution.cluster.members import ClusterMember, member_of
from gpuregress.execution.cluster.messages import CaseReply, CaseRequest, DumpFile, HostFacts, SentFile
from gpuregress.execution.cluster.replies import ReplyFiles
from gpuregress.foundation import storage
from gpuregress.foundation.errors import DeviceError, GpuregressError, StorageError
from gpuregress.foundation.records import from_json
from gpuregress.gpu.records import Record

WATCH_S = 0.5
ANSWER_S = 30.0
"""Patience with an answer of the scheduler, or of a short call on a host."""
CLOSE_S = 5.0
SCHEDULER_S = 8.0
"""Patience with a scheduler whose connection is closed, or whose host does not answer at all."""
_PROBE_S = 2.0
_ROUNDS = 5
"""Replies that a file is missing, to one case; more mean that the host's store cannot hold its files."""


class MembersChanged(Record):
    """Event: Dask workers came or went.

    Attributes:
        members: all that can be used now.
        refused: address → why a worker cannot be used.
    """

    members: tuple[ClusterMember, ...]
    refused: Mapping[str, str] = field(default_factory=dict)


class CaseResult(Record):
    """What a host replied on a case, and the files that have arrived with it."""

    reply: CaseReply
    files: ReplyFiles


class BatchReplied(Record):
    """Event: a host replied to requests.

    Attributes:
        ticket: of the batch.
        results: of its first cases, in the order of the requests; the others have not begun.
        failed: whether the others are not to travel together again: one of them cannot be sent, or breaks the batch.
    """

    ticket: int
    results: tuple[CaseResult, ...]
    failed: bool = False


class BatchLost(Record):
    """Event: the Dask worker of a batch is gone."""

    ticket: int


class ClusterLost(Record):
    """Event: the scheduler cannot be reached, or not any more."""

    why: str


LinkEvent = MembersChanged | BatchReplied | BatchLost | ClusterLost


class ClusterLink:
    """Connection to a cluster, as a context manager; hosts have ended all that it asked for when it is closed.

    Args:
        address: of the scheduler, `tcp://node0:8786`.
        run: name of the run, unique among all clients.
        wait_s: patience with the scheduler.
        scratch: a folder for files that are fetched.
    """

    def __init__(self, address: str, run: str, wait_s: float, scratch: Path) -> None:
        self.address, self._run, self._wait_s, self._scratch = address, run, wait_s, scratch
        self._inbox: queue.SimpleQueue[LinkEvent] = queue.SimpleQueue()
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._client: Any = None
        self._is_joined = False
        self._members: dict[str, ClusterMember] = {}
        self._refused: dict[str, str] = {}
        self._cases: dict[int, tuple[str, asyncio.Task[None]]] = {}
        self._stores: dict[str, asyncio.Lock] = {}
        self._cut_off: list[int] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="cluster", daemon=True)
        self._thread.start()

    def fileno(self) -> int:
        """A descriptor that becomes readable when `events` has something."""
        return self._reader

    def events(self) -> list[LinkEvent]:
        """Return what happened since the last call."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._reader, 1 << 12):
                pass
        happened = []
        with contextlib.suppress(queue.Empty):
            while True:
                happened.append(self._inbox.get_nowait())
        return happened

    def submit(self, ticket: int, requests: Sequence[CaseRequest], member: ClusterMember) -> None:
        """Give a batch of cases to a host; one event reports its end.

        Args:
            ticket: a number that the event has.
            requests: for one slot of this member.
            member: whose Dask worker runs them.
        """
        self._call(self._begin(ticket, requests, member))

    def warm(self, request: CaseRequest, member: ClusterMember) -> None:
        """Start a worker process on a host, which is not waited for."""
        self._call(self._attempt(member.address, host.warm, messages.encode(request)))

    def close(self) -> None:
        """Cancel what is under way, end the run on all hosts, and close the connection; it takes seconds at most."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._closing.set)
        if self._ended.wait(2 * CLOSE_S):
            os.close(self._reader)
            os.close(self._writer)

    # --- the thread ---------------------------------------------------------------------------------------------------

    def _call(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:  # the loop has ended
            work.close()

    def _post(self, event: LinkEvent) -> None:
        self._inbox.put(event)
        with contextlib.suppress(OSError):
            os.write(self._writer, b"!")

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._main())
        except Exception as error:  # noqa: BLE001 - a thread that ends in silence would leave the run waiting
            self._post(ClusterLost(f"the connection to the cluster at {self.address} failed: {_text(error)}"))
        finally:
            with contextlib.suppress(Exception):
                self._loop.run_until_complete(self._cancel_rest())
                self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
            self._ended.set()

    async def _cancel_rest(self) -> None:
        """End what Dask's client has left on the loop."""
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.wait_for(asyncio.gather(*rest, return_exceptions=True), CLOSE_S)

    async def _main(self) -> None:
        opening = asyncio.ensure_future(self._open())
        closing = asyncio.ensure_future(self._closing.wait())
        await asyncio.wait((opening, closing), return_when=asyncio.FIRST_COMPLETED)
        if not opening.done():
            opening.cancel()
        else:
            closing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            self._client = await opening
        if self._client is None:
            return
        try:
            await self._watch()
        finally:
            await self._leave()

    async def _open(self) -> Any:
        """Connect to the scheduler; None where that fails, which is reported."""
        try:
            from distributed import Client  # noqa: PLC0415 - an extra, and it takes half a second to load
        except ImportError:
            self._post(ClusterLost("a cluster needs Dask: pip install 'gpuregress[cluster]'"))
            return None
        for name in [*logging.root.manager.loggerDict]:
            if name.partition(".")[0] == "distributed":
                logging.getLogger(name).setLevel(logging.CRITICAL)  # errors are reported in our own words
        client: Any = Client(self.address, asynchronous=True, timeout=self._wait_s, set_as_default=False)
        try:
            return await client
        except (OSError, TimeoutError):
            problem = f"no Dask scheduler answers at {self.address} within {self._wait_s:g} s"
            problem += ": is `dask scheduler` running there, and can this machine reach it?"
        except Exception as error:  # noqa: BLE001 - a wrong address, a certificate, another version of Dask
            problem = f"cannot connect to the Dask scheduler at {self.address}: {_text(error)}"
        except asyncio.CancelledError:
            await _closed(client)
            raise
        await _closed(client)
        self._post(ClusterLost(problem))
        return None

    async def _watch(self) -> None:
        silent_since = time.monotonic()
        while not self._closing.is_set():
            try:
                identity = self._client.scheduler.identity(n_workers=-1)
                found = await asyncio.wait_for(identity, SCHEDULER_S - _PROBE_S)
                await self._compare(found["workers"])
                silent_since = time.monotonic()
                # The scheduler is back, and does not know the cases that ran when it was lost.
                while self._cut_off:
                    self._post(BatchLost(self._cut_off.pop()))
            except (OSError, TimeoutError, KeyError):
                patience_s = self._wait_s
                if self._client.status != "running" or not await self._is_reachable():
                    patience_s = min(self._wait_s, SCHEDULER_S - _PROBE_S)
                if self._client.status in ("closing", "closed") or time.monotonic() - silent_since > patience_s:
                    self._post(ClusterLost(f"the connection to the Dask scheduler at {self.address} was lost"))
                    return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), WATCH_S)

    async def _is_reachable(self) -> bool:
        """Tell whether the scheduler's host takes connections: one that is busy does, one without power does not."""
        where = urlsplit(self.address)
        if where.port is None:
            return True
        with contextlib.suppress(OSError, TimeoutError):
            _, writer = await asyncio.wait_for(asyncio.open_connection(where.hostname, where.port), _PROBE_S)
            writer.close()
            return True
        return False

    async def _compare(self, workers: Mapping[str, Mapping[str, Any]]) -> None:
        """Tell of the Dask workers that came, went or changed, and of the cases that were lost with them."""
        before, refused = dict(self._members), dict(self._refused)
        for address in [*self._members, *self._refused]:
            if address not in workers:
                self._refused.pop(address, None)
                self._forget(address)
        new = [address for address in workers if address not in self._members and address not in self._refused]
        greetings = await asyncio.gather(*(self._greet(address, workers[address]) for address in new))
        for address, member in zip(new, greetings, strict=True):
            if isinstance(member, ClusterMember):
                self._members[address] = member
            elif member:
                self._refused[address] = member
        for address, member in self._members.items():
            self._members[address] = member.as_told(workers[address])
        if self._members != before or self._refused != refused or not self._is_joined:
            self._is_joined = True
            self._post(MembersChanged(tuple(self._members.values()), dict(self._refused)))

    def _forget(self, address: str) -> None:
        """Drop a member that is gone; its cases are lost."""
        self._members.pop(address, None)
        for where, case in list(self._cases.values()):
            if where == address:
                case.cancel()

    async def _greet(self, address: str, info: Mapping[str, Any]) -> ClusterMember | str:
        """Ask a new Dask worker what it is; the reason where it cannot be used, "" where it did not answer yet."""
        try:
            told = await self._ask(address, eval, members.QUESTION)
            problem = members.version_problem(told)
            if problem:
                return problem
            facts = from_json(HostFacts, await self._ask(address, host.hello))
            return members.code_problem(facts.code) or member_of(address, info, facts)
        except DeviceError as error:
            return str(error)
        except (OSError, TimeoutError):
            return ""
        except Exception as error:  # noqa: BLE001 - whatever the worker raised
            return _text(error)

    async def _ask(self, address: str, function: Any, *arguments: Any) -> Any:
        """Call a short function on a Dask worker, outside of its tasks."""
        call = self._client.run(function, *arguments, workers=[address], on_error="return")
        answer = (await asyncio.wait_for(call, ANSWER_S))[address]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def _attempt(self, address: str, function: Any, *arguments: Any) -> None:
        with contextlib.suppress(Exception):
            await self._ask(address, function, *arguments)

    async def _leave(self) -> None:
        """End the run on all hosts, then the connection."""
        cases = [case for _, case in self._cases.values()]
        for case in cases:
            case.cancel()
        with contextlib.suppress(Exception):
            ends = (self._attempt(address, host.end_run, self._run) for address in self._members)
            await asyncio.wait_for(asyncio.gather(*cases, *ends, return_exceptions=True), CLOSE_S)
        await _closed(self._client)

    # --- a batch of cases ---------------------------------------------------------------------------------------------

    async def _begin(self, ticket: int, requests: Sequence[CaseRequest], member: ClusterMember) -> None:
        if self._members.get(member.address) is None or self._closing.is_set():
            self._post(BatchLost(ticket))
            return
        conversation = asyncio.ensure_future(self._conduct(ticket, requests, member))
        self._cases[ticket] = member.address, conversation
        conversation.add_done_callback(lambda _: self._cases.pop(ticket, None))

    async def _conduct(self, ticket: int, requests: Sequence[CaseRequest], member: ClusterMember) -> None:
        """Ask a host to run cases, send what it lacks, and fetch what they left."""
        results: list[CaseResult] = []
        problem = ""
        try:
            replies_of_host = await self._replies(ticket, requests, member)
            for (reply, contents), request in zip(replies_of_host, requests, strict=False):
                kept = await self._fetched(ticket, request, member, reply)
                results.append(CaseResult(reply, ReplyFiles(contents, kept)))
        except asyncio.CancelledError:
            self._lose(ticket, member)
            return
        except (StorageError, DeviceError) as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001 - whatever Dask raises
            if type(error).__name__ == "KilledWorker" or await self._is_gone(member.address):
                self._lose(ticket, member)
                return
            problem = f"{member.name} failed: {_text(error)}"
        if results and results[0].reply.kind == "stale":
            self._forget(member.address)
            self._post(BatchLost(ticket))
            return
        if problem and len(requests) == 1:
            results = [CaseResult(CaseReply("failed", message=problem), ReplyFiles())]
        self._post(BatchReplied(ticket, tuple(results), failed=bool(problem)))

    def _lose(self, ticket: int, member: ClusterMember) -> None:
        """Tell that a batch is lost with its host; while the scheduler is gone, no host is blamed for it."""
        if self._client.status != "running" and member.address in self._members:
            self._cut_off.append(ticket)
        else:
            self._post(BatchLost(ticket))

    async def _replies(
        self, ticket: int, requests: Sequence[CaseRequest], member: ClusterMember
    ) -> list[tuple[CaseReply, dict[str, bytes]]]:
        data = [messages.encode(request) for request in requests]
        for turn in range(_ROUNDS):
            future = self._client.submit(
                host.run_cases,
                data,
                key=f"gpuregress-{self._run}-{ticket}-{turn}",
                workers=[member.address],
                allow_other_workers=False,
                resources={"GPU": 1} if member.gpus else None,
                pure=False,
            )
            try:
                answers = await future
            except asyncio.CancelledError:
                with contextlib.suppress(Exception):
                    await asyncio.wait_for(asyncio.shield(self._client.cancel([future], force=True)), CLOSE_S)
                raise
            decoded = [(messages.reply_of(answer), contents) for answer, contents in answers]
            last = decoded[-1][0]
            if last.kind != "missing":
                return decoded
            if len(decoded) > 1:  # a file was removed while the batch ran: its case is sent with the others after it
                return decoded[:-1]
            lacking = {file.digest: file for request in requests for file in request.files}
            await self._send([lacking[digest] for digest in last.missing if digest in lacking], member)
        raise DeviceError(f"{member.name} does not keep the files of {requests[0].case}: is its disk full?")

    async def _send(self, files: list[SentFile], member: ClusterMember) -> None:
        """Send files to a host, each once for all of its Dask workers."""
        async with self._stores.setdefault(member.facts.store, asyncio.Lock()):
            plain = [(file.path, file.digest, file.size) for file in files]
            lacking = set(await self._ask(member.address, host.missing, plain))
            for file in plain:
                if file[1] not in lacking:
                    continue
                lacking.discard(file[1])
                await self._send_file(file, member)

    async def _send_file(self, file: tuple[str, str, int], member: ClusterMember) -> None:
        path, _, size = file
        with storage.disk_errors(Path(path), "read"), Path(path).open("rb") as source:
            offset = 0
            while offset < size or not offset:
                data = source.read(messages.PIECE)
                await self._ask(member.address, host.add_piece, file, self._run, offset, data)
                offset += len(data)
                if not data:
                    return

    async def _fetched(
        self, ticket: int, request: CaseRequest, member: ClusterMember, reply: CaseReply
    ) -> dict[str, Path]:
        """Fetch the large dumps of a case; digest → local file."""
        fetched: dict[str, Path] = {}
        for file in reply.files:
            if file.how == "kept" and file.digest not in fetched:
                fetched[file.digest] = await self._fetch(ticket, request, member, file)
        if fetched:
            await self._attempt(member.address, host.drop_case, self._run, request.case)
        return fetched

    async def _fetch(self, ticket: int, request: CaseRequest, member: ClusterMember, file: DumpFile) -> Path:
        target = self._scratch / f"fetched-{ticket}-{file.digest}"
        name, offset = f"{case_folder(request.case)}/{file.path}", 0
        with storage.disk_errors(target), target.open("wb") as sink:
            while offset < file.size:
                data = replies.expanded(await self._ask(member.address, host.piece, self._run, name, offset))
                if not data:
                    raise StorageError(f"{file.path} was cut short on {member.name}")
                sink.write(data)
                offset += len(data)
        return target

    async def _is_gone(self, address: str) -> bool:
        """Tell whether a Dask worker is gone, after Dask said that a task failed."""
        if self._client.status != "running":
            return True
        with contextlib.suppress(Exception):
            found = await asyncio.wait_for(self._client.scheduler.identity(n_workers=-1), ANSWER_S)
            return address not in found["workers"]
        return True


async def _closed(client: Any) -> None:
    """Close a Dask client, connected or not."""
    with contextlib.suppress(Exception):
        await asyncio.wait_for(client.close(), CLOSE_S)


def _text(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    name = "" if isinstance(error, GpuregressError) else f"{type(error).__name__}: "
    return f"{name}{lines[0]}" if lines else type(error).__name__

"""Pool of compiler processes.

A compilation that crashes or hangs is an error of its source alone, and ^C does not wait for it.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, Self

from msgspec import field

from gpuregress.execution.workers.channel import Message, decode_error
from gpuregress.execution.workers.watchdog import Phase, patience
from gpuregress.execution.workers.worker_process import DeviceSlot, Worker, death_of
from gpuregress.foundation import storage
from gpuregress.foundation.errors import CompilerStopped, GpuregressError, HarnessError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Program, Source, from_json
from gpuregress.foundation.wording import joined
from gpuregress.gpu.records import MutableRecord
from gpuregress.toolchain.python_kernels import compiler

Result = Program | GpuregressError
_MOST_PROCESSES = 8
"""Each takes up to 200 MB."""


class Crew(Protocol):
    """Crew of compilers: sources go in, programs or errors come out as they are ready. `CompilerPool` is one."""

    count: int

    @property
    def under_way(self) -> int:
        """The number of sources that are being compiled."""

    @property
    def deadline(self) -> float | None:
        """The latest time at which `collect` has something new, seconds of time.monotonic."""

    def fileno(self) -> int:
        """A descriptor that becomes readable when `collect` has something new; -1: it always has."""

    def submit(self, key: str, source: Source) -> None:
        """Start a compilation."""

    def dismiss(self) -> None:
        """End the processes that have nothing to do."""

    def wait(self, until: float | None = None) -> None:
        """Wait until `collect` has something new, or it is `until`, seconds of time.monotonic."""

    def collect(self) -> list[tuple[str, Result]]:
        """The results since the last call."""


def process_count() -> int:
    """The number of processes that may compile at a time on this machine."""
    return max(1, min(len(os.sched_getaffinity(0)), _MOST_PROCESSES))


COMPILING_S = 900.0
"""The time limit of one source; a kernel of 2,000 mma instructions takes half a minute."""

_COMMAND = (sys.executable, "-P", "-m", "gpuregress.execution.workers.compile_child")
_STEERING = ("NVRTC_", "NVVM_", "NV_NVVM", "LIBNVVM_", "EDG_", *compiler.STEERING)
"""Environment variables that the compiler reads: they are in no cache's key."""
_DYING_S = 1.0
_MOST_TOGETHER = 64
"""Sources of one request."""


class _Compiler(MutableRecord):
    """One compiler process.

    Attributes:
        worker: the process.
        requested: key → source of what it compiles and has not answered yet; empty where it is free.
        keys: of all sources of the request, in their order.
        deadline: when that must be over, seconds of time.monotonic.
        user_folder: the folder of the Python sources that it has imported.
    """

    worker: Worker
    requested: dict[str, Source] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    deadline: float = 0.0
    user_folder: str = ""


class CompilerPool:
    """Compiler processes, as a context manager that ends them all.

    A process is started when there is something to compile, and takes one source after another. With precompiled
    headers it takes all that are submitted before the next `wait`, and divides them among processes that it forks.

    Args:
        count: how many there may be.
        stop: set when the user asks to stop.
        cubins: link to machine code, too.
        precompiled: a folder for precompiled headers; None: there are none, as where each source is compiled once.
        command: starts one, the usual one where None; the channel's descriptor is appended.
        limit_s: what one source may take, seconds.
    """

    def __init__(
        self,
        count: int,
        stop: StopSignal | None = None,
        *,
        cubins: bool = False,
        precompiled: Path | None = None,
        command: Sequence[str] | None = None,
        limit_s: float = COMPILING_S,
    ) -> None:
        self.count = count
        self._stop = stop
        self._cubins = cubins
        self._precompiled = precompiled
        self._command = command or _COMMAND
        self._limit_s = limit_s
        self._waiting: deque[tuple[str, Source]] = deque()
        self._crashed: set[str] = set()
        self._alone: set[str] = set()
        self._compilers: list[_Compiler] = []
        self._started = 0
        self._held = contextlib.ExitStack()
        self._scratch: Path | None = None
        self._selector = selectors.EpollSelector()
        if stop is not None:
            self._selector.register(stop, selectors.EVENT_READ, None)

    def __enter__(self) -> Self:
        """The compilers, without a process yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kills every process."""
        self.close()

    def fileno(self) -> int:
        """A descriptor that becomes readable when `collect` has a result."""
        return self._selector.fileno()

    @property
    def deadline(self) -> float | None:
        """The latest moment of the next result, seconds of time.monotonic; None: unknown."""
        return min((busy.deadline for busy in self._compilers if busy.requested), default=None)

    @property
    def under_way(self) -> int:
        """The number of sources that are being compiled or wait for it."""
        return len(self._waiting) + sum(len(process.requested) for process in self._compilers)

    def begin(self) -> None:
        """Start a process, which is ready for the first source then."""
        if not self._compilers:
            self._start()

    def submit(self, key: str, source: Source) -> None:
        """Request a compilation; `collect` returns its result.

        Args:
            key: names it.
            source: what is compiled.
        """
        self._waiting.append((key, source))
        if self._precompiled is None:
            self._hand_out()

    def wait(self, until: float | None = None) -> None:
        """Wait until `collect` has a result.

        Args:
            until: seconds of time.monotonic at which it returns without one.

        Raises:
            Interrupted: the user asked to stop.
        """
        self._hand_out()
        self._selector.select(patience(self.deadline, until))
        if self._stop is not None:
            self._stop.check()

    def collect(self) -> list[tuple[str, Program | GpuregressError]]:
        """Return the programs and errors since the last call, without waiting."""
        results: list[tuple[str, Program | GpuregressError]] = []
        for event, _ in self._selector.select(0):
            if event.data is not None:
                results += self._on_message(event.data)
        for process in list(self._compilers):
            if not process.requested or process.deadline > time.monotonic():
                continue
            if not self._put_back(process):
                (key, source), *_ = process.requested.items()
                name = Path(source.path).name
                results.append((key, CompilerStopped(f"{name}: not compiled after {self._limit_s:g} s")))
            self._end(process)
        # The next source may have the same key.
        self._crashed.difference_update(key for key, _ in results)
        self._alone.difference_update(key for key, _ in results)
        self._hand_out()
        return results

    def dismiss(self) -> None:
        """End the idle processes; a further source starts one again."""
        for process in list(self._compilers):
            if not process.requested:
                self._end(process)

    def close(self) -> None:
        """Kill every process."""
        for process in list(self._compilers):
            self._end(process)
        self._waiting.clear()
        self._selector.close()
        self._held.close()

    # --- one process --------------------------------------------------------------------------------------------------

    def _hand_out(self) -> None:
        while self._waiting:
            source = self._waiting[0][1]
            folder = ""
            if source.python is not None:
                folder = os.path.dirname(source.path)  # noqa: PTH120 - text
            process = self._free_process(folder)
            if process is None:
                return
            process.requested = self._next_request()
            process.keys = tuple(process.requested)
            process.user_folder = folder or process.user_folder
            process.deadline = time.monotonic() + self._limit_s
            # A process that is gone is noticed by its closed channel.
            with contextlib.suppress(OSError):
                request = {
                    "do": "compile",
                    "sources": list(process.requested.values()),
                    "cubin": self._cubins,
                    "again": process.keys[0] in self._crashed,
                    "precompiled": str(self._precompiled or ""),
                    "processes": process_count(),
                }
                process.worker.channel.send(request, timeout_s=self._limit_s)

    def _next_request(self) -> dict[str, Source]:
        """Take the next source, and those after it that one process may compile with it."""
        key, source = self._waiting.popleft()
        request = {key: source}
        is_alone = self._precompiled is None or key in self._alone or source.python is not None
        while self._waiting and not is_alone and len(request) < _MOST_TOGETHER:
            key, source = self._waiting[0]
            if key in self._alone or source.python is not None:
                break
            request[key] = source
            self._waiting.popleft()
        return request

    def _put_back(self, process: _Compiler) -> bool:
        """Let each source of a request be compiled alone, so that the one is known whose fault it is.

        Returns:
            Whether the process had several sources.
        """
        if len(process.keys) == 1:
            return False
        self._alone.update(process.requested)
        self._waiting.extendleft(reversed(process.requested.items()))
        process.requested = {}
        return True

    def _free_process(self, folder: str) -> _Compiler | None:
        """Find or start a process that has imported no module of another folder; None while all are busy."""
        idle = [process for process in self._compilers if not process.requested]
        for process in idle:
            if not folder or process.user_folder in ("", folder):
                return process
        if len(self._compilers) >= self.count:
            if not idle:
                return None
            self._end(idle[0])
        return self._start()

    def _start(self) -> _Compiler:
        self._started += 1
        self._scratch = self._scratch or self._held.enter_context(storage.scratch())
        unset = tuple(name for name in os.environ if name.startswith(_STEERING))
        slot = DeviceSlot("cpu", "the compiler", unset=unset)
        started = _Compiler(Worker(slot, self._command, self._scratch / f"compiler-{self._started}.txt"))
        self._compilers.append(started)
        self._selector.register(started.worker.channel, selectors.EVENT_READ, started)
        return started

    def _on_message(self, sender: _Compiler) -> list[tuple[str, Program | GpuregressError]]:
        try:
            messages, alive = sender.worker.messages()
        except HarnessError as error:
            keys = list(sender.requested)
            self._end(sender)
            return [(key, error) for key in keys]
        results: list[tuple[str, Program | GpuregressError]] = []
        for message in messages:
            key = sender.keys[message["number"]]
            del sender.requested[key]
            results.append((key, _result(message)))
        if not alive:
            # The exit code tells a crash from a kill, and comes a moment after the end of the channel.
            sender.worker.wait(_DYING_S)
            if sender.requested and not self._put_back(sender):
                (key, source), *_ = sender.requested.items()
                death = _death(sender.worker, source)
                if isinstance(death, CompilerStopped) and key not in self._crashed and source.python is None:
                    self._crashed.add(key)
                    self._waiting.appendleft((key, source))
                else:
                    results.append((key, death))
        if not alive or any(message.get("last") for message in messages):
            self._end(sender)
        return results

    def _end(self, ended: _Compiler) -> None:
        self._compilers.remove(ended)
        self._selector.unregister(ended.worker.channel)
        ended.worker.kill()


def _result(message: Message) -> Program | GpuregressError:
    if message["say"] == "compiled":
        return from_json(Program, message["program"])
    return decode_error(message)


def _death(worker: Worker, source: Source) -> GpuregressError:
    """Describe a process that ended while it compiled; a crash is mostly the source's fault."""
    why = worker.cause(Phase.PREPARING).why
    code, tail = worker.process.returncode, worker.tail()
    what = joined(": ", Path(source.path).name, f"the compiler's process {death_of(code)}", why)
    if tail:
        what += f": {tail[-1].strip()}"
    if code is not None and code < 0 and not why:
        return CompilerStopped(what)
    return HarnessError(what)

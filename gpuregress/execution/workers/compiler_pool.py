"""Pool of compiler processes.

A compilation that crashes or hangs is an error of its source alone, and ^C does not wait for it.
"""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol, Self

from gpuregress.execution.workers import worker_process
from gpuregress.execution.workers.channel import Channel, Message
from gpuregress.execution.workers.watchdog import Phase
from gpuregress.execution.workers.worker_process import death_of
from gpuregress.foundation import errors
from gpuregress.foundation.errors import CompilerStopped, GpuregressError, HarnessError, UnknownNames
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Program, Source, from_json
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

_TAIL_BYTES = 4096
_DYING_S = 1.0
_CLOSING_S = 5.0


@dataclass(slots=True)
class _Compiler:
    """One compiler process.

    Attributes:
        process: it.
        channel: to it.
        captured: what it prints.
        key: what it compiles, None where it is free.
        source: of that key.
        deadline: when that must be over, seconds of time.monotonic.
        user_folder: the folder of the Python sources that it has imported.
    """

    process: subprocess.Popen[bytes]
    channel: Channel
    captured: IO[bytes]
    key: str | None = None
    source: Source | None = None
    deadline: float = 0.0
    user_folder: str = ""


class CompilerPool:
    """Compiler processes, as a context manager that ends them all.

    A process is started when there is something to compile, and takes one source after another.

    Args:
        count: how many there may be.
        stop: set when the user asks to stop.
        cubins: link to machine code, too.
        command: starts one, the usual one where None; the channel's descriptor is appended.
        limit_s: what one source may take, seconds.
    """

    def __init__(
        self,
        count: int,
        stop: StopSignal | None = None,
        *,
        cubins: bool = False,
        command: Sequence[str] | None = None,
        limit_s: float = COMPILING_S,
    ) -> None:
        self.count = count
        self._stop = stop
        self._cubins = cubins
        self._command = command or _COMMAND
        self._limit_s = limit_s
        self._waiting: deque[tuple[str, Source]] = deque()
        self._compilers: list[_Compiler] = []
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
        return min((one.deadline for one in self._compilers if one.key is not None), default=None)

    @property
    def under_way(self) -> int:
        """The number of sources that are being compiled or wait for it."""
        return len(self._waiting) + sum(one.key is not None for one in self._compilers)

    def submit(self, key: str, source: Source) -> None:
        """Request a compilation; `collect` returns its result.

        Args:
            key: names it.
            source: what is compiled.
        """
        self._waiting.append((key, source))
        self._hand_out()

    def wait(self, until: float | None = None) -> None:
        """Wait until `collect` has a result.

        Args:
            until: seconds of time.monotonic at which it returns without one.

        Raises:
            Interrupted: the user asked to stop.
        """
        ends = [end for end in (self.deadline, until) if end is not None]
        patience = max(0.0, min(ends) - time.monotonic()) if ends else None
        self._selector.select(patience)
        if self._stop is not None:
            self._stop.check()

    def collect(self) -> list[tuple[str, Program | GpuregressError]]:
        """Return the programs and errors since the last call, without waiting."""
        results: list[tuple[str, Program | GpuregressError]] = []
        for event, _ in self._selector.select(0):
            if event.data is not None:
                results += self._on_message(event.data)
        for one in [one for one in self._compilers if one.key is not None and one.deadline <= time.monotonic()]:
            name = Path(one.source.path).name if one.source is not None else ""
            results.append((one.key or "", CompilerStopped(f"{name}: not compiled after {self._limit_s:g} s")))
            self._end(one)
        self._hand_out()
        return results

    def dismiss(self) -> None:
        """End the idle processes; a further source starts one again."""
        for one in [one for one in self._compilers if one.key is None]:
            self._end(one)

    def close(self) -> None:
        """Kill every process."""
        for one in [*self._compilers]:
            self._end(one)
        self._waiting.clear()
        self._selector.close()

    # --- one process --------------------------------------------------------------------------------------------------

    def _hand_out(self) -> None:
        while self._waiting:
            source = self._waiting[0][1]
            folder = os.path.dirname(source.path) if source.python is not None else ""  # noqa: PTH120 - text
            idle = [one for one in self._compilers if one.key is None]
            one = next((one for one in idle if not folder or one.user_folder in ("", folder)), None)
            if one is None and len(self._compilers) >= self.count:
                if not idle:
                    return
                self._end(idle[0])
            one = one or self._start()
            one.key, one.source = self._waiting.popleft()
            one.user_folder = folder or one.user_folder
            one.deadline = time.monotonic() + self._limit_s
            with contextlib.suppress(OSError):  # one that is gone is noticed by its closed channel
                asked = {"do": "compile", "source": one.source, "cubin": self._cubins}
                one.channel.send(asked, timeout_s=self._limit_s)

    def _start(self) -> _Compiler:
        ours, theirs = socket.socketpair()
        captured = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process has ended
        with theirs:
            process = subprocess.Popen(
                [*self._command, "--channel", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=captured,
                stderr=captured,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                env={name: text for name, text in os.environ.items() if not name.startswith(_STEERING)},
            )
        one = _Compiler(process, Channel(ours), captured)
        self._compilers.append(one)
        self._selector.register(one.channel, selectors.EVENT_READ, one)
        return one

    def _on_message(self, one: _Compiler) -> list[tuple[str, Program | GpuregressError]]:
        try:
            messages, alive = one.channel.available()
        except HarnessError as error:
            key = one.key or ""
            self._end(one)
            return [(key, error)]
        results = [(one.key or "", _result(message)) for message in messages]
        if results:
            one.key = None
        if alive and any(message.get("last") for message in messages):
            self._end(one)
        if not alive:
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.process.wait(_DYING_S)
            if one.key is not None and one.source is not None:
                results.append((one.key, _death(one, one.source)))
            self._end(one)
        return results

    def _end(self, one: _Compiler) -> None:
        self._compilers.remove(one)
        self._selector.unregister(one.channel)
        one.channel.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(one.process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            one.process.wait(_CLOSING_S)
        one.captured.close()


def _result(message: Message) -> Program | GpuregressError:
    if message["say"] == "compiled":
        return from_json(Program, message["program"])
    if message["names"]:
        return UnknownNames(message["names"])
    kind: type[GpuregressError] = getattr(errors, message["error"])
    return kind(message["message"])


def encode_error(error: GpuregressError) -> Mapping[str, object]:
    """Encode an error as a message; `_result` decodes it."""
    names = error.messages if isinstance(error, UnknownNames) else {}
    return {"say": "failed", "error": type(error).__name__, "message": str(error), "names": names}


def _death(one: _Compiler, source: Source) -> GpuregressError:
    """Describe a process that ended while it compiled; a crash is mostly the source's fault."""
    code = one.process.returncode
    one.captured.seek(0)
    printed = one.captured.read()[-_TAIL_BYTES:].decode(errors="replace").splitlines()
    is_limited = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    why = worker_process.cause_of_exit(code, printed, Phase.PREPARING, is_limited=is_limited).why
    last = next((line.strip() for line in reversed(printed) if line.strip()), "")
    details = "".join(f": {text}" for text in (why, last) if text)
    what = f"{Path(source.path).name}: the compiler's process {death_of(code)}{details}"
    return CompilerStopped(what) if code is not None and code < 0 and not why else HarnessError(what)

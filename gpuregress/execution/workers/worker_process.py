"""Worker process: started in a session of its own, and ended with its process group."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import selectors
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import field

from gpuregress.execution.workers import watchdog, worker_spawn
from gpuregress.execution.workers.channel import Channel, Message
from gpuregress.execution.workers.watchdog import KILL_GRACE_S, LAUNCHES, Phase, Watch, patience
from gpuregress.foundation.interrupts import FROM_OUTSIDE, StopSignal
from gpuregress.gpu.errors import CodeLine
from gpuregress.gpu.records import Record

if TYPE_CHECKING:
    # Records take long to load, and the first worker is started without them.
    from gpuregress.foundation.records import DeviceInfo, Task

_MEMORY_WORDS = (
    "out of memory",  # LLVM ERROR, OpenBLAS
    "std::bad_alloc",
    "memory allocation of",  # Rust, so orjson
    "Cannot allocate memory",
    "cannot allocate memory",
    "failed to map segment",
    "MemoryError",
    "Unable to allocate",  # numpy
    "pthread_create failed",
    "can't start new thread",
)
_OF_KERNELS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP, signal.SIGABRT)
"""The signals that executing code gets for what it does; every other one is sent."""
_NO_MEMORY = "memory ran out, or is limited (see `ulimit -v`), which is not the kernel's fault"


class Cause(Record):
    """The party to blame for a worker's death, and an explanation for the user; "" if nothing is known."""

    whose: Literal["kernel", "user", "none"]
    why: str = ""


class StoppedLaunch(Record):
    """What a launch reported when it was stopped at its limit.

    Attributes:
        lines: where its threads stood, and what the dynamic checks had found; none where that is not known.
        source_line: the first line of a source that they name.
    """

    lines: tuple[str, ...] = ()
    source_line: CodeLine | None = None


def cause_of_exit(code: int | None, words: Sequence[str], phase: Phase, *, is_limited: bool) -> Cause:
    """Find the cause of a worker's death.

    Args:
        code: the process's return code, negative for a signal.
        words: the lines that it wrote; a traceback of many frames may follow the decisive one.
        phase: its phase at the end.
        is_limited: its address space has a limit, so that any allocation may fail.
    """
    code = code or 0
    number = max(0, -code)
    if number in FROM_OUTSIDE:
        return Cause("none", FROM_OUTSIDE[number])
    no_memory = ""
    gave_up = number == signal.SIGABRT or code > 0  # no kernel calls abort or exit
    if gave_up and (memory_line(words) or (is_limited and number)):
        no_memory = _NO_MEMORY
    if phase is Phase.COMPUTING:
        return Cause("user", no_memory)
    if number and number not in _OF_KERNELS:
        return Cause("none", "it was ended from outside")
    if phase not in LAUNCHES or no_memory:
        return Cause("none", no_memory)
    return Cause("kernel")


def memory_line(words: Sequence[str]) -> str:
    """Return the first line that says that memory ran out; "" if none does."""
    for line in words:
        if any(word in line for word in _MEMORY_WORDS):
            return line
    return ""


_TAIL_BYTES = 16_384
_TAIL_LINES = 20


class DeviceSlot(Record):
    """A device, or a share of its host's cores, where one worker at a time runs.

    Attributes:
        device: what the worker opens: `cpu`, `cuda:0`.
        label: its name in messages: `cuda:3` where CUDA_VISIBLE_DEVICES hides the others.
        environment: what is added to the worker's environment.
        unset: variables that it does not inherit.
    """

    device: str
    label: str
    environment: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()


class WorkerEnded(Exception):
    """The worker closed its channel."""


class WorkerLate(Exception):
    """The phase of the worker took longer than its limit."""


def death_of(code: int | None) -> str:
    """Describe how a process ended.

    Args:
        code: as subprocess gives it: the negative number of a signal, the exit code; None where it has not ended.
    """
    if code is None:
        return "closed its channel"
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"died of {signal.Signals(-code).name}"
    except ValueError:
        return f"died of signal {-code}"


class Worker:
    """A child process that runs one case after another.

    Args:
        slot: where it runs.
        command: what starts it, the usual one where None; the channel's descriptor and the device are appended.
        captured: the file that takes its stdout and stderr.
        after_fault: the worker before it failed here, so the device must prove that it is well.
        passed: further descriptors that the process inherits.

    Attributes:
        user_folders: the folders of the user's code that it has run.
        device: what it has opened; None until it is ready.
    """

    def __init__(
        self,
        slot: DeviceSlot,
        command: Sequence[str] | None,
        captured: Path,
        *,
        after_fault: bool = False,
        passed: tuple[int, ...] = (),
    ) -> None:
        self.slot = slot
        self.task: Task | None = None
        self.user_folders: frozenset[str] = frozenset()
        self.device: DeviceInfo | None = None
        self.interim: Message | None = None
        self.stopped = StoppedLaunch()
        self.watch = Watch(Phase.STARTING)
        self.refusal = ""
        self.ready = False
        self.began = 0.0
        self.cpu_before_s = 0.0
        self._captured = captured
        self._before_task = 0
        self._arrived: deque[Message] = deque()
        is_usual = command is None and not after_fault and not passed
        early = worker_spawn.take(slot.device, slot.environment) if is_usual else None
        if early is not None:
            started, printed = early
            self._captured = Path(f"/proc/self/fd/{printed}")  # open for as long as this process lives
        else:
            with captured.open("wb") as sink:
                started = worker_spawn.start(
                    slot.device,
                    slot.environment,
                    sink.fileno(),
                    command,
                    after_fault=after_fault,
                    passed=passed,
                    unset=slot.unset,
                )
        self.process = started.process
        self.channel = Channel(started.connection)
        self.watch.enter(Phase.STARTING, time.monotonic())

    @property
    def is_free(self) -> bool:
        """Tell whether it can take a task now."""
        return self.task is None and self.watch.phase in (Phase.STARTING, Phase.IDLE)

    def submit(self, task: Task) -> None:
        """Send a task. If the worker is already gone, the reader of its channel notices."""
        self.task = task
        self.interim = None
        self.stopped = StoppedLaunch()
        with contextlib.suppress(OSError):
            self._before_task = self._captured.stat().st_size if self.ready else 0
        self.began = time.monotonic()
        if self.ready:
            self.watch.enter(Phase.PREPARING, self.began)
        # A worker that does not read a long task runs into its time limit, as any that is stuck.
        with contextlib.suppress(OSError):
            self.channel.send({"do": "run", "task": task}, timeout_s=watchdog.STARTING_S)

    def messages(self) -> tuple[list[Message], bool]:
        """Return its messages since the last call, and whether the channel is still open."""
        return self.channel.available()

    def next_message(self, stop: StopSignal | None = None) -> Message:
        """Wait for its next message.

        Args:
            stop: set when the user asks to stop.

        Raises:
            WorkerEnded: it closed its channel.
            WorkerLate: the time of its phase is over.
            HarnessError: a message was damaged.
            Interrupted: the user asked to stop.
        """
        with selectors.DefaultSelector() as selector:
            selector.register(self.channel, selectors.EVENT_READ)
            if stop is not None:
                selector.register(stop, selectors.EVENT_READ)
            while not self._arrived:
                messages, is_open = self.messages()
                self._arrived += messages
                if not messages and not is_open:
                    raise WorkerEnded
                if not messages and not selector.select(patience(self.watch.deadline)):
                    raise WorkerLate
                if stop is not None:
                    stop.check()
        return self._arrived.popleft()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def cpu_s(self) -> float:
        """Return the seconds of CPU time that its threads took; infinity where that is not known."""
        try:
            stat = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            return math.inf
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def cause(self, phase: Phase) -> Cause:
        """Find the cause of its death in a phase."""
        is_limited = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
        return cause_of_exit(self.process.returncode, self.output(), phase, is_limited=is_limited)

    def death(self) -> str:
        """Describe how the process ended."""
        if self.process.returncode is None:
            return "the worker closed its channel"
        return f"the worker process {death_of(self.process.returncode)}"

    def tail(self) -> tuple[str, ...]:
        """Return the last lines of its output, as many as a report shows, with the line that tells of no memory."""
        lines = self.output()
        decisive = memory_line(lines[:-_TAIL_LINES])
        if decisive:
            return (decisive, *lines[1 - _TAIL_LINES :])
        return lines[-_TAIL_LINES:]

    def output(self) -> tuple[str, ...]:
        """Return the lines of its output, of its current task only; at most the last 16 KiB."""
        with contextlib.suppress(OSError), self._captured.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(self._before_task, file.tell() - _TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
            return tuple(line for line in lines if line.strip())
        return ()

    def release(self) -> None:
        """Let an idle worker go without waiting: a GPU's context takes long to close.

        A daemon thread waits for it. If this process ends first, the worker dies with it.
        """
        self.channel.close()
        threading.Thread(target=self.end, name=f"end of worker {self.process.pid}", daemon=True).start()

    def kill(self) -> None:
        """End the process group at once."""
        self.signal(signal.SIGKILL)
        self.end(0.0)

    def end(self, grace_s: float = 2.0) -> bool:
        """End the process group: close the channel, then send SIGTERM, then SIGKILL.

        Args:
            grace_s: how long it has to leave by itself, and then to obey SIGTERM.

        Returns:
            Whether the process is gone.
        """
        self.channel.close()
        gone = self.wait(grace_s)
        if not gone:
            self.signal(signal.SIGTERM)
            gone = self.wait(grace_s)
        self.signal(signal.SIGKILL)  # also for what it started itself
        return gone or self.wait(KILL_GRACE_S)

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the process; return whether it is gone."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

"""Parent's side of the process of single launches: its start, its calls, its limits and its end.

A kernel that crashes, hangs or loses the GPU ends this process, never the caller's; the next call starts another one.
"""

from __future__ import annotations

import mmap
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuregress.execution.workers import unfinished_cases
from gpuregress.execution.workers.channel import decode_error
from gpuregress.execution.workers.direct_messages import LaunchCall, LaunchResult
from gpuregress.execution.workers.watchdog import STARTING_S, Phase
from gpuregress.execution.workers.worker_process import DeviceSlot, Worker, WorkerEnded, WorkerLate
from gpuregress.foundation.errors import DeviceError, GpuregressError, HarnessError, KernelFault, KernelTimeout
from gpuregress.foundation.records import from_json
from gpuregress.gpu.records import replace
from gpuregress.toolchain import cache

Bytes = npt.NDArray[np.uint8]
_COMMAND = (sys.executable, "-P", "-m", "gpuregress.execution.workers.direct_child")
KEPT_BYTES = 64 << 20
"""Shared memory that is kept from call to call."""
_DYING_S = 10.0


@dataclass(slots=True)
class _Child:
    """A running process, the memory that it shares, and the folder of what it prints."""

    worker: Worker
    descriptor: int
    folder: Path
    size: int = 0
    memory: mmap.mmap | None = None


class LaunchProcess:
    """A process that runs one launch at a time on one device. It is started by the first call.

    Args:
        slot: where it runs.
        command: what starts it, the usual one where None.
    """

    def __init__(self, slot: DeviceSlot, command: Sequence[str] | None = None) -> None:
        self._slot = slot
        self._command = command or _COMMAND
        self._child: _Child | None = None
        self._owner = os.getpid()
        self._lock = threading.Lock()

    def call(
        self, call: LaunchCall, fill: Callable[[Bytes], None], take: Callable[[Bytes], None], timeout_s: float
    ) -> LaunchResult:
        """Run a launch.

        Args:
            fill: writes the contents into the shared memory.
            take: reads the outputs from it; not called where the launch failed.
            timeout_s: limit of the launch itself, seconds.

        Raises:
            KernelFault: the kernel failed, or crashed the process.
            KernelTimeout: it did not end in time, and was killed.
            GpuregressError: the launch is refused, or the device failed.
        """
        # A copy made by fork: the process is the parent's.
        if self._owner != os.getpid():
            self._child = None
            self._owner = os.getpid()
            self._lock = threading.Lock()
        with self._lock:
            if self._child is not None and self._child.worker.process.poll() is not None:
                self.close()  # it ended between two calls
            try:
                return self._call(call, fill, take, timeout_s)
            except BaseException as error:
                if not (isinstance(error, GpuregressError) and self._is_idle(error)):
                    self.close()
                raise

    def close(self) -> None:
        """End the process; the next call starts another one."""
        child, self._child = self._child, None
        if child is None or self._owner != os.getpid():
            return
        child.worker.kill()
        os.close(child.descriptor)
        shutil.rmtree(child.folder, ignore_errors=True)

    def _is_idle(self, error: GpuregressError) -> bool:
        """Whether the process waits for the next call after an error, and its device is well."""
        if isinstance(error, KernelFault) and error.sticky:
            return False
        return self._child is not None and self._child.worker.watch.phase is Phase.IDLE

    def _call(
        self, call: LaunchCall, fill: Callable[[Bytes], None], take: Callable[[Bytes], None], timeout_s: float
    ) -> LaunchResult:
        is_tried = False
        while True:
            child = self._child = self._child or self._started()
            memory = _grown(child, call.memory)
            fill(memory)
            try:
                report = _run(child.worker, replace(call, memory=child.size), timeout_s, is_tried=is_tried)
            except WorkerLate:
                phase = child.worker.watch.phase
                if phase is not Phase.TRYING:
                    raise _overdue(call, phase, timeout_s) from None
            else:
                take(memory)
                del memory
                _shrunk(child)
                return report
            # Its code was not optimised: it runs again, optimised, and has the whole limit.
            is_tried = True
            self.close()
            cache.note_slow(call.program.key)

    def _started(self) -> _Child:
        folder = Path(tempfile.mkdtemp(prefix="gpuregress-launches-"))
        descriptor = os.memfd_create("gpuregress", 0)
        try:
            command = (*self._command, "--memory", str(descriptor))
            worker = Worker(self._slot, command, folder / "output.txt", passed=(descriptor,))
        except BaseException:
            os.close(descriptor)
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return _Child(worker, descriptor, folder)


def _grown(child: _Child, size: int) -> Bytes:
    """The shared memory, at least this large."""
    if size > child.size or child.memory is None:
        child.size = max(size, mmap.PAGESIZE)
        try:
            os.ftruncate(child.descriptor, child.size)
            child.memory = mmap.mmap(child.descriptor, child.size)
        except (OSError, ValueError) as error:
            raise HarnessError(f"there is not enough memory to share {size} bytes with the launch: {error}") from error
    return np.frombuffer(child.memory, np.uint8)


def _shrunk(child: _Child) -> None:
    """Give back the memory of a large call."""
    if child.size > KEPT_BYTES:
        child.memory, child.size = None, 0
        os.ftruncate(child.descriptor, 0)


def _run(worker: Worker, call: LaunchCall, timeout_s: float, *, is_tried: bool) -> LaunchResult:
    """Send a call, and wait for its end."""
    watch = worker.watch
    try:
        if not worker.ready:
            message = worker.next_message()
            if message["say"] == "refused":
                raise DeviceError(message["message"])
            worker.ready = True
        watch.enter(Phase.PREPARING, time.monotonic())
        worker.channel.send({"do": "launch", "call": call}, timeout_s=STARTING_S)
        while (message := worker.next_message())["say"] == "phase":
            phase = Phase(message["phase"])
            if phase is Phase.TRYING and is_tried:
                phase = Phase.LAUNCHING
            watch.enter(phase, time.monotonic(), timeout_s)
    except (WorkerEnded, BrokenPipeError, ConnectionResetError):
        raise _death(worker, call) from None
    watch.enter(Phase.IDLE, time.monotonic())
    if message["say"] == "done":
        return from_json(LaunchResult, message["report"])
    raise decode_error(message)


def _overdue(call: LaunchCall, phase: Phase, timeout_s: float) -> GpuregressError:
    if phase in (Phase.LAUNCHING, Phase.TRYING):
        return KernelTimeout(f"{call.kernel} was killed at its limit of {timeout_s:g} s")
    return DeviceError(f"the process of the launch did not answer while {phase} it")


def _death(worker: Worker, call: LaunchCall) -> GpuregressError:
    """Describe a process that ended; inside of a launch it is the kernel's fault, unless it was ended from outside."""
    worker.wait(_DYING_S)
    if not worker.ready:
        return HarnessError(unfinished_cases.startup_error(worker))
    cause = worker.cause(worker.watch.phase)
    why = f"{worker.death()} in {call.kernel}"
    if cause.why:
        why += f": {cause.why}"
    tail = worker.tail()
    if cause.whose == "kernel":
        return KernelFault("crash", why, details=tail)
    if tail and not cause.why:
        why += f": {tail[-1].strip()}"
    return HarnessError(why)

"""Run of a user's own program with all of its processes, and the choice of its launches that are kept."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from gpuregress.foundation import interrupts
from gpuregress.foundation.errors import UsageError
from gpuregress.gpu.records import Record

OTHERS_S = 10.0
"""Seconds that processes which outlive the first one are waited for; after that, a wait without limit is reported."""
_PR_SET_CHILD_SUBREAPER = 36


class LaunchChoice(Record):
    """The launches of an application whose contents are kept, for jobs.

    Attributes:
        kernels: a glob for names of kernels.
        nth: the number of the launch among those of its kernel, from 1; 0: not given.
        every: the step from one kept launch of a kernel to the next, from the first one on; 0: not given.
        most: the number of first launches of each kernel; used where neither of the others is given.
        max_bytes: bytes of contents that are kept of each kernel.
        sync: whether each launch is waited for, and its record in the log flushed to disk.
        wait: seconds that a chosen launch may take; 0: no limit.
    """

    kernels: str = "*"
    nth: int = 0
    every: int = 0
    most: int = 1
    max_bytes: int = 1 << 30
    sync: bool = False
    wait: int = 60

    def keeps(self, occurrence: int) -> bool:
        """Whether the launch of this number among those of its kernel, from 1, is kept."""
        if self.nth:
            return occurrence == self.nth
        if self.every:
            return (occurrence - 1) % self.every == 0
        return occurrence <= self.most


def run(
    command: Sequence[str], environment: Mapping[str, str], others: Callable[[], object] = bool
) -> subprocess.Popen[bytes]:
    """Run a program to its end.

    ^C reaches the program, SIGTERM and SIGHUP are sent on to it, and it is waited for. Processes of it that outlive the
    first one are waited for some seconds.

    Args:
        command: the program and its arguments.
        environment: of the program.
        others: whether other processes of it still run.

    Returns:
        the process, which has ended.

    Raises:
        UsageError: the program cannot be started.
    """
    with _signals_sent_on() as started:
        process = _start(command, environment)
        started(process)
        _wait(process)
        with contextlib.suppress(KeyboardInterrupt):
            limit = time.monotonic() + OTHERS_S
            while others() and time.monotonic() < limit:
                time.sleep(0.01)
    return process


def run_with_descendants(
    command: Sequence[str], environment: Mapping[str, str], report_wait: Callable[[Mapping[int, str]], None]
) -> tuple[int, dict[int, str]]:
    """Run a program until it and all processes that it has started have ended, also those that it did not wait for.

    Signals are sent on as by `run`. Once the first process has ended, one of them ends the wait for the others. If this
    process is killed, the first process is, too.

    Args:
        command: the program and its arguments.
        environment: of the program.
        report_wait: called once with the processes that are waited for (id → name), if that takes long.

    Returns:
        the return code of the first process, and the processes that still run because the wait was interrupted.

    Raises:
        UsageError: the program cannot be started.
    """
    # Orphans become children of this process, which learns of their end in no other way (prctl(2)).
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    # A shell that was replaced by this process (`exec`) may have started others, which are not the program's.
    earlier = _children().keys()
    with _signals_sent_on() as started:
        process = _start(command, environment, preexec_fn=interrupts.die_with_parent)
        started(process)
        while process.returncode is None:
            with contextlib.suppress(KeyboardInterrupt):  # the terminal sent it to the application, too
                child, status = os.waitpid(-1, 0)
                if child == process.pid:
                    process.returncode = os.waitstatus_to_exitcode(status)
        try:
            _wait_for_orphans(earlier, report_wait)
        except KeyboardInterrupt:
            return process.returncode, _children_except(earlier)
    return process.returncode, {}


def _start(
    command: Sequence[str], environment: Mapping[str, str], preexec_fn: Callable[[], object] | None = None
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(command, env=dict(environment), preexec_fn=preexec_fn)  # noqa: PLW1509 - one thread
    except OSError as error:
        raise UsageError(f"{command[0]} cannot be started: {error.strerror or error}") from error


def _wait_for_orphans(earlier: Collection[int], report_wait: Callable[[Mapping[int, str]], None]) -> None:
    start, pause_s, is_reported = time.monotonic(), 0.005, False
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        children = _children_except(earlier)
        if not children:
            return
        if not is_reported and time.monotonic() - start > OTHERS_S:
            report_wait(children)
            is_reported = True
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 0.1)


def _children_except(earlier: Collection[int]) -> dict[int, str]:
    return {child: name for child, name in _children().items() if child not in earlier}


def _children() -> dict[int, str]:
    """This process's children, id → name."""
    children: dict[int, str] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")
        except OSError:
            continue  # it has ended
        if int(fields.split()[1]) == os.getpid():
            children[int(path.parent.name)] = name.partition("(")[2]
    return children


def is_locked(path: Path) -> bool:
    """Whether a process holds a lock on a file, which it does until its end."""
    try:
        with path.open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def _wait(process: subprocess.Popen[bytes]) -> int:
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # the terminal sent it to the application, too


@contextlib.contextmanager
def _signals_sent_on() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Send SIGTERM and SIGHUP on to a process, from its start on; what was captured until its end is kept."""
    processes: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def send(number: int, _frame: object) -> None:
        if not processes:
            early.append(number)
        elif processes[0].returncode is not None:
            raise KeyboardInterrupt  # only processes that outlive it are waited for
        else:
            os.kill(processes[0].pid, number)

    def started(process: subprocess.Popen[bytes]) -> None:
        processes.append(process)
        for number in early:
            process.send_signal(number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup stays nohup
                before[number] = signal.signal(number, send)
    try:
        yield started
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)

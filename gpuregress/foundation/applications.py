"""Run of a user's own program, with the signals that are sent on to it and its other processes."""

from __future__ import annotations

import contextlib
import fcntl
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from gpuregress.foundation.errors import UsageError

OTHERS_S = 10.0
"""Seconds that processes which outlive the first one are waited for."""


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
        try:
            process = subprocess.Popen(command, env=dict(environment))
        except OSError as error:
            raise UsageError(f"{command[0]} cannot be started: {error.strerror or error}") from error
        started(process)
        _wait(process)
        with contextlib.suppress(KeyboardInterrupt):
            limit = time.monotonic() + OTHERS_S
            while others() and time.monotonic() < limit:
                time.sleep(0.01)
    return process


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
        if processes:
            processes[0].send_signal(number)
        else:
            early.append(number)

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

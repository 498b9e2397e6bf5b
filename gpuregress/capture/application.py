"""Run of the application with the injection library: its environment, its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuregress.errors import UsageError


@dataclass(frozen=True, slots=True)
class Choice:
    """The launches whose contents are kept.

    Attributes:
        kernels: a glob for names of kernels.
        nth: the how manieth launch of each kernel; 0: not given.
        every: every so manieth launch, from the first on; 0: not given.
        most: the number of first launches of each kernel; used where neither of the others is given.
        max_bytes: bytes of contents that are kept of each kernel.
        sync: whether each launch is waited for, and its line in the log flushed to disk.
    """

    kernels: str = "*"
    nth: int = 0
    every: int = 0
    most: int = 1
    max_bytes: int = 1 << 30
    sync: bool = False


@dataclass(frozen=True, slots=True)
class ApplicationEnd:
    """How the application ended: its exit code, negative for a signal."""

    code: int

    @property
    def text(self) -> str:
        """In words; "" where it ended well."""
        if self.code == 0:
            return ""
        if self.code > 0:
            return f"the application exited with {self.code}"
        try:
            name = signal.Signals(-self.code).name
        except ValueError:
            name = f"signal {-self.code}"
        return f"the application was ended by {name}"


def run(command: Sequence[str], library: Path, cupti: Path, folder: Path, choice: Choice) -> ApplicationEnd:
    """Run a command with the injection library in every process of it that uses the GPU.

    ^C reaches the application, SIGTERM and SIGHUP are sent on to it, and it is waited for.

    Args:
        command: the program and its arguments.
        library: the injection library.
        cupti: the library of CUPTI.
        folder: for the records.
        choice: the launches whose contents are kept.

    Raises:
        UsageError: the command cannot be started.
    """
    environment = {
        **os.environ,
        "CUDA_INJECTION64_PATH": str(library),
        "GPUREGRESS_CAPTURE_CUPTI": str(cupti),
        "GPUREGRESS_CAPTURE_FOLDER": str(folder),
        "GPUREGRESS_CAPTURE_KERNEL": choice.kernels,
        "GPUREGRESS_CAPTURE_NTH": str(choice.nth),
        "GPUREGRESS_CAPTURE_EVERY": str(choice.every),
        "GPUREGRESS_CAPTURE_MAX": str(choice.most),
        "GPUREGRESS_CAPTURE_MAX_BYTES": str(choice.max_bytes),
        "GPUREGRESS_CAPTURE_SYNC": str(int(choice.sync)),
    }
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        raise UsageError(f"{command[0]} cannot be started: {error.strerror or error}") from error
    with _signals_sent_on(process):
        while True:
            try:
                return ApplicationEnd(process.wait())
            except KeyboardInterrupt:
                continue  # the terminal sent it to the application, too


@contextlib.contextmanager
def _signals_sent_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Send SIGTERM and SIGHUP on to a process; what was captured until its end is kept."""

    def send(number: int, _frame: object) -> None:
        process.send_signal(number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup stays nohup
                before[number] = signal.signal(number, send)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)

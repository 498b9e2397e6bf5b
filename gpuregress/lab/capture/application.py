"""Run of the application with the injection library: its environment, its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from gpuregress.foundation import applications
from gpuregress.foundation.applications import LaunchChoice
from gpuregress.foundation.errors import UsageError
from gpuregress.gpu.records import Record

_INJECTION = "CUDA_INJECTION64_PATH"
PROBE_S = 60.0


class ApplicationEnd(Record):
    """How the application ended.

    Attributes:
        code: exit code of its first process, negative for a signal.
        process: id of that process.
        running: ids of those of its processes that still ran some seconds later.
    """

    code: int
    process: int = 0
    running: tuple[int, ...] = ()

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


def run(command: Sequence[str], library: Path, cupti: Path, folder: Path, choice: LaunchChoice) -> ApplicationEnd:
    """Run a command with the injection library in every process of it that uses the GPU.

    Args:
        command: the program and its arguments.
        library: the injection library.
        cupti: the library of CUPTI.
        folder: for the records.
        choice: the launches whose contents are kept.

    Raises:
        UsageError: the command cannot be started, or another injection library is asked for.
    """
    other = os.environ.get(_INJECTION)
    if other:
        raise UsageError(f"{_INJECTION} names {other}, and a process has one such library only: unset it to capture")
    environment = {
        **os.environ,
        _INJECTION: str(library),
        "GPUREGRESS_CAPTURE_CUPTI": str(cupti),
        "GPUREGRESS_CAPTURE_FOLDER": str(folder),
        "GPUREGRESS_CAPTURE_KERNEL": choice.kernels,
        "GPUREGRESS_CAPTURE_NTH": str(choice.nth),
        "GPUREGRESS_CAPTURE_EVERY": str(choice.every),
        "GPUREGRESS_CAPTURE_MAX": str(choice.most),
        "GPUREGRESS_CAPTURE_MAX_BYTES": str(choice.max_bytes),
        "GPUREGRESS_CAPTURE_SYNC": str(int(choice.sync)),
        "GPUREGRESS_CAPTURE_WAIT": str(choice.wait),
    }
    process = applications.run(command, environment, lambda: _running(folder))
    return ApplicationEnd(process.returncode, process.pid, _running(folder))


def driver_problem() -> str:
    """Describe why CUDA cannot start in the environment of an application; "" where it can.

    A process of its own asks: it finds the libraries that the application would find, and a driver that hangs or
    crashes ends only it.
    """
    probe = "from gpuregress.execution.cuda import prerequisites; print(prerequisites.driver_lack())"
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        command = [sys.executable, "-P", "-c", probe]
        return subprocess.run(command, capture_output=True, text=True, timeout=PROBE_S, check=True).stdout.strip()
    return ""


def _running(folder: Path) -> tuple[int, ...]:
    """Ids of the processes that still run: each holds a lock on its log."""
    logs = [path for path in folder.glob("*.log") if path.stem.isdecimal()]
    return tuple(sorted(int(path.stem) for path in logs if applications.is_locked(path)))

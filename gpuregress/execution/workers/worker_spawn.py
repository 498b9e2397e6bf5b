"""Start of a worker process, and of the first one before the libraries of `gpuregress run` are loaded.

A worker takes as long to start as all else of a small run together, on a GPU for its driver and its context. The
options of the command mostly tell where the worker will run. If the run then wants another one, or none, it is ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpuregress.virtual_gpu.parallel import cores

LIBRARIES = {"OPENBLAS_THREAD_TIMEOUT": "4"}
"""Defaults of environment variables, for this process and its workers.

numpy's BLAS starts a thread a core, and each spins for 2^26 cycles before it sleeps: on a host with many cores they
take all of them from the start of a run. 2^4 cycles let them sleep at once.
"""

COLLECT_EVERY = 200_000
"""Objects between two searches for garbage. Python's own 700 cost a seventh of the time in which modules load, and find
nothing. One search at 50,000 took 15 ms of the 350 of a cached case, in both of its processes."""

# -P: a random.py or types.py in the user's folder must not stand in for Python's own.
COMMAND = (sys.executable, "-P", "-m", "gpuregress.execution.workers.start")


class StartedWorker:
    """A worker process, the parent's end of its channel, and what it was started for."""

    def __init__(
        self, process: subprocess.Popen[bytes], connection: socket.socket, device: str, environment: Mapping[str, str]
    ) -> None:
        self.process = process
        self.connection = connection
        self.device = device
        self.environment = environment

    def end(self) -> None:
        """End it at once."""
        self.connection.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def start(
    device: str,
    environment: Mapping[str, str],
    output: int,
    command: Sequence[str] | None = None,
    *,
    after_fault: bool = False,
    passed: tuple[int, ...] = (),
    unset: tuple[str, ...] = (),
) -> StartedWorker:
    """Start a worker process in a session of its own.

    Args:
        device: what it opens: `cpu`, `cuda:0`.
        environment: what is added to this process's own.
        output: the descriptor that takes its stdout and stderr.
        command: what starts it; None: the usual one. The channel's descriptor and the device are appended.
        after_fault: the worker before it failed here.
        passed: further descriptors that it inherits.
        unset: variables that it does not inherit.
    """
    variables = {**LIBRARIES, **os.environ, **environment}
    for name in unset:
        variables.pop(name, None)
    ours, theirs = socket.socketpair()
    arguments = [*(command or COMMAND), "--channel", str(theirs.fileno()), device]
    if after_fault:
        arguments.append("--after-fault")
    with theirs:
        process = _spawn(arguments, output, (theirs.fileno(), *passed), variables)
    return StartedWorker(process, ours, device, environment)


def _spawn(
    arguments: Sequence[str], output: int, passed: tuple[int, ...], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own; tests replace this function."""
    return subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=passed,
        start_new_session=True,
        env=environment,
    )


def gpu_environment(number: int, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables by which a worker sees one GPU only, as cuda:0.

    Args:
        number: of the GPU among those that the environment makes visible.
        environment: the user's own CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER are respected.
    """
    visible = [entry.strip() for entry in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if entry.strip()]
    card = visible[number] if number < len(visible) else str(number)
    return {"CUDA_VISIBLE_DEVICES": card, "CUDA_DEVICE_ORDER": environment.get("CUDA_DEVICE_ORDER", "PCI_BUS_ID")}


# --- the first worker of a command ------------------------------------------------------------------------------------

WAITING: list[tuple[StartedWorker, int]] = []
"""The worker that no run has taken yet, and the descriptor of what it prints; none or one."""


def begin(device: str, jobs: int | None) -> None:
    """Start the first worker that a run will want, if its options tell which.

    Args:
        device: as `--device` names it.
        jobs: workers; None: one a core or one a GPU.
    """
    slot = likely_slot(device, jobs)
    if slot is None or not hasattr(os, "memfd_create"):
        return
    try:
        output = os.memfd_create("gpuregress-worker", os.MFD_CLOEXEC)
        WAITING.append((start(*slot, output), output))
    except OSError:
        return  # the run starts its own, or reports why not


def take(device: str, environment: Mapping[str, str]) -> tuple[StartedWorker, int] | None:
    """Hand over the worker that was started for a device; one that was started for another is ended."""
    if not WAITING:
        return None
    worker, output = WAITING.pop()
    if (worker.device, worker.environment) == (device, environment):
        return worker, output
    worker.end()
    os.close(output)
    return None


def drop() -> None:
    """End a worker that no run has taken."""
    take("", {})


def likely_slot(device: str, jobs: int | None) -> tuple[str, dict[str, str]] | None:
    """Predict device and environment of the first worker, without asking the driver; None where they are not clear."""
    kind, _, number = device.partition(":")
    is_gpu = device in ("auto", "cuda") or (kind == "cuda" and number.isdecimal())
    if is_gpu and _has_pycuda():
        environment = gpu_environment(int(number or 0))
        if Path(f"/dev/nvidia{environment['CUDA_VISIBLE_DEVICES']}").exists():
            return "cuda:0", environment
    if device in ("auto", "cpu"):
        return "cpu", cores.share(jobs or cores.available())
    return None


def _has_pycuda() -> bool:
    return any(Path(folder, "pycuda").is_dir() for folder in sys.path)

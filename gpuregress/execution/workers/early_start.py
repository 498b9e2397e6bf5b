"""Start of the first worker of `gpuregress run`, before anything else of the command is loaded.

A worker takes as long to start as all else of a small run together, on a GPU for its driver and its context. The
command line mostly tells where the worker will run. If the run then wants another one, or none, it is ended. This
module imports as little as possible.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gpuregress.foundation import late_site
from gpuregress.virtual_gpu.parallel import cores

if TYPE_CHECKING:
    import socket
    import subprocess

LIBRARIES = {"OPENBLAS_THREAD_TIMEOUT": "4"}
"""Defaults of environment variables, for this process and its workers.

numpy's BLAS starts a thread a core, and each spins for 2^26 cycles before it sleeps: on a host with many cores they
take all of them from the start of a run. 2^4 cycles let them sleep at once.
"""

# -P: a random.py or types.py in the user's folder must not stand in for Python's own.
CPU_COMMAND = (sys.executable, "-P", "-m", "gpuregress.execution.workers.child")
_GPU_COMMAND = (sys.executable, "-S", "-P", os.path.join(os.path.dirname(os.path.abspath(__file__)), "start.py"))  # noqa: PTH100, PTH118, PTH120 - loaded first
_VALUED = {"--device": "device", "-j": "jobs", "--jobs": "jobs", "--cluster": "cluster"}
"""Options of `run` that decide where its first worker runs."""


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
        import contextlib  # noqa: PLC0415 - few runs come here
        import signal  # noqa: PLC0415 - as above

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
) -> StartedWorker:
    """Start a worker process in a session of its own.

    Args:
        device: what it opens: `cpu`, `cuda:0`.
        environment: what is added to this process's own.
        output: the descriptor that takes its stdout and stderr.
        command: what starts it; None: the usual one. The channel's descriptor and the device are appended.
        after_fault: the worker before it failed here.
        passed: further descriptors that it inherits.
    """
    import socket  # noqa: PLC0415 - not for every command

    variables = {**LIBRARIES, **os.environ, **environment}
    if not command:
        command = CPU_COMMAND
        if device.startswith("cuda"):
            command = _GPU_COMMAND
            variables[late_site.VARIABLE] = os.pathsep.join(late_site.module_path())
    ours, theirs = socket.socketpair()
    arguments = [*command, "--channel", str(theirs.fileno()), device]
    if after_fault:
        arguments.append("--after-fault")
    with theirs:
        process = _spawn(arguments, output, (theirs.fileno(), *passed), variables)
    return StartedWorker(process, ours, device, environment)


def _spawn(
    arguments: Sequence[str], output: int, passed: tuple[int, ...], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own; tests replace this function."""
    import subprocess  # noqa: PLC0415 - not for every command

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


def begin(arguments: Sequence[str]) -> None:
    """Start the first worker that a command line wants, if it says which.

    Args:
        arguments: those of the command line, without the program.
    """
    wanted = likely_slot(arguments)
    if wanted is None or not hasattr(os, "memfd_create"):
        return
    try:
        output = os.memfd_create("gpuregress-worker", os.MFD_CLOEXEC)
        WAITING.append((start(*wanted, output), output))
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


def likely_slot(arguments: Sequence[str]) -> tuple[str, dict[str, str]] | None:
    """Predict device and environment of the first worker; None where the command has none, or they are not clear."""
    options = _options(arguments)
    if options is None or "cluster" in options:
        return None
    return likely_worker(options.get("device", "auto"), options.get("jobs", str(cores.available())))


def likely_worker(device: str, jobs: str) -> tuple[str, dict[str, str]] | None:
    """Predict device and environment of the first worker from `--device` and `--jobs`, without asking the driver."""
    kind, _, number = device.partition(":")
    is_gpu = kind in ("auto", "cuda") and (not number or (number.isdecimal() and kind == "cuda"))
    if is_gpu and _has_pycuda():
        environment = gpu_environment(int(number or 0))
        if os.path.exists(f"/dev/nvidia{environment['CUDA_VISIBLE_DEVICES']}"):  # noqa: PTH110 - as above
            return "cuda:0", environment
    if device in ("auto", "cpu") and jobs.isdecimal() and int(jobs) > 0:
        return "cpu", cores.share(int(jobs))
    return None


def _options(arguments: Sequence[str]) -> dict[str, str] | None:
    """The options of `run` that decide where it runs; None for other commands and for help."""
    words = iter(arguments)
    for word in words:  # those of gpuregress itself
        if word in ("-C", "--directory"):
            next(words, "")
        elif word == "run":
            break
        elif not word.startswith(("-C", "--directory=")):
            return None
    else:
        return None
    found: dict[str, str] = {}
    for word in words:
        name, has_value, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        if word in ("-h", "--help"):
            return None
        if word == "--":
            break
        if name in _VALUED:
            found[_VALUED[name]] = value if has_value else next(words, "")
    return found


def _has_pycuda() -> bool:
    return any(os.path.isdir(f"{folder}/pycuda") for folder in sys.path)  # noqa: PTH112 - as above

"""Injection library, compiled once and kept in the cache, and the CUPTI library that it needs."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from gpuregress import __version__
from gpuregress.foundation import applications, storage
from gpuregress.foundation.applications import LaunchChoice
from gpuregress.foundation.errors import HarnessError, UsageError
from gpuregress.foundation.wording import free_name
from gpuregress.gpu.records import Record
from gpuregress.lab.capture import job_text, jobs, raw_log, records, signature
from gpuregress.lab.capture.jobs import CannotCapture, Target, WrittenJob
from gpuregress.lab.capture.records import CapturedLaunch, CapturedProcess
from gpuregress.store import launch_log
from gpuregress.store.launch_log import LaunchBegin, LaunchFault
from gpuregress.store.project import Project
from gpuregress.toolchain import host_compiler

_SOURCES = Path(__file__).parent / "injection"
CUPTI_FOLDERS = ("extras/CUPTI/lib64", "lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib")


def build() -> Path:
    """Return the injection library, compiled if the cache does not have it.

    Raises:
        HarnessError: there is no compiler, or it fails.
        StorageError: the cache cannot be written.
    """
    return host_compiler.shared_library(
        "injection library", _SOURCES, ("-ftls-model=initial-exec",), ("-ldl", "-lpthread")
    )


def find_cupti() -> Path:
    """Return the library of CUPTI, which comes with the CUDA toolkit and as a wheel.

    Raises:
        HarnessError: there is none.
    """
    named = os.environ.get("GPUREGRESS_CAPTURE_CUPTI")
    if named:
        if not Path(named).exists():
            raise HarnessError(f"GPUREGRESS_CAPTURE_CUPTI names {named}, which does not exist")
        return Path(named)
    for folder in _cupti_folders():
        for pattern in ("libcupti.so", "libcupti.so.*[0-9]"):
            found = sorted(folder.glob(pattern))
            if found:
                return found[-1]
    raise HarnessError(
        "CUPTI (libcupti.so) was not found: it comes with the CUDA toolkit; or install it by "
        "`pip install nvidia-cuda-cupti`, or name it in the variable GPUREGRESS_CAPTURE_CUPTI"
    )


def _cupti_folders() -> Iterator[Path]:
    """The folders where CUPTI may be: of the toolkit that is on the path, then wheels, then the usual place."""
    compiler = shutil.which("nvcc")
    roots = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    roots += [Path(compiler).resolve().parent.parent] if compiler else []
    roots += [Path("/usr/local/cuda")]
    for root in roots:
        yield from (root / folder for folder in CUPTI_FOLDERS)
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        yield from (Path(place) / folder for folder in ("cuda_cupti/lib", "cu13/lib", "cu12/lib"))


# --- capture of an application, from its run to the jobs of its kernels -----------------------------------------------


FOLDER = "captured"
"""The folder of a project that holds captured sources and contents, and the launch log."""
LOCK = ".capture.lock"
"""The lock file among the runs that a capture holds."""
_LONGEST_NAME = 48
_LONGEST_SHOWN = 100
"""Characters of a kernel's name in messages."""


class FailedLaunch(Record):
    """A launch that failed: its call, and the error."""

    number: int
    call: str
    text: str


class Capture(Record):
    """The result of a capture.

    Attributes:
        end: of the application.
        log: the launch log.
        launches: the number of launches in it.
        processes: the number of processes that used the GPU.
        jobs: those that were written.
        refused: kernel → why it has no job, in words.
        failures: the launches that failed.
        unfinished: the launches that never came back, as far as is known.
        cut: ids of the processes that ended without `exit` while launches were under way.
        problems: what the injection library could not do.
        lack: why CUDA cannot start here, where no launch was seen.
    """

    end: ApplicationEnd
    log: Path
    launches: int
    processes: int
    jobs: tuple[WrittenJob, ...]
    refused: dict[str, str]
    failures: tuple[FailedLaunch, ...]
    unfinished: tuple[str, ...]
    cut: tuple[int, ...]
    problems: tuple[str, ...]
    lack: str = ""


def capture(
    project: Project, command: Sequence[str], choice: LaunchChoice, *, source: Path | None = None, seconds: float = 60.0
) -> Capture:
    """Run an application, and write its launch log and jobs.

    Args:
        project: that gets them.
        command: the application and its arguments.
        choice: the launches whose contents are kept.
        source: the source of the kernels; None: the captured PTX or machine code.
        seconds: the time limit of a replay on the CPU device.

    Raises:
        UsageError: the command or the source is not there.
        HarnessError: the injection library cannot be built, or CUPTI is not there.
        RunLocked: another capture of the project is under way.
        StorageError: no space, no permission.
    """
    check_source(source)
    try:
        built = build()
        cupti = find_cupti()
    except HarnessError as error:
        problem = driver_problem()
        raise HarnessError(f"{problem}. Also, {error}" if problem else str(error)) from error
    with records_of_capture(project) as raw:
        end = run_application(command, built, cupti, raw, choice)
        processes = records.read_folder(raw)
        log = project.root / FOLDER / "launch.log"
        ended_well = end.process if end.code == 0 else None
        merged = raw_log.merge(raw, log, _header(command, processes), ended_well=ended_well)
        failures, unfinished = _blame(log)
        written, refused = write_jobs(project, processes, source, seconds)
        problems = [f"process {process.number}: {text}" for process in processes for text in process.problems]
        problems += [
            f"process {number} still runs: what it launches from now on is not captured" for number in end.running
        ]
        return Capture(
            end=end,
            log=log,
            launches=merged.launches,
            processes=len(processes),
            jobs=written,
            refused=refused,
            failures=failures,
            unfinished=unfinished,
            cut=tuple(number for number in merged.cut if number not in end.running),
            problems=tuple(problems),
            lack="" if merged.launches else driver_problem(),
        )


def check_source(source: Path | None) -> None:
    """Refuse a source that is not there, before the application runs.

    Raises:
        UsageError: it is no file.
    """
    if source is not None and not source.is_file():
        raise UsageError(f"there is no file {source}")


@contextlib.contextmanager
def records_of_capture(project: Project) -> Iterator[Path]:
    """A folder for the records of the one capture that may write to a project at a time.

    Raises:
        RunLocked: another capture of the project is under way.
        StorageError: no space, no permission.
    """
    folder = project.root / FOLDER
    with storage.disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with storage.lock(project.runs / LOCK), storage.scratch(folder) as raw:
        yield raw


def _header(command: Sequence[str], processes: Sequence[CapturedProcess]) -> dict[str, str]:
    facts = {
        "application": " ".join(command),
        "gpuregress": __version__,
        "host": f"{platform.node()}, {platform.platform()}",
    }
    for process in processes:
        if process.device:
            facts["device"] = f"{process.device}, {process.architecture}"
            facts["driver"] = f"CUDA {process.driver}"
            break
    return facts


def _blame(log: Path) -> tuple[tuple[FailedLaunch, ...], tuple[str, ...]]:
    """Return the launches that failed, and those that never came back."""
    read = launch_log.read(log)
    begun = {event.number: event.call for event in read.events if isinstance(event, LaunchBegin)}
    faults = [event for event in read.events if isinstance(event, LaunchFault) and event.number in begun]
    failures = [FailedLaunch(fault.number, begun[fault.number], fault.text) for fault in faults]
    return tuple(failures), tuple(f"launch {begin.number}: {begin.call}" for begin in read.unfinished)


def write_jobs(
    project: Project, processes: Sequence[CapturedProcess], source: Path | None, seconds: float
) -> tuple[tuple[WrittenJob, ...], dict[str, str]]:
    """Write a job for each captured launch.

    Args:
        project: that gets them.
        processes: with their launches.
        source: the source of the kernels; None: the captured PTX or machine code.
        seconds: the time limit of a replay on the CPU device.

    Returns:
        the jobs, and kernel → why it has none, in words.
    """
    written: list[WrittenJob] = []
    refused: dict[str, str] = {}
    captured: list[CapturedLaunch] = []
    for process in processes:
        captured += process.launches
        refused |= {signature.short_name(kernel): reason for kernel, reason in process.refused.items()}
    names: set[str] = set()
    of_process = {process.number: process for process in processes}
    for launch in captured:
        shown = signature.short_name(launch.kernel)
        own = None
        if source is not None and jobs.declares(launch, source):
            own = source
        process = of_process[launch.process]
        name = _job_name(shown, launch, captured, names)
        target = Target(project.configs / f"{name}.yaml", project.root / FOLDER / name)
        if job_text.is_kept(target.job, is_virtual=process.is_virtual):
            writer = "exec --capture" if process.is_virtual else "a capture"
            refused[shown] = f"{target.job} already exists, was not written by {writer}, and was not changed"
            continue
        try:
            written.append(jobs.write(launch, process, target, own, seconds))
        except CannotCapture as error:
            refused[shown] = str(error)
    return tuple(written), refused


def describe_jobs(
    jobs: Sequence[WrittenJob], refused: Mapping[str, str], shown: Callable[[Path], Path]
) -> Iterator[str]:
    """Describe for people what was captured and what was not, one line for each kernel.

    Args:
        jobs: that were written.
        refused: kernel → why it has no job.
        shown: of a path, how it is named.
    """
    for job in jobs:
        yield f"{shown(job.path)}: launch {job.launch.number}, {_shorten(job.kernel)}: {job.verdict}"
    for kernel, reason in refused.items():
        yield f"not captured: {_shorten(kernel)}: {reason}"


def _shorten(kernel: str) -> str:
    """A kernel's name, without most of its template arguments where they are long."""
    return kernel if len(kernel) <= _LONGEST_SHOWN else f"{kernel[: _LONGEST_SHOWN - 4]} ..."


def _job_name(shown: str, launch: CapturedLaunch, captured: Sequence[CapturedLaunch], names: set[str]) -> str:
    """Return a kernel's name as a job's, with the number of the launch where several of the kernel were chosen."""
    own = re.sub(r"\(anonymous namespace\)|<.*", "", shown).rpartition("::")[2]
    plain = re.sub(r"[^A-Za-z0-9_]+", "-", own)[:_LONGEST_NAME].strip("-") or "kernel"
    alike = [other for other in captured if (other.kernel, other.process) == (launch.kernel, launch.process)]
    base = plain
    if len(alike) > 1:
        base = f"{plain}-launch{launch.occurrence}"
    name = free_name(base, names, "-")
    names.add(name)
    return name


# --- run of the application -------------------------------------------------------------------------------------------


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


def run_application(
    command: Sequence[str], library: Path, cupti: Path, folder: Path, choice: LaunchChoice
) -> ApplicationEnd:
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

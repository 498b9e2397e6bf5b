"""Run of a program on the virtual GPU, from its start to the report."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from gpuregress.foundation import applications, storage
from gpuregress.foundation.errors import ExitCode, UsageError
from gpuregress.programs import environment, executables, libraries
from gpuregress.programs.environment import CaptureSettings, Settings
from gpuregress.programs.records import VERSION, Incident, ProcessReport, ProgramReport
from gpuregress.store.launch_log import LaunchLog

_LOG = "launch.log"


def run(
    command: Sequence[str],
    folder: Path,
    log: Path | None,
    checks: tuple[str, ...],
    schedule: str,
    report_wait: Callable[[Mapping[int, str]], None],
    capture: CaptureSettings | None = None,
) -> ProgramReport:
    """Run a program, and collect what its processes have shown.

    Args:
        command: the program and its arguments.
        folder: a new folder, for what the processes write.
        log: the launch log; None: one in the folder.
        checks: names of dynamic checks.
        schedule: of threads and blocks; "": the usual one.
        report_wait: called once if processes outlive the first one for long; id → name.
        capture: of the launches that are kept for jobs; None: none is.

    Raises:
        UsageError: the program cannot be started, or cannot run on the virtual GPU.
        HarnessError: the libraries cannot be built.
    """
    problem = executables.problem(command[0])
    if problem:
        raise UsageError(problem)
    path = (log or folder / _LOG).absolute()
    settings = Settings(
        folder=str(folder),
        log=str(path),
        checks=checks,
        schedule=schedule,
        owner=os.getpid(),
        capture=capture,
    )
    variables = environment.of_program(
        settings,
        libraries=libraries.link_all(folder / "lib"),
        tools=libraries.write_nvcc(folder / "toolkit" / "bin"),
        compilers=libraries.compiler_folders(command[0]),
    )
    writer = LaunchLog(path)
    writer.write_header({"program": " ".join(command)})
    writer.close()
    code, left = applications.run_with_descendants(command, variables, report_wait)
    if code < 0:
        code = 128 - code
    processes, incidents = _collected(folder)
    for child, name in left.items():
        message = f"process {child} ({name}) still ran when the wait for it was interrupted"
        incidents = (*incidents, Incident(kind="lost", what="process", message=message, process=child))
    return ProgramReport(
        version=VERSION,
        command=tuple(command),
        program_code=code,
        exit_code=_exit_code_of_incidents(incidents) or code,
        processes=processes,
        incidents=incidents,
    )


def _exit_code_of_incidents(incidents: Sequence[Incident]) -> int:
    """The exit code that incidents decide, 0 where none does."""
    kinds = {incident.kind for incident in incidents}
    if kinds & {"missing", "lost"}:
        return ExitCode.HARNESS_FAILED
    if kinds & {"fault", "finding", "unsupported"}:
        return ExitCode.KERNEL_FAILED
    return 0


def _collected(folder: Path) -> tuple[tuple[ProcessReport, ...], tuple[Incident, ...]]:
    """What the server processes and the driver have written."""
    # By file: a process that replaces itself by another CUDA program (execve) has the same id and a second server.
    processes: dict[Path, ProcessReport] = {}
    incidents: list[Incident] = []
    for path in sorted(folder.glob("process-*.jsonl")):
        for line in storage.read_bytes(path).splitlines():
            try:
                record = _parsed(line)
            except msgspec.DecodeError:
                continue  # the last line of a process that was killed
            if isinstance(record, Incident):
                incidents.append(record)
            else:
                processes[path] = record
    return tuple(processes.values()), (*incidents, *_marks(folder / "marks"))


def _parsed(line: bytes) -> Incident | ProcessReport:
    if b'"kind"' in line:
        return msgspec.json.decode(line, type=Incident)
    return msgspec.json.decode(line, type=ProcessReport)


def _marks(path: Path) -> Iterator[Incident]:
    """What the driver itself noted: functions that are not there, and servers that ended too early."""
    if not path.exists():
        return
    counts = Counter(storage.read_bytes(path).decode("utf-8", "replace").splitlines())
    for line, count in counts.items():
        kind, _, others = line.partition("\t")
        process, _, what = others.partition("\t")
        if kind == "missing":
            yield Incident(
                kind="missing", what=what, message=f"not supported: {what}", count=count, process=int(process)
            )
        elif kind == "lost":
            yield Incident(kind="lost", what="server", message=what, count=count, process=int(process))

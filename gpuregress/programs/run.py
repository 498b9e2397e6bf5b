"""Run of a program on the virtual GPU, from its start to the report."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from gpuregress.foundation import applications, storage
from gpuregress.foundation.errors import ExitCode, UsageError
from gpuregress.programs import environment, executables, libraries
from gpuregress.programs.environment import CaptureSettings, ProgramCase, Settings
from gpuregress.programs.records import (
    PROCESS_FILES,
    VERSION,
    Incident,
    ProcessReport,
    ProgramReport,
    read_lines,
)
from gpuregress.store.launch_log import LaunchLog

OUTPUT, ERRORS = "stdout", "stderr"
"""The files of a case's program's output."""
_LOG = "launch.log"


def run(
    command: Sequence[str],
    folder: Path,
    log: Path | None,
    checks: tuple[str, ...],
    schedule: str,
    report_wait: Callable[[Mapping[int, str]], None],
    capture: CaptureSettings | None = None,
    case: ProgramCase | None = None,
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
        case: of a job that runs the program; its output goes to the files OUTPUT and ERRORS of the folder then, and its
            buffers are written; see `buffer_dumps.read`. None: nothing is written.

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
        case=case,
    )
    variables = environment.of_program(
        settings,
        libraries=libraries.link_all(folder / "lib"),
        tools=libraries.write_nvcc(folder / "toolkit" / "bin"),
        compilers=libraries.compiler_folders(command[0]),
        base={**os.environ, **case.environment} if case is not None else os.environ,
    )
    if case is None:
        writer = LaunchLog(path)
        writer.write_header({"program": " ".join(command)})
        writer.close()
        code, left = applications.run_with_descendants(command, variables, report_wait)
    else:
        with (folder / OUTPUT).open("wb") as output, (folder / ERRORS).open("wb") as errors:
            files = {"cwd": case.folder, "stdin": subprocess.DEVNULL, "stdout": output, "stderr": errors}
            code, left = applications.run_with_descendants(command, variables, report_wait, files)
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
    marks = tuple(_marks(folder / "marks"))
    known_as_lost = {mark.process for mark in marks if mark.kind == "lost"}
    for path in sorted(folder.glob(PROCESS_FILES)):
        reports = 0  # The server writes one when it starts, and one when it ends.
        for record in read_lines(path):
            if isinstance(record, Incident):
                incidents.append(record)
            elif isinstance(record, ProcessReport):
                processes[path] = record
                reports += 1
        if reports == 1 and processes[path].process not in known_as_lost:
            incidents.append(_lost_server(processes[path]))
    return tuple(processes.values()), (*incidents, *marks)


def _lost_server(report: ProcessReport) -> Incident:
    """A server that did not end by itself: what its process left on the GPU is not known."""
    message = f"the server process of {report.process} ({report.program}) was killed: the memory may be too small"
    return Incident(kind="lost", what="server", message=message, process=report.process)


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
        elif kind == "fault":
            yield Incident(kind="fault", what="illegal-access", message=what, count=count, process=int(process))
        elif kind == "lost":
            yield Incident(kind="lost", what="server", message=what, count=count, process=int(process))

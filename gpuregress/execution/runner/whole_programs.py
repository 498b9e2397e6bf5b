"""Run of a whole CUDA program as a case: dumps of the buffers that it leaves, or its failure.

The program and the virtual GPU are processes of their own, so this one only waits, under the case's limit.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuregress.execution.runner.dumps import DumpFolder
from gpuregress.execution.runner.poison import POISON, survey
from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.errors import (
    CodeLine,
    GpuregressError,
    HarnessError,
    UsageError,
    UserCodeError,
    public_name,
)
from gpuregress.foundation.numeric import determinism
from gpuregress.foundation.records import (
    FAULT_KINDS,
    PROGRAM_LAUNCHES,
    UNTYPED,
    Determinism,
    DeviceInfo,
    Dump,
    Fault,
    FurtherRun,
    InstrumentReports,
    Outcome,
    RunFacts,
    Task,
    WholeProgram,
    WriteSurvey,
)
from gpuregress.gpu.demangle import demangle
from gpuregress.gpu.records import replace
from gpuregress.gpu.schedules import FORWARD
from gpuregress.programs import buffer_dumps, environment
from gpuregress.programs import run as program_run
from gpuregress.programs.environment import ProgramCase
from gpuregress.programs.records import LAUNCH, BufferContents, Incident, ProgramReport, read_figures
from gpuregress.store.dumps import reader, writer
from gpuregress.store.dumps.contents import DumpContents

_LAST_LINES = 20
_MOST_OUTPUT = 1 << 20
"""Bytes of a program's output that are kept."""
_GUARD = """IFS= read -r mark || exit
read -r word && { [ "$word" = left ] || exit; }
[ -n "$word" ] || [ -z "$1" ] || kill -s KILL -- "-$1"
for round in 1 2 3 4 5 6 7 8 9 10; do  # while they start others
    marked=$(grep -lszFx -- "$mark" /proc/[0-9]*/environ | grep -o '[0-9][0-9]*') || break
    kill -s KILL $marked
done
[ -n "$word" ] || rm -rf -- "${mark#*=}"
"""
_LOCATION = re.compile(r"(?P<file>.+?):(?P<line>\d+)\b")


def run(
    info: DeviceInfo,
    task: Task,
    program: WholeProgram,
    entering: Callable[[str], None],
    interim: Callable[[Outcome, str], None],
) -> Outcome:
    """Run the program of a case, and dump its buffers.

    Args:
        info: the facts of the device that stands for the program's.
        task: the case, and the files to write.
        program: of the case.
        entering: receives `launching` when the program starts, `saving` when it has ended.
        interim: receives the outcome so far before each run under a further schedule, and the name of the schedule.

    Returns:
        `done`, `fault` or `error`.
    """
    began = time.perf_counter()
    outcome = Outcome(case=task.case.name, state="done", device=info)
    settings, repeat = task.case.settings, task.case.repeat
    try:
        with _ran(task, program, 1, settings.main_schedule, entering) as (folder, report):
            figures = read_figures(folder)
            instruments = InstrumentReports(
                instructions=figures.instructions,
                uncounted=figures.uncounted,
                exchanges=tuple(_notes(report, "exchange")),
                unwatched=tuple(_notes(report, "unwatched")),
            )
            observed = replace(outcome.observations, refused=tuple(_refusals(report)), instruments=instruments)
            output = _read(folder / program_run.OUTPUT)
            outcome = replace(outcome, output=output, launches=figures.times, observations=observed)
            outcome = _failed(outcome, report, folder) or _dumped(outcome, task, program, folder)
        for number in range(2, repeat + 1):
            if outcome.state != "done":
                break
            with _ran(task, program, number, settings.main_schedule, entering) as (folder, report):
                outcome = replace(outcome, launches=(*outcome.launches, *read_figures(folder).times))
                outcome = _failed(outcome, report, folder) or _repeated(outcome, task, program, number, folder)
        for number, schedule in enumerate(settings.schedules[1:], repeat + 1):
            if outcome.state != "done":
                break
            interim(outcome, schedule)
            with _ran(task, program, number, schedule, entering) as (folder, report):
                outcome = _rescheduled(outcome, task, program, schedule, _failed(outcome, report, folder), folder)
    except UsageError as error:  # it cannot be started, or is none that runs here
        outcome = _error(outcome, UserCodeError(str(error)))
    except GpuregressError as error:
        outcome = _error(outcome, error)
    except OSError as error:
        outcome = _error(outcome, storage.explain(error, Path(error.filename or task.dumps)))
    return replace(outcome, seconds=time.perf_counter() - began)


@contextlib.contextmanager
def _ran(
    task: Task, program: WholeProgram, number: int, schedule: str, entering: Callable[[str], None]
) -> Iterator[tuple[Path, ProgramReport]]:
    """Run the program to its end; yield the folder with what it has left, for the block, and its report.

    Args:
        number: of the run among the case's runs, from 1.
        schedule: under which it runs.
    """
    # At the end, the folder is removed first: the guard does it if this process is killed meanwhile.
    with _killed_with_this_process() as tell, storage.scratch() as folder:
        tell(environment.mark(str(folder)))
        entering("launching")
        report = program_run.run(
            program.command,
            folder,
            log=Path(task.log),
            checks=task.case.settings.instruments.checks,
            schedule="" if schedule == FORWARD else schedule,
            report_wait=lambda _processes: None,  # the case's limit ends the wait
            case=ProgramCase(
                name=task.case.name,
                first_launch=task.first_launch + (number - 1) * PROGRAM_LAUNCHES,
                dumps=program.dumps,
                dump=program.dump,
                sizes={name: dtypes.parse(dtype).size for name, dtype in program.dtypes.items()},
                folder=program.folder,
                environment=program.environment,
            ),
        )
        if any(incident.kind == "lost" and incident.what == "process" for incident in report.incidents):
            tell("left")  # the wait for its processes was interrupted
        entering("saving")
        yield folder, report


@contextlib.contextmanager
def _killed_with_this_process() -> Iterator[Callable[[str], None]]:
    """Have all processes of the program killed if this one is, those that the program's first process started, too.

    The pool kills this process's group at a case's limit. Nobody does if the whole run is killed: this process is ended
    by the system then, and a shell sees it at its end of a pipe. In both cases the shell also finds the processes that
    the program has put into groups or sessions of their own, by the mark in their environment, and removes the folder.

    Yields:
        a function that receives the mark before the program starts, and `left` if it has ended and its processes have
            not.
    """
    # Others than the program would be in another process's group.
    group = str(os.getpgrp()) if os.getpgrp() == os.getpid() else ""
    with subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, "sh", group],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    ) as guard:
        assert guard.stdin is not None

        def tell(line: str) -> None:
            print(line, file=guard.stdin, flush=True)

        word = "left"  # where an exception, such as that of a signal, ends the wait for the program
        try:
            yield tell
            word = "ended"
        finally:
            # Two lines: there is no mark before where the folder could not be made.
            guard.communicate(f"{word}\n" * 2)


def _error(outcome: Outcome, error: GpuregressError, details: Sequence[str] = ()) -> Outcome:
    observed = replace(outcome.observations, error=public_name(error), details=tuple(details))
    return replace(outcome, state="error", message=str(error), observations=observed)


# --- failures ---------------------------------------------------------------------------------------------------------


def _failed(outcome: Outcome, report: ProgramReport, folder: Path) -> Outcome | None:
    """The outcome of a program that failed, or of which not everything can be known; None of one that ended well."""
    lacking = [incident for incident in report.incidents if incident.kind in ("missing", "lost", "unsupported")]
    unfinished = [incident for incident in lacking if (incident.kind, incident.what) == ("lost", LAUNCH)]
    lacking = [incident for incident in lacking if incident not in unfinished]
    faults = [incident for incident in report.incidents if incident.kind in ("fault", "finding")]
    last_lines = _read(folder / program_run.ERRORS).splitlines()[-_LAST_LINES:]
    code = report.program_code
    if lacking:
        further = [f"{incident.kind}: {incident.message}" for incident in (*lacking[1:], *faults)]
        return _error(outcome, HarnessError(f"the virtual GPU cannot run it: {lacking[0].message}"), further)
    if faults:
        return _faulty(outcome, faults)
    if code:
        how = f"died of signal {code - 128}" if code > 128 else f"ended with exit code {code}"
        return _error(outcome, UserCodeError(f"the program {how}"), last_lines)
    if unfinished:
        return _error(outcome, UserCodeError(unfinished[0].message), last_lines)
    if not report.processes:
        text = "no process of the program used the GPU: did it skip its work, or use another library than libcuda?"
        return _error(outcome, UserCodeError(text), last_lines)
    return None


def _faulty(outcome: Outcome, faults: Sequence[Incident]) -> Outcome:
    """The outcome of a program with faults or findings; the first one is reported, and the lines of the others."""
    first, *others = faults
    further = [f"{_kind(incident)}: {_message(incident)}" for incident in others]
    place = _LOCATION.match(first.location)
    return replace(
        outcome,
        state="fault",
        fault=Fault(
            kind=_kind(first),
            message=_message(first),
            details=(*first.details, *further),
            launch=first.launch or None,
        ),
        source_line=CodeLine(place["file"], int(place["line"])) if place else None,
    )


def _refusals(report: ProgramReport) -> Iterator[str]:
    """What a GPU refuses, too; a program may ask for it on purpose."""
    for incident in report.incidents:
        if incident.kind == "refused":
            yield f"{incident.what} refused: {incident.message}"


def _notes(report: ProgramReport, what: str) -> Iterator[str]:
    """What the checks noted that is no finding: `exchange` or `unwatched`."""
    for incident in report.incidents:
        if (incident.kind, incident.what) == ("note", what):
            yield _message(incident)


def _kind(incident: Incident) -> str:
    """The kind of a fault; a race between streams is a race."""
    if incident.what in FAULT_KINDS:
        return incident.what
    return "race" if incident.what == "stream-race" else "crash"


def _message(incident: Incident) -> str:
    kernel = demangle(incident.kernel) or incident.kernel
    return f"{kernel}: {incident.message}" if kernel else incident.message


def _read(path: Path) -> str:
    """The text of a file of output; of a long one its end."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _MOST_OUTPUT))
        return file.read().decode("utf-8", "replace")


# --- buffers ----------------------------------------------------------------------------------------------------------


def _dumped(outcome: Outcome, task: Task, program: WholeProgram, folder: Path) -> Outcome:
    """The outcome of a program that ended well, with the dumps of its buffers."""
    left = buffer_dumps.read(folder, program.dump)
    if not left:
        return _error(outcome, UserCodeError(_why_no_buffers(program)))
    described = [_described(contents, folder, program) for contents in left]
    dumps = _folder_of(task, described)
    written: list[Dump] = []
    writes = WriteSurvey(poison=POISON.hex())
    for contents, dump in zip(left, described, strict=True):
        array = _array(dump)
        written.append(dumps.write(dump.buffer, array, task.known.get(dump.buffer, {})))
        surveyed = survey([array], dtypes.parse(dump.dtype), poisoned=contents.is_poisoned)
        writes = surveyed.added_to(writes, dump.buffer, is_unchanged=False)
    schedule = task.case.settings.main_schedule
    observed = replace(outcome.observations, writes=writes, schedule="" if schedule == FORWARD else schedule)
    return replace(outcome, dumps=tuple(written), observations=observed)


def _repeated(outcome: Outcome, task: Task, program: WholeProgram, number: int, folder: Path) -> Outcome:
    """The outcome of the runs so far, with a repeat that is compared with the first one."""
    left = _left(folder, program)
    digests, differing = _compared(outcome, task, left, f"repeat-{number}", f"run {number} of the program")
    classes: dict[str, Determinism] = dict.fromkeys(digests, "bitwise")
    for dump in outcome.dumps:
        if dump.buffer in differing:
            arrays = reader.read(Path(dump.path)).array.reshape(-1), _array(left[dump.buffer])
            classes[dump.buffer] = determinism.classify(dtypes.parse(dump.dtype), arrays)
    facts = RunFacts(digests=digests, determinism=classes)
    return _with_run(outcome, FurtherRun("repeat", str(number), dumps=differing, facts=facts))


def _rescheduled(
    outcome: Outcome, task: Task, program: WholeProgram, schedule: str, failed: Outcome | None, folder: Path
) -> Outcome:
    """The outcome of the runs so far, with one under another schedule, whose failure is a difference of the case."""
    if failed is not None and failed.observations.error == HarnessError.__name__:
        return failed
    run = FurtherRun("schedule", schedule)
    if failed is not None:
        fault = f"{failed.fault.kind}: {failed.fault.message}" if failed.fault is not None else failed.message
        return _with_run(outcome, replace(run, fault=fault))
    try:
        name = f"schedule-{schedule.replace(':', '-')}"
        digests, differing = _compared(outcome, task, _left(folder, program), name, "the program")
    except UserCodeError as error:
        return _with_run(outcome, replace(run, fault=str(error)))
    return _with_run(outcome, replace(run, dumps=differing, facts=RunFacts(digests=digests)))


def _with_run(outcome: Outcome, run: FurtherRun) -> Outcome:
    return replace(outcome, observations=replace(outcome.observations, runs=(*outcome.observations.runs, run)))


def _compared(
    outcome: Outcome, task: Task, left: Mapping[str, Dump], name: str, what: str
) -> tuple[dict[str, str], dict[str, Dump]]:
    """The digests of the buffers of a further run, and the dumps of those that are not as in the first run.

    Raises:
        UserCodeError: it has a buffer in another layout, or one of both runs lacks it.
    """
    first = {dump.buffer: (dump.dtype, dump.shape) for dump in outcome.dumps}
    now = {buffer: (dump.dtype, dump.shape) for buffer, dump in left.items()}
    odd = [buffer for buffer in first | now if first.get(buffer) != now.get(buffer)]
    if odd:
        raise UserCodeError(f"{what} left another {odd[0]}, or none: its allocations are not the same each time")
    dumps = _folder_of(task, outcome.dumps).within(name)
    digests: dict[str, str] = {}
    differing: dict[str, Dump] = {}
    for dump in outcome.dumps:
        array = _array(left[dump.buffer])
        digests[dump.buffer] = writer.content_digest(array, dtypes.parse(dump.dtype))
        if digests[dump.buffer] != dump.digest:
            differing[dump.buffer] = dumps.write(dump.buffer, array, {})
    return digests, differing


def _left(folder: Path, program: WholeProgram) -> dict[str, Dump]:
    """Describe what a run has left, by buffer."""
    described = (_described(contents, folder, program) for contents in buffer_dumps.read(folder, program.dump))
    return {dump.buffer: dump for dump in described}


def _folder_of(task: Task, dumps: Sequence[Dump]) -> DumpFolder:
    """The folder for the dumps of a case that is found to have some buffers."""
    above = task.storage.compress_above
    kept = DumpContents(Path(task.storage.contents), above) if task.storage.contents else None
    return DumpFolder(task.case.with_dumps(dumps), Path(task.dumps), kept, above)


def _array(dump: Dump) -> npt.NDArray[np.generic]:
    """The elements of a buffer whose bytes lie in a file."""
    return np.memmap(dump.path, np.uint8, "r").view(dtypes.parse(dump.dtype).storage)


def _described(contents: BufferContents, folder: Path, program: WholeProgram) -> Dump:
    """Describe the contents of a buffer: bytes, where the job gives no type or another one than they can have."""
    path = folder / contents.contents
    size = path.stat().st_size
    element = dtypes.parse(program.dtype_of(contents.buffer) or UNTYPED)
    if size % element.size:
        element = dtypes.parse(UNTYPED)
    return Dump(
        buffer=contents.buffer,
        path=str(path),
        dtype=element.name,
        shape=(size // element.size,),
        digest="",
        text_digest="",
    )


def _why_no_buffers(program: WholeProgram) -> str:
    if program.dump != ("*",):
        return f"the program had no buffer {' or '.join(program.dump)}, so nothing can be compared: correct `dump`"
    if program.dumps == "synchronize":
        return "the program never waited for the GPU after a launch, so nothing is dumped: write dumps: exit"
    return "the program had no device memory, so nothing can be compared"

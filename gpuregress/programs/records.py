"""Records of a program's run: what its server processes write, and the report of all."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from gpuregress.foundation import storage
from gpuregress.foundation.records import LaunchTime
from gpuregress.gpu.records import Record, Sparse

VERSION = 1


PROCESS_FILES = "process-*.jsonl"
"""What the servers write, one file for each process."""
MOST_TIMES = 10_000
"""Launches of one process whose times are kept one by one."""
LAUNCH = "launch"
"""What is lost where a program ends before a launch does."""


class Incident(Sparse):
    """Something that a program's run has shown.

    Attributes:
        kind: `fault` of a kernel, `finding` of a check, `unsupported` instruction; launch or image that a GPU would
            have `refused`, too; `missing` function, or image, launch or memory that only the virtual GPU cannot do;
            `lost` server or process; `note` of a check: what it did not watch, or what is no fault but not sure to be
            right.
        what: of a fault or a finding its kind, `out-of-bounds`; of a missing function its name; of a note `exchange` or
            `unwatched`.
        message: a line for people.
        details: further lines.
        kernel: the launched one.
        launch: its number in the log.
        location: `saxpy.cu:4`.
        count: equal findings.
        process: id of the program's process.
    """

    kind: Literal["fault", "finding", "unsupported", "refused", "missing", "lost", "note"]
    what: str
    message: str
    details: tuple[str, ...] = ()
    kernel: str = ""
    launch: int = 0
    location: str = ""
    count: int = 1
    process: int = 0


class ProcessReport(Record):
    """What one process of the program did on the virtual GPU.

    Attributes:
        process: its id.
        program: its command, shortened.
        launches: how many there were.
        started: when it started, in ticks of the system's clock.
    """

    process: int
    program: str
    launches: int
    started: int = 0


class BufferContents(Record):
    """The contents of a buffer, in a file of the run's folder.

    Attributes:
        buffer: its name in its process; `buffer_dumps.read` adds those of its process and its set.
        contents: the file's name.
        set: the number of the synchronisation; 0: as it was freed, or as the program ended.
        process: the number of the process among those that came to use the virtual GPU.
        position: of the buffer among those of its process.
        is_poisoned: whether it held the poison before the program wrote to it.
    """

    buffer: str
    contents: str
    set: int
    process: int
    position: int
    is_poisoned: bool


class LaunchFigures(Record):
    """What was measured of a process's launches.

    Attributes:
        times: in the order in which they ended. Of a process with more than MOST_TIMES launches, the further ones of
            each kernel are one entry, with the number of the first and the time of all.
        instructions: kernel → instructions that its launches executed, where they are counted.
        uncounted: source lines of the loops whose instructions are not counted.
    """

    times: tuple[LaunchTime, ...]
    instructions: Mapping[str, int]
    uncounted: tuple[str, ...]


class ProgramReport(Record):
    """The report of `gpuregress exec --report`.

    Attributes:
        version: of this form.
        command: the program and its arguments.
        program_code: its own exit code, as a shell has it.
        exit_code: of `gpuregress exec`.
        processes: those that used the virtual GPU.
        incidents: in the order of processes.
    """

    version: int
    command: tuple[str, ...]
    program_code: int
    exit_code: int
    processes: tuple[ProcessReport, ...]
    incidents: tuple[Incident, ...]


ProcessRecord = BufferContents | Incident | LaunchFigures | ProcessReport
_BY_FIRST_KEY: dict[bytes, type[ProcessRecord]] = {
    b"buffer": BufferContents,
    b"kind": Incident,
    b"times": LaunchFigures,
    b"process": ProcessReport,
}


def read_lines(path: Path) -> Iterator[ProcessRecord]:
    """Read what the server of one process has written; a last line that was cut short by a kill is left out.

    Raises:
        StorageError: the file cannot be read.
    """
    for line in storage.read_bytes(path).splitlines():
        _, *quoted = line.split(b'"', 2)
        kind = _BY_FIRST_KEY.get(quoted[0]) if quoted else None
        if kind is None:
            continue
        with contextlib.suppress(msgspec.DecodeError):
            yield msgspec.json.decode(line, type=kind)


def read_figures(folder: Path) -> LaunchFigures:
    """Read what was measured of the launches of all processes, in the order of their numbers.

    Args:
        folder: of the run.

    Raises:
        StorageError: a file cannot be read.
    """
    times: list[LaunchTime] = []
    instructions: Counter[str] = Counter()
    uncounted: dict[str, None] = {}
    for path in folder.glob(PROCESS_FILES):
        for record in read_lines(path):
            if isinstance(record, LaunchFigures):
                times += record.times
                instructions.update(record.instructions)
                uncounted |= dict.fromkeys(record.uncounted)
    return LaunchFigures(tuple(sorted(times, key=lambda time: time.number)), instructions, tuple(uncounted))

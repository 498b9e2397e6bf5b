"""Launch log and part of the report that a server process writes while its program runs."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import msgspec

from gpuregress.foundation.records import MOST_PROCESSES, PROGRAM_LAUNCHES, LaunchTime
from gpuregress.gpu.base import LaunchReport
from gpuregress.gpu.programs import DeviceInfo
from gpuregress.programs.environment import Settings
from gpuregress.programs.records import (
    MOST_TIMES,
    BufferContents,
    Incident,
    LaunchFigures,
    ProcessRecord,
    ProcessReport,
)
from gpuregress.store.launch_log import LaunchLog

_MOST_FINDINGS = 1000
"""Incidents of one process that are kept."""


class ProcessLog:
    """Writer of a process's launches and incidents; each is in its file when the call returns.

    Args:
        settings: of the run.
        client: id of the program's process.
        info: of the device.

    Attributes:
        process: the number of the process among those that came to use the virtual GPU.
    """

    def __init__(self, settings: Settings, client: int, info: DeviceInfo) -> None:
        self._client, self._device, self._schedule = client, info.name, settings.schedule
        self._started = _start_of(client)
        self._program = " ".join(word.decode("utf-8", "replace") for word in command_line(client) if word)[:200]
        case = settings.case
        self._case = (
            case.name if case is not None else f"{Path(self._program.split(' ')[0]).name or 'program'}:{client}"
        )
        number = 1
        while True:
            path = Path(settings.folder, f"process-{number}.jsonl")
            try:
                self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                break
            except FileExistsError:
                number += 1
        self.process = number
        self._first = self._number = (number - 1) * PROGRAM_LAUNCHES
        if case is not None:
            self._first = self._number = case.first_launch - 1 + (number - 1) * (PROGRAM_LAUNCHES // MOST_PROCESSES)
        # A kernel cannot take this machine down, as it can one with a GPU: lines need not outlive a power cut.
        self._log = LaunchLog(Path(settings.log), durable=False)
        self._known: set[tuple[str, str, str]] = set()
        self._counts: Counter[str] = Counter()
        self._keeps_figures = case is not None
        self._times: dict[str, LaunchTime] = {}
        self._instructions: Counter[str] = Counter()
        self._uncounted: dict[str, None] = {}
        self._write(ProcessReport(client, self._program, 0, self._started))

    def begin(self, call: str, constant: int) -> int:
        """Write that a launch comes next; return its number."""
        self._number += 1
        self._log.begin(self._number, self._device, self._case, call, 0, constant=constant, schedule=self._schedule)
        return self._number

    def end(self, number: int, kernel: str, report: LaunchReport) -> None:
        """Write that a launch ended, and keep what was measured of it."""
        self._log.end(number, report.elapsed_ms)
        if not self._keeps_figures:
            return
        key = kernel if len(self._times) >= MOST_TIMES else str(number)
        earlier = self._times.get(key)
        if earlier is None:
            self._times[key] = LaunchTime(number, kernel, report.elapsed_ms)
        else:
            self._times[key] = LaunchTime(earlier.number, kernel, earlier.elapsed_ms + report.elapsed_ms)
        if report.instructions is not None:
            self._instructions[kernel] += report.instructions
            self._uncounted |= dict.fromkeys(report.uncounted)

    def fault(self, number: int, text: str) -> None:
        """Write that a launch failed."""
        self._log.fault(number, text)

    def add(self, incident: Incident) -> bool:
        """Write an incident; False for one like an earlier one, which is not written again."""
        key = incident.kind, incident.location or incident.message, incident.kernel
        if key in self._known:
            return False
        self._known.add(key)
        self._counts[incident.kind] += 1
        if self._counts[incident.kind] > _MOST_FINDINGS:
            return False
        self._write(msgspec.structs.replace(incident, process=self._client))
        return True

    def lose(self, what: str, message: str) -> None:
        """Write that something of the process's results is lost."""
        self.add(Incident(kind="lost", what=what, message=message))

    def list_contents(self, contents: BufferContents) -> None:
        """Write which file has the contents of a buffer."""
        self._write(contents)

    def close(self) -> None:
        """Write what was measured of the launches, and how many there were."""
        if self._times:
            self._write(LaunchFigures(tuple(self._times.values()), self._instructions, tuple(self._uncounted)))
        self._write(ProcessReport(self._client, self._program, self._number - self._first, self._started))
        self._log.close()

    def _write(self, record: ProcessRecord) -> None:
        os.write(self._file, msgspec.json.encode(record) + b"\n")


def _start_of(client: int) -> int:
    """When a process started, field 22 of proc_pid_stat(5); 0 where it is not known."""
    try:
        text = Path(f"/proc/{client}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return int(text.rpartition(")")[2].split()[19])


def command_line(client: int) -> list[bytes]:
    """Return the words of the command of a process; none where it is not known."""
    try:
        return Path(f"/proc/{client}/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return []

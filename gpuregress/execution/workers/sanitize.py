"""Additional pass of a case under compute-sanitizer, in a process of its own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from gpuregress.execution.workers.watchdog import CHECKING_S
from gpuregress.foundation import storage
from gpuregress.foundation.errors import CodeLine, DeviceError, KernelFault
from gpuregress.foundation.records import Case, Fault, Outcome, SanitizerFinding, SanitizerResult, Task, to_plain
from gpuregress.gpu.records import Record, replace

_SPARE_S = 60.0
"""Before the parent's own limit, so that this process can still report it."""
_MOST_DETAILS = 12


def examined(task: Task, outcome: Outcome, device: str) -> Outcome:
    """Add compute-sanitizer's findings to an outcome; an error that only the tool sees becomes a fault.

    Args:
        task: what was run; `settings.sanitize` names the tool.
        outcome: its result.
        device: as this process calls it.
    """
    tool = task.case.settings.sanitize or ""
    reports: tuple[SanitizerReport, ...] = ()
    problem = ""
    try:
        reports, problem = _watch(task, tool, device)
    except DeviceError as error:
        problem = str(error)
    result = SanitizerResult(tool, problem, tuple(_finding(report) for report in reports))
    outcome = replace(outcome, observations=replace(outcome.observations, sanitizer=result))
    errors = [report for report in reports if report.kind]
    if outcome.state != "done" or not errors:
        return outcome
    position = _position(task.case, errors[0])
    fault = Fault(errors[0].kind, f"{tool}: {errors[0]}", errors[0].details[:_MOST_DETAILS], position=position)
    return replace(outcome, state="fault", fault=fault, source_line=_source_line(errors[0]))


def _source_line(report: SanitizerReport) -> CodeLine | None:
    file, _, line = report.source_line.rpartition(":")
    if not file:
        return None
    return CodeLine(file, int(line))


def _position(case: Case, report: SanitizerReport) -> int | None:
    """The first launch whose kernel the report names; where it names none, that of a case with one kernel."""
    text = "\n".join((report.message, *report.details))
    names = [re.sub(r"<.*", "", launch.kernel).rpartition("::")[2] for launch in case.launches]
    for position, name in enumerate(names):
        if re.search(rf"\b{re.escape(name)}\b", text):
            return position
    return 0 if len(set(names)) == 1 else None


def _watch(task: Task, tool: str, device: str) -> tuple[tuple[SanitizerReport, ...], str]:
    """Return the tool's findings, and why it could not run."""
    with storage.scratch() as folder:
        saved, log = folder / "task.json", folder / "report.txt"
        # Poison counts as written: initcheck would find nothing.
        storage.write_atomic(saved, json.dumps(to_plain(task.alone(poison=tool != "initcheck"))).encode())
        program = (sys.executable, "-P", "-m", "gpuregress.execution.workers.alone", "--device", device, str(saved))
        command = tool_command(tool, program, log)
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=CHECKING_S - _SPARE_S
            )
        except subprocess.TimeoutExpired:
            return (), f"it did not end within {CHECKING_S - _SPARE_S:g} s"
        text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    reports = parse_log(text)
    if reports or done.returncode in (0, KernelFault.exit_code):
        return reports, ""
    return (), _last_words(done.returncode, text, done.stdout, done.stderr)


def _last_words(code: int, log: str, *streams: bytes) -> str:
    lines = log.splitlines()
    for stream in streams:
        lines += stream.decode(errors="replace").splitlines()
    words = [line.strip("= ") for line in lines if line.strip("= ")]
    return f"it ended with exit code {code}: {'; '.join(words[-3:]) or 'no message'}"


def _finding(report: SanitizerReport) -> SanitizerFinding:
    return SanitizerFinding(
        message=report.message,
        location=report.source_line,
        thread=report.thread,
        details=report.details,
        repeated=report.repeated,
        kind=report.kind,
        text=str(report),
    )


# --- compute-sanitizer, its command line and its log ------------------------------------------------------------------


TOOLS = {
    "memcheck": "accesses out of bounds and misaligned, by thread, line and nearest allocation",
    "racecheck": "hazards in shared memory",
    "initcheck": "reads of global memory that was never written",
    "synccheck": "barriers that not all threads reach",
}

FOUND = 86
"""The exit status that `tool_command` asks for where there is a report; the tool's own default is 0."""

_LINE = re.compile(r"^=========(?P<indent> ?)(?P<rest>.*)$")
_SOURCE_LINE = re.compile(r"(?P<file>[^\s:]+\.\w+):(?P<line>\d+)")
_THREAD = re.compile(r"thread \((\d+),(\d+),(\d+)\) in block \((\d+),(\d+),(\d+)\)")
_HOST = re.compile(r"\s*(?:Saved host backtrace|Host Frame|=+$)|\s+in .*\.(?:so|py)\b")
_KINDS = (
    (r"^Invalid .*\n(.*\n)*.*misaligned", "misaligned"),
    (r"^Invalid ", "out-of-bounds"),
    (r"race reported|hazard", "race"),
    (r"^Uninitialized ", "uninitialized"),
    (r"^Barrier error", "deadlock"),
)
_NOT_FINDINGS = (
    "COMPUTE-SANITIZER",
    "ERROR SUMMARY",
    "RACECHECK SUMMARY",
    "LEAK SUMMARY",
    "Target application",
    "This tool",
)


class SanitizerReport(Record):
    """One report of compute-sanitizer.

    Attributes:
        message: its first line: `Invalid __global__ write of size 4 bytes`.
        source_line: `saxpy.cu:12`, "" where the tool names none.
        thread: `thread (0,0,0) of block (3,0,0)`, "" likewise.
        details: its further lines about the device, without the host's backtrace.
        repeated: how many more like it, at the same source line, the tool reported.
    """

    message: str
    source_line: str
    thread: str
    details: tuple[str, ...]
    repeated: int = 0

    @property
    def kind(self) -> str:
        """The kind, of `records.FAULT_KINDS`; "" for a warning, or a report of no kernel fault."""
        if re.match(r"warn", self.message, re.IGNORECASE):
            return ""
        text = "\n".join((self.message, *self.details))
        for pattern, kind in _KINDS:
            if re.search(pattern, text, re.IGNORECASE):
                return kind
        return ""

    def __str__(self) -> str:
        """Message, thread and source line."""
        text = ", ".join(part for part in (self.message, self.thread, self.source_line) if part)
        if self.repeated:
            text += f" (and {self.repeated} more there)"
        return text


def tool_command(tool: str, program: Sequence[str], log: Path) -> list[str]:
    """The command line that runs a program under compute-sanitizer.

    Args:
        tool: one of TOOLS.
        program: the command line to run.
        log: where the tool writes its report.

    Raises:
        DeviceError: compute-sanitizer is not on the PATH.
    """
    options = ["--tool", tool, "--error-exitcode", str(FOUND), "--log-file", str(log), "--target-processes", "all"]
    # The harness itself reports calls that the driver refused.
    return [find(), *options, "--report-api-errors", "no", *program]


def find() -> str:
    """Return the path of compute-sanitizer.

    Raises:
        DeviceError: it is not on the PATH.
    """
    path = shutil.which("compute-sanitizer")
    if path is None:
        raise DeviceError(
            "compute-sanitizer is not on the PATH; it comes with the CUDA toolkit (apt install cuda-sanitizer), "
            "in its bin folder"
        )
    return path


def parse_log(log: str) -> tuple[SanitizerReport, ...]:
    """Return the reports in a log; equal ones at the same source line are counted as one.

    Args:
        log: lines that begin with `=========`.
    """
    reports: dict[tuple[str, str], SanitizerReport] = {}
    for block in _blocks(log):
        report = _report(block)
        key = (report.message, report.source_line)
        if key in reports:
            report = replace(reports[key], repeated=reports[key].repeated + 1)
        reports[key] = report
    return tuple(reports.values())


def _blocks(log: str) -> list[list[str]]:
    blocks: list[list[str]] = []
    for line in log.splitlines():
        match = _LINE.match(line)
        if match is None or not match["rest"].strip():
            continue
        rest = match["rest"]
        if not rest.startswith(" "):
            blocks.append([])
        if blocks and not _HOST.match(rest):
            blocks[-1].append(rest.strip())
    return [block for block in blocks if block and not block[0].startswith(_NOT_FINDINGS)]


def _report(lines: list[str]) -> SanitizerReport:
    text = "\n".join(lines)
    source, thread = _SOURCE_LINE.search(text), _THREAD.search(text)
    return SanitizerReport(
        message=lines[0],
        source_line=f"{Path(source['file']).name}:{source['line']}" if source else "",
        thread="thread ({},{},{}) of block ({},{},{})".format(*thread.groups()) if thread else "",
        details=tuple(lines[1:]),
    )

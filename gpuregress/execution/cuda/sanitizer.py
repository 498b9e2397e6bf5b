"""compute-sanitizer: the command line that runs a case under it, and the parser of its log."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from gpuregress.foundation.errors import DeviceError
from gpuregress.gpu.records import Record, replace

TOOLS = {
    "memcheck": "accesses out of bounds and misaligned, by thread, line and nearest allocation",
    "racecheck": "hazards in shared memory",
    "initcheck": "reads of global memory that was never written",
    "synccheck": "barriers that not all threads reach",
}

FOUND = 86
"""The exit status that `command` asks for where there is a report; the tool's own default is 0."""

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


def command(tool: str, program: Sequence[str], log: Path) -> list[str]:
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


def parse(log: str) -> tuple[SanitizerReport, ...]:
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

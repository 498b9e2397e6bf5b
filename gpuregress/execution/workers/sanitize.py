"""Additional pass of a case under compute-sanitizer, in a process of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys

from gpuregress.execution.cuda import sanitizer
from gpuregress.execution.cuda.sanitizer import SanitizerReport
from gpuregress.execution.workers.watchdog import CHECKING_S
from gpuregress.foundation import storage
from gpuregress.foundation.errors import CodeLine, DeviceError, KernelFault
from gpuregress.foundation.records import Case, Fault, Outcome, SanitizerFinding, SanitizerResult, Task, to_plain
from gpuregress.gpu.records import replace

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
        command = sanitizer.command(tool, program, log)
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=CHECKING_S - _SPARE_S
            )
        except subprocess.TimeoutExpired:
            return (), f"it did not end within {CHECKING_S - _SPARE_S:g} s"
        text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    reports = sanitizer.parse(text)
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

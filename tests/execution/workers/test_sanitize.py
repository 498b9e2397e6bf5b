from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from gpuregress.execution.workers import sanitize
from gpuregress.foundation.records import CaseSettings, Outcome, SanitizerResult, Task
from tests import fakes

RACE = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at sum(int *)+0x130 in /a/kernel.cu:9
=========     and Read access at sum(int *)+0x130 in /a/kernel.cu:11 [34 hazards]
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


def task(kernel: str, **changes: Any) -> Task:
    return fakes.task(fakes.case(kernel, **changes), Path("/nowhere"), 5, device_label="cuda:0")


def _tool(folder: Path, monkeypatch: pytest.MonkeyPatch, report: str, code: int) -> None:
    """A compute-sanitizer that reports the same, whatever it runs."""
    program = folder / "compute-sanitizer"
    log = "import sys; open(sys.argv[sys.argv.index('--log-file') + 1], 'w').write"
    program.write_text(f"#!{sys.executable}\n{log}({report!r})\nraise SystemExit({code})\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_a_finding_makes_a_fault_of_a_case_that_came_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _tool(tmp_path, monkeypatch, RACE, sanitize.FOUND)
    given = task("double", settings=CaseSettings(sanitize="racecheck"))
    actual = sanitize.examined(given, Outcome("fake/double", "done"), "cuda:0")
    assert actual.fault is not None
    assert (actual.state, actual.fault.kind) == ("fault", "race")
    assert actual.fault.message.startswith("racecheck: Error: Race reported between Write access")
    assert actual.observations.sanitizer is not None
    assert actual.observations.sanitizer.findings[0].location == "kernel.cu:9"


def test_nothing_found_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _tool(tmp_path, monkeypatch, "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", 0)
    actual = sanitize.examined(
        task("double", settings=CaseSettings(sanitize="memcheck")), Outcome("c", "done"), "cuda:0"
    )
    assert actual.state == "done"
    assert actual.observations.sanitizer == SanitizerResult("memcheck", "", ())


def test_a_tool_that_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _tool(tmp_path, monkeypatch, "========= COMPUTE-SANITIZER\n========= Error: No GPU\n", 1)
    _tool(tmp_path, monkeypatch, "", 1)
    actual = sanitize.examined(
        task("double", settings=CaseSettings(sanitize="memcheck")), Outcome("c", "done"), "cuda:0"
    )
    assert actual.observations.sanitizer is not None
    assert actual.observations.sanitizer.problem == "it ended with exit code 1: no message"
    monkeypatch.setenv("PATH", "")
    actual = sanitize.examined(
        task("double", settings=CaseSettings(sanitize="memcheck")), Outcome("c", "done"), "cuda:0"
    )
    assert actual.observations.sanitizer is not None
    assert "compute-sanitizer is not on the PATH" in actual.observations.sanitizer.problem


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Invalid __global__ write of size 4 bytes\n=========     Address 0x7f6510c00001 is misaligned", "misaligned"),
        ("Invalid __shared__ read of size 4 bytes\n=========     Address 0x84 is out of bounds", "out-of-bounds"),
        ("Error: Potential WAR hazard detected at __shared__ 0x410 in block (11,0,0) :", "race"),
        ("Warning: Race reported between Write access at k()+0x10", ""),
        ("WARN:(Warp Level Programming) Potential WAR hazard detected at __shared__ 0x3 in block (0, 0, 0) :", ""),
        ("Uninitialized __global__ memory read of size 4 bytes", "uninitialized"),
        ("Barrier error detected. Divergent thread(s) in block.", "deadlock"),
        ('Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to "x" on CUDA API call', ""),
    ],
)
def test_what_a_finding_is(text: str, kind: str) -> None:
    (report,) = sanitize.parse_log(f"========= {text}\n")
    assert report.kind == kind

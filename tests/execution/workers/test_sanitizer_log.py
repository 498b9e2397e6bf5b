from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.execution.workers import sanitize
from gpuregress.foundation.errors import DeviceError

MEMCHECK = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at write_one_past(float *, int)+0x70 in /home/u/kernels/saxpy.cu:8
=========     by thread (0,0,0) in block (3,0,0)
=========     Address 0x7f1c6a000fa0 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f1c6a000000 of size 4,000 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame:cuLaunchKernel [0x35e1f6] in libcuda.so.1
=========         Host Frame: [0x12] in /usr/bin/python3
=========
========= Invalid __global__ write of size 4 bytes
=========     at write_one_past(float *, int)+0x70 in /home/u/kernels/saxpy.cu:8
=========     by thread (1,0,0) in block (3,0,0)
=========     Address 0x7f1c6a000fa4 is out of bounds
=========
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to "unspecified launch failure" on CUDA API call
=========     Saved host backtrace up to driver entry point at error
=========
========= ERROR SUMMARY: 3 errors
"""
RACECHECK = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at block_sum(int *, const int *)+0x160 in shared.cu:7
=========     and Read access at block_sum(int *, const int *)+0x1b0 in shared.cu:9 [128 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


def test_memcheck() -> None:
    write, hit = sanitize.parse_log(MEMCHECK)
    assert str(write) == (
        "Invalid __global__ write of size 4 bytes, thread (0,0,0) of block (3,0,0), saxpy.cu:8 (and 1 more there)"
    )
    assert write.details[-1] == "and is 1 bytes after the nearest allocation at 0x7f1c6a000000 of size 4,000 bytes"
    assert "launch failure" in hit.message


def test_racecheck() -> None:
    (race,) = sanitize.parse_log(RACECHECK)
    assert race.source_line == "shared.cu:7"
    assert race.details == ("and Read access at block_sum(int *, const int *)+0x1b0 in shared.cu:9 [128 hazards]",)


def test_nothing_found() -> None:
    assert sanitize.parse_log("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n") == ()
    assert sanitize.parse_log("") == ()


@given(st.text(alphabet="= \nabc.:()0,", max_size=100))
def test_no_text_breaks_it(text: str) -> None:
    sanitize.parse_log(text)


def test_the_command_asks_for_an_exit_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "compute-sanitizer"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    command = sanitize.tool_command("racecheck", ("python", "x.py"), tmp_path / "log")
    assert command[:5] == [str(tool), "--tool", "racecheck", "--error-exitcode", "86"]
    assert command[-2:] == ["python", "x.py"]
    tool.unlink()
    with pytest.raises(DeviceError, match="CUDA toolkit"):
        sanitize.tool_command("memcheck", (), tmp_path / "log")

"""The run of an application: its environment, and how it ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpuregress.foundation.applications import LaunchChoice
from gpuregress.foundation.errors import UsageError
from gpuregress.lab.capture.capture import ApplicationEnd, run_application


def test_the_environment_tells_the_library_what_to_keep(tmp_path: Path) -> None:
    names = ("KERNEL", "NTH", "EVERY", "MAX", "MAX_BYTES", "SYNC", "WAIT", "FOLDER", "CUPTI")
    show = f"import os; open('env', 'w').write('|'.join(os.environ['GPUREGRESS_CAPTURE_' + n] for n in {names!r}))"
    command = [sys.executable, "-c", f"import os; os.chdir({str(tmp_path)!r}); {show}"]
    choice = LaunchChoice("k*", 3, 0, 0, 4096, sync=True, wait=7)
    end = run_application(command, Path("/lib.so"), Path("/cupti.so"), tmp_path, choice)
    assert end.code == 0
    assert (tmp_path / "env").read_text() == f"k*|3|0|0|4096|1|7|{tmp_path}|/cupti.so"


def test_an_end_is_told_in_words() -> None:
    assert ApplicationEnd(0).text == ""
    assert ApplicationEnd(7).text == "the application exited with 7"
    assert ApplicationEnd(-11).text == "the application was ended by SIGSEGV"
    assert ApplicationEnd(-250).text == "the application was ended by signal 250"


def test_another_injection_library_is_not_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_INJECTION64_PATH", "/tools/profiler.so")
    with pytest.raises(UsageError, match=r"CUDA_INJECTION64_PATH names /tools/profiler\.so.*unset it to capture"):
        run_application(["true"], tmp_path, tmp_path, tmp_path, LaunchChoice())


def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no-such-app cannot be started: No such file"):
        run_application(["no-such-app"], tmp_path, tmp_path, tmp_path, LaunchChoice())


def test_a_request_to_end_is_sent_on_to_the_application() -> None:
    program = (
        "from pathlib import Path; from gpuregress.foundation.applications import LaunchChoice; "
        "from gpuregress.lab.capture.capture import run_application; "
        "command = ['sh', '-c', 'kill -TERM $PPID; exec sleep 20']; "
        "print(run_application(command, Path('a'), Path('b'), Path('c'), LaunchChoice()).text)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=15, check=False)
    assert done.stdout == "the application was ended by SIGTERM\n"

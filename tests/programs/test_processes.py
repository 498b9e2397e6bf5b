"""Processes of a program under `gpuregress exec`: those that outlive it, replace themselves, or use no GPU."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.programs.test_exec import servers_of

USE = f"{sys.executable} -c \"import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)\""
FAIL = f"{sys.executable} -c \"import ctypes; d = ctypes.CDLL('libcuda.so.1'); d.cuInit(0); d.cuIpcGetMemHandle(0, 0)\""


def _command(script: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "gpuregress", "exec", *options, "--", "sh", "-c", script]


def _run(script: str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    command = _command(script, *options)
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def _wait_for_end(process: int) -> None:
    while Path(f"/proc/{process}").exists():  # The test's deadline fails it.
        time.sleep(0.01)


def test_a_process_that_starts_after_the_first_one_has_ended_counts() -> None:
    done = _run(f"(sleep 0.3; {FAIL}) > /dev/null & exit 0")
    assert done.returncode == 4
    assert done.stderr.endswith("gpuregress: 1 missing feature; the program itself exited with 0\n")


def test_processes_whose_wait_is_interrupted_are_no_success() -> None:
    script = "sleep 600 > /dev/null 2>&1 & echo $$ $!"
    process = subprocess.Popen(_command(script), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    shell, orphan = map(int, process.stdout.readline().split())
    _wait_for_end(shell)
    while Path(f"/proc/{orphan}/comm").read_text(encoding="utf-8") != "sleep\n":  # the shell's child, until it is sleep
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    os.kill(orphan, signal.SIGKILL)
    assert process.returncode == 4
    assert f"process {orphan} (sleep) still ran" in err


def test_a_killed_exec_takes_its_program_and_its_folder_along(tmp_path: Path) -> None:
    holder = USE.replace("cuInit(0)", "cuInit(0); print(os.getpid(), flush=True); time.sleep(600)")
    script = f"echo $$; {holder.replace('import ctypes', 'import ctypes, os, time')}; exit 0"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(_command(script), stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        shell, holding = int(process.stdout.readline()), int(process.stdout.readline())
        (server,) = servers_of(holding)
        process.kill()
        _wait_for_end(shell)
        _wait_for_end(server)  # What the shell had started cannot use the virtual GPU any longer.
        os.kill(holding, signal.SIGKILL)
        assert list(tmp_path.iterdir()) == []


def test_a_run_without_the_virtual_gpu_says_so() -> None:
    done = _run("exit 5")
    assert (done.returncode, done.stderr) == (5, "gpuregress: no process of the program used the virtual GPU\n")
    assert _run(USE).stderr == ""


def test_a_folder_that_the_loader_cannot_find_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "a:b"
    folder.mkdir()
    done = _run(USE, TMPDIR=str(folder))
    assert done.returncode == 2
    assert "set TMPDIR to another folder" in done.stderr


def test_a_program_that_returns_the_same_code_is_told_apart() -> None:
    assert _run(f"{FAIL}; exit 4").stderr.endswith("1 missing feature; the program itself exited with 4\n")


def test_a_process_that_replaces_itself_has_two_servers(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    again = "import ctypes, os, sys; ctypes.CDLL('libcuda.so.1').cuInit(0); sys.argv[1:] and os.execv("
    again += "sys.executable, [sys.executable, *sys.orig_argv[1:-1]])"
    command = [*_command("", "--report", str(report))[:-3], sys.executable, "-c", again, "once more"]
    assert subprocess.run(command, timeout=60, check=False).returncode == 0
    first, second = json.loads(report.read_text(encoding="utf-8"))["processes"]
    assert first["process"] == second["process"]

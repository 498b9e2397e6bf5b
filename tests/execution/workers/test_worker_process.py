from __future__ import annotations

import math
import signal
import sys
from pathlib import Path

import pytest

from gpuregress.execution.workers.watchdog import Phase
from gpuregress.execution.workers.worker_process import DeviceSlot, Worker, death_of
from tests.waiting import is_running, wait_until


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (None, "closed its channel"),
        (7, "ended with exit code 7"),
        (-signal.SIGSEGV, "died of SIGSEGV"),
        (-200, "died of signal 200"),
    ],
)
def test_a_death_in_words(code: int | None, message: str) -> None:
    assert death_of(code) == message


def worker(folder: Path, script: str) -> Worker:
    command = (sys.executable, "-c", script)
    return Worker(DeviceSlot("cpu", "fake:0"), command, folder / "printed.txt")


def test_the_last_lines_of_its_output_are_kept(tmp_path: Path) -> None:
    child = worker(tmp_path, "print('one'); print(); print('two', flush=True)")
    child.process.wait(20)
    assert child.tail() == child.output() == ("one", "two")
    assert child.death() == "the worker process ended with exit code 0"
    assert child.end()


def test_a_report_shows_the_last_twenty_lines(tmp_path: Path) -> None:
    child = worker(tmp_path, "print(*range(25), sep='\\n')")
    child.process.wait(20)
    assert child.tail() == tuple(str(number) for number in range(5, 25))
    assert len(child.output()) == 25
    assert child.end()


def test_a_report_shows_the_line_that_tells_of_no_memory_however_early(tmp_path: Path) -> None:
    child = worker(tmp_path, "print('LLVM ERROR: out of memory', *range(25), sep='\\n')")
    child.process.wait(20)
    assert child.tail() == ("LLVM ERROR: out of memory", *(str(number) for number in range(6, 25)))
    assert child.end()


def test_one_that_ignores_sigterm_is_killed_with_its_children(tmp_path: Path) -> None:
    script = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = worker(tmp_path, script)
    assert parent.watch.phase is Phase.STARTING
    wait_until(lambda: bool(parent.tail()))
    assert parent.end(grace_s=0.1)
    assert parent.process.returncode == -signal.SIGKILL
    wait_until(lambda: not is_running(int(parent.tail()[0])))


def test_its_cpu_time_is_that_of_all_its_threads(tmp_path: Path) -> None:
    script = (
        "import threading, time\n"
        "def spin():\n"
        "    while time.process_time() < 0.3: pass\n"
        "thread = threading.Thread(target=spin)\n"
        "thread.start(); thread.join()\n"
        "print('spun', flush=True)\n"
        "time.sleep(60)\n"
    )
    child = worker(tmp_path, script)
    wait_until(lambda: child.tail() == ("spun",))
    spun = child.cpu_s()
    assert 0.28 <= spun < 60
    assert child.cpu_s() - spun < 0.2
    assert child.end(grace_s=0.1)
    assert child.cpu_s() == math.inf

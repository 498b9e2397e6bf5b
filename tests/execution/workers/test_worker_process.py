from __future__ import annotations

import math
import signal
import sys
from pathlib import Path

import pytest

from gpuregress.execution.workers.watchdog import LAUNCHES, Phase
from gpuregress.execution.workers.worker_process import DeviceSlot, Worker, cause_of_exit, death_of
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


WORKING = (Phase.PREPARING, Phase.SAVING, Phase.CHECKING)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGILL, signal.SIGFPE, signal.SIGBUS, signal.SIGABRT])
def test_a_kernel_is_to_blame_in_its_launch_only(number: int) -> None:
    assert cause_of_exit(-number, (), Phase.LAUNCHING, is_limited=False).whose == "kernel"
    assert {cause_of_exit(-number, (), phase, is_limited=False).whose for phase in WORKING} == {"none"}
    assert cause_of_exit(-number, (), Phase.COMPUTING, is_limited=False).whose == "user"


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (signal.SIGKILL, "memory ran out"),
        (signal.SIGTERM, "it was ended from outside"),
        (signal.SIGXCPU, "ulimit -t"),
        (signal.SIGXFSZ, "ulimit -f"),
    ],
)
def test_signals_from_outside_are_nobodys_fault(number: int, message: str) -> None:
    for phase in (*WORKING, *LAUNCHES, Phase.COMPUTING):
        actual = cause_of_exit(-number, (), phase, is_limited=False)
        assert actual.whose == "none"
        assert message in actual.why


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGUSR1, signal.SIGALRM, signal.SIGPIPE, 34])
def test_what_no_instruction_raises_is_not_the_kernels(number: int) -> None:
    assert {cause_of_exit(-number, (), phase, is_limited=False).whose for phase in (*WORKING, *LAUNCHES)} == {"none"}
    assert cause_of_exit(-number, (), Phase.COMPUTING, is_limited=False).whose == "user", "its own alarm, say"


@pytest.mark.parametrize(
    "word",
    [
        "LLVM ERROR: out of memory",
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "memory allocation of 4096 bytes failed",
        "MemoryError",
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 1. GiB",
        "RuntimeError: can't start new thread",
    ],
)
@pytest.mark.parametrize("code", [-signal.SIGABRT, 1])
def test_giving_up_for_want_of_memory_is_no_fault_of_the_kernel(word: str, code: int) -> None:
    actual = cause_of_exit(code, ("Fatal", word, "at the end"), Phase.LAUNCHING, is_limited=False)
    assert actual.whose == "none"
    assert "memory ran out" in actual.why
    assert cause_of_exit(-signal.SIGSEGV, (word,), Phase.LAUNCHING, is_limited=False).whose == "kernel"


def test_an_abort_under_a_limit_is_the_limits() -> None:
    assert cause_of_exit(-signal.SIGABRT, (), Phase.LAUNCHING, is_limited=True).whose == "none"
    assert cause_of_exit(-signal.SIGSEGV, (), Phase.LAUNCHING, is_limited=True).whose == "kernel"

from __future__ import annotations

import signal

import pytest

from gpuregress.execution.workers.exit_cause import find
from gpuregress.execution.workers.watchdog import LAUNCHES, Phase

WORKING = (Phase.PREPARING, Phase.SAVING, Phase.CHECKING)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGILL, signal.SIGFPE, signal.SIGBUS, signal.SIGABRT])
def test_a_kernel_is_to_blame_in_its_launch_only(number: int) -> None:
    assert find(-number, (), Phase.LAUNCHING, is_limited=False).whose == "kernel"
    assert {find(-number, (), phase, is_limited=False).whose for phase in WORKING} == {"none"}
    assert find(-number, (), Phase.COMPUTING, is_limited=False).whose == "user"


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
        actual = find(-number, (), phase, is_limited=False)
        assert actual.whose == "none"
        assert message in actual.why


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGUSR1, signal.SIGALRM, signal.SIGPIPE, 34])
def test_what_no_instruction_raises_is_not_the_kernels(number: int) -> None:
    assert {find(-number, (), phase, is_limited=False).whose for phase in (*WORKING, *LAUNCHES)} == {"none"}
    assert find(-number, (), Phase.COMPUTING, is_limited=False).whose == "user", "its own alarm, say"


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
    actual = find(code, ("Fatal", word, "at the end"), Phase.LAUNCHING, is_limited=False)
    assert actual.whose == "none"
    assert "memory ran out" in actual.why
    assert find(-signal.SIGSEGV, (word,), Phase.LAUNCHING, is_limited=False).whose == "kernel"


def test_an_abort_under_a_limit_is_the_limits() -> None:
    assert find(-signal.SIGABRT, (), Phase.LAUNCHING, is_limited=True).whose == "none"
    assert find(-signal.SIGSEGV, (), Phase.LAUNCHING, is_limited=True).whose == "kernel"

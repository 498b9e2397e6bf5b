"""Cause of a worker's death: its kernel, the user's Python code, or neither."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Literal

from gpuregress.execution.workers.watchdog import LAUNCHES, Phase
from gpuregress.foundation.interrupts import FROM_OUTSIDE
from gpuregress.gpu.records import Record

_MEMORY_WORDS = (
    "out of memory",  # LLVM ERROR, OpenBLAS
    "std::bad_alloc",
    "memory allocation of",  # Rust, so polars
    "Cannot allocate memory",
    "cannot allocate memory",
    "failed to map segment",
    "MemoryError",
    "Unable to allocate",  # numpy
    "pthread_create failed",
    "can't start new thread",
)
_OF_KERNELS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP, signal.SIGABRT)
"""The signals that executing code gets for what it does; every other one is sent."""
_NO_MEMORY = "memory ran out, or is limited (see `ulimit -v`): no fault of the kernel"


class Cause(Record):
    """The party to blame for a worker's death, and an explanation for the user; "" if nothing is known."""

    whose: Literal["kernel", "user", "none"]
    why: str = ""


def find(code: int | None, words: Sequence[str], phase: Phase, *, is_limited: bool) -> Cause:
    """Find the cause of a worker's death.

    Args:
        code: the process's return code, negative for a signal.
        words: the lines that it wrote; a traceback of many frames may follow the decisive one.
        phase: its phase at the end.
        is_limited: its address space has a limit, so that any allocation may fail.
    """
    number = -code if code is not None and code < 0 else 0
    if number in FROM_OUTSIDE:
        return Cause("none", FROM_OUTSIDE[number])
    gave_up = number == signal.SIGABRT or (code is not None and code > 0)  # no kernel calls abort or exit
    no_memory = _NO_MEMORY if gave_up and (memory_line(words) or (is_limited and number)) else ""
    if phase is Phase.COMPUTING:
        return Cause("user", no_memory)
    if number and number not in _OF_KERNELS:
        return Cause("none", "it was ended from outside")
    if phase not in LAUNCHES or no_memory:
        return Cause("none", no_memory)
    return Cause("kernel")


def memory_line(words: Sequence[str]) -> str:
    """Return the first line that says that memory ran out; "" if none does."""
    return next((line for line in words if any(word in line for word in _MEMORY_WORDS)), "")

"""Crew of compilers: sources go in, programs or errors come out as they are ready."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from gpuregress.errors import GpuregressError
from gpuregress.records import Program, Source

if TYPE_CHECKING:
    from gpuregress.session.request import Compiler

Result = Program | GpuregressError
_MOST_PROCESSES = 8
"""Each takes up to 200 MB."""


class Crew(Protocol):
    """Compiles sources; `workers.compilers.Compilers`, except in tests."""

    count: int

    @property
    def under_way(self) -> int:
        """The number of sources that are being compiled."""

    @property
    def deadline(self) -> float | None:
        """The latest time at which `collect` has something new, seconds of time.monotonic."""

    def fileno(self) -> int:
        """A descriptor that becomes readable when `collect` has something new; -1: it always has."""

    def submit(self, key: str, source: Source) -> None:
        """Start a compilation."""

    def dismiss(self) -> None:
        """End the processes that have nothing to do."""

    def wait(self) -> None:
        """Wait until `collect` has something new."""

    def collect(self) -> list[tuple[str, Result]]:
        """The results since the last call."""


class InProcessCrew:
    """A crew that compiles in this process, as soon as a source is submitted.

    Args:
        compiler: source → program.
        check: called before each compilation; raises to stop.
    """

    count = 1
    under_way = 0
    deadline = None

    def __init__(self, compiler: Compiler, check: Callable[[], None] = lambda: None) -> None:
        self._compiler, self._check = compiler, check
        self._done: list[tuple[str, Result]] = []

    def fileno(self) -> int:
        """There is nothing to wait for."""
        return -1

    def submit(self, key: str, source: Source) -> None:
        """Compile."""
        self._check()
        try:
            self._done.append((key, self._compiler(source)))
        except GpuregressError as error:
            self._done.append((key, error))

    def dismiss(self) -> None:
        """Do nothing."""

    def wait(self) -> None:
        """Do nothing."""

    def collect(self) -> list[tuple[str, Result]]:
        """The results since the last call."""
        done, self._done = self._done, []
        return done


def process_count() -> int:
    """The number of processes that may compile at a time on this machine."""
    return max(1, min(len(os.sched_getaffinity(0)), _MOST_PROCESSES))

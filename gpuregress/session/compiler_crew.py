"""Crew of compilers: sources go in, programs or errors come out as they are ready."""

from __future__ import annotations

import os
from typing import Protocol

from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.records import Program, Source

Result = Program | GpuregressError
_MOST_PROCESSES = 8
"""Each takes up to 200 MB."""


class Crew(Protocol):
    """Compiles sources; `workers.compiler_pool.CompilerPool`, except in tests."""

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

    def wait(self, until: float | None = None) -> None:
        """Wait until `collect` has something new, or it is `until`, seconds of time.monotonic."""

    def collect(self) -> list[tuple[str, Result]]:
        """The results since the last call."""


def process_count() -> int:
    """The number of processes that may compile at a time on this machine."""
    return max(1, min(len(os.sched_getaffinity(0)), _MOST_PROCESSES))

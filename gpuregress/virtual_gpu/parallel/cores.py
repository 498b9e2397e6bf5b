"""Number of cores that one launch may use."""

from __future__ import annotations

import os

VARIABLE = "GPUREGRESS_CPU_THREADS"
"""Environment variable with the number of cores; not set, or no number: all cores that the process may use."""


def available() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def for_one_launch() -> int:
    """Number of cores that one launch may use."""
    wanted = os.environ.get(VARIABLE, "")
    return int(wanted) if wanted.isdigit() and int(wanted) > 0 else available()


def share(workers: int) -> dict[str, str]:
    """Return the environment variables that divide the cores among workers; a user's setting is kept."""
    return {} if VARIABLE in os.environ else {VARIABLE: str(max(1, available() // workers))}

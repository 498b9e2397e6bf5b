"""Polls with a deadline: the way in which a test waits for another process."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def wait_until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until a condition holds; fail after some seconds, which are many, for the machine may be busy."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds:g} s"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")

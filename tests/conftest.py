"""What every test starts from."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> Iterator[None]:
    """A shell starts background jobs with SIGINT ignored, and tests of ^C, here and in child processes, would wait."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)

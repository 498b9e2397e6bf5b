"""What every test starts from."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# No test may fail because the machine is busy, and each example may have the folder of the test for its own.
settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.load_profile("unhurried")


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> Iterator[None]:
    """A shell starts background jobs with SIGINT ignored, and tests of ^C, here and in child processes, would wait."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)

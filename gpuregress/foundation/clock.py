"""Clock of runs: the time of day, which the environment variable GPUREGRESS_NOW replaces in tests."""

from __future__ import annotations

import os
from datetime import UTC, datetime

VARIABLE = "GPUREGRESS_NOW"


def now() -> datetime:
    """Return the time in UTC; a value of the variable that is no ISO 8601 time is not used."""
    text = os.environ.get(VARIABLE, "")
    try:
        given = datetime.fromisoformat(text) if text else None
    except ValueError:
        given = None
    return given.astimezone(UTC) if given is not None else datetime.now(UTC)


def today() -> str:
    """Return the day in UTC, ISO 8601: hosts in other time zones reach the same verdict."""
    return now().date().isoformat()

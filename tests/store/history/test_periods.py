from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import PastRun
from gpuregress.store.history import periods

NOW = datetime(2026, 11, 22, 12, 30, tzinfo=UTC)
RUNS = [
    PastRun(f"R{day}", "run", f"2026-11-{day}T02:00:00Z", "cpu", 1.0, 0, interrupted=False, commit=commit)
    for day, commit in ((21, "8eb0c1f9"), (20, "8eb0c1f9"), (19, "20aa2026"))
]


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("2026-11-20", "2026-11-20T00:00:00Z"),
        ("2026-11-20T14:30", "2026-11-20T14:30:00Z"),
        ("2026-11-20T14:30+02:00", "2026-11-20T12:30:00Z"),
        ("20 Nov", "2026-11-20T00:00:00Z"),
        ("Nov 20", "2026-11-20T00:00:00Z"),
        ("20 november 2024", "2024-11-20T00:00:00Z"),
        ("24 Dec", "2025-12-24T00:00:00Z"),  # this year's is still to come
        ("29 Feb 2024", "2024-02-29T00:00:00Z"),
        ("7d", "2026-11-15T12:30:00Z"),
        ("12 h", "2026-11-22T00:30:00Z"),
        ("2w", "2026-11-08T12:30:00Z"),
        ("8eb0c1f", "2026-11-20T02:00:00Z"),
        ("8EB0", "2026-11-20T02:00:00Z"),
        ("20aa", "2026-11-19T02:00:00Z"),
    ],
)
def test_the_beginning_of_a_period(text: str, beginning: str) -> None:
    assert periods.beginning(text, RUNS, NOW) == beginning


def test_a_very_long_time_ago() -> None:
    assert periods.beginning("999999w", RUNS, NOW) <= RUNS[-1].started


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("foo", "expected a date"),
        ("2026-13-40", "expected a date"),
        ("31 Feb", "expected a date"),
        ("7", "expected a date"),
        ("dead", "no run in the history is of that commit"),
    ],
)
def test_what_means_nothing_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        periods.beginning(text, RUNS, NOW)

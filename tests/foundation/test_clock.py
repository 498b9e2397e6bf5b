from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gpuregress.foundation import clock


def test_the_variable_replaces_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(clock.VARIABLE, "2026-12-24T12:00:00+01:00")
    assert clock.now() == datetime(2026, 12, 24, 11, tzinfo=UTC)
    assert clock.today() == "2026-12-24"


@pytest.mark.parametrize("text", ["", "yesterday"])
def test_without_it_the_time_is_the_time(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(clock.VARIABLE, text)
    assert abs((clock.now() - datetime.now(UTC)).total_seconds()) < 60
